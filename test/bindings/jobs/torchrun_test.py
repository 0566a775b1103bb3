# SPDX-License-Identifier: Apache-2.0
"""Ranks that torchrun has started find each other by torchrun's store."""
import os
import subprocess
import sys

import pytest

pytest.importorskip("torch.distributed.run")

def torchrun(*command, ranks=2, **environment):
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks),
         *map(str, command)],
        capture_output=True, text=True, timeout=120,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment})


@pytest.fixture
def script(tmp_path):
    """A script of these lines, after the import of horovodpp.torch as hvd."""
    def write(lines):
        path = tmp_path / "script.py"
        path.write_text(f"import os, torch\nimport horovodpp.torch as hvd\n{lines}")
        return path
    return write


def test_ranks_enter_a_job_again_and_again(script):
    job = torchrun(script(
        "for _ in range(2):\n"
        "    hvd.init()\n"
        "    total = hvd.allreduce(torch.ones(1) * (hvd.rank() + 1), op=hvd.Sum, name='x')\n"
        "    print(f'{hvd.local_rank()} of {hvd.size()}: {total.item():g}\\n', end='')\n"
        "    hvd.shutdown()\n"), ranks=3)
    assert job.returncode == 0, job.stderr
    assert sorted(job.stdout.splitlines()) == sorted([f"{rank} of 3: 6" for rank in range(3)] * 2)


def test_ranks_that_torchrun_restarts_meet_anew(script):
    job = torchrun("--max-restarts", "1", script(
        "hvd.init()\n"
        "hvd.allreduce(torch.ones(1), name='x')\n"
        "if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0': os._exit(3)\n"
        "print(f'rank {hvd.rank()} ends\\n', end='')\n"
        "hvd.shutdown()\n"))
    assert job.returncode == 0, job.stderr
    assert sorted(job.stdout.splitlines()) == ["rank 0 ends", "rank 1 ends"]


def test_one_rank_needs_no_store(script):
    job = torchrun(script("hvd.init()\nprint(hvd.size())\n"), ranks=1)
    assert (job.returncode, job.stdout) == (0, "1\n"), job.stderr


def test_torchrun_without_a_store_of_its_own_is_an_error(script):
    job = torchrun(script("os.environ['TORCHELASTIC_USE_AGENT_STORE'] = 'False'\nhvd.init()\n"))
    assert job.returncode != 0
    assert "start the ranks by horovodrun" in job.stderr
