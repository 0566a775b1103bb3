# SPDX-License-Identifier: Apache-2.0
"""Jobs of torch.distributed by the backend: their start, their end, and a rank that dies."""
import os
import re
import subprocess
import sys

import pytest
import torch

from jobs_test import horovodrun
from torchrun_test import torchrun
from versions import _number

pytestmark = pytest.mark.skipif(_number(torch.__version__) < (2, 4),
                                reason="the backend needs torch 2.4")
HEAD = """
import os, signal, sys
import torch, torch.distributed as dist
import horovodpp.torch.backend
"""


@pytest.fixture
def script(tmp_path):
    def write(lines):
        path = tmp_path / "script.py"
        path.write_text(HEAD + lines)
        return path
    return write


TWICE = """
for number in range(2):
    dist.init_process_group("horovodpp")
    total = torch.ones(2) * (dist.get_rank() + 1)
    dist.all_reduce(total)
    evens = dist.new_group([0, 2])
    if dist.get_rank() != 1:
        dist.all_reduce(total, group=evens)  # Rank 1 waits with its end.
    print(f"{dist.get_rank()} of {dist.get_world_size()}: {total[0].item():g}\\n", end="")
    dist.destroy_process_group()
"""


def test_torchrun_and_horovodrun_start_groups_again_and_again(script):
    expected = sorted(["0 of 3: 12", "1 of 3: 6", "2 of 3: 12"] * 2)
    for job in (torchrun(script(TWICE), ranks=3), horovodrun(3, script(TWICE))):
        assert job.returncode == 0, job.stderr
        assert sorted(re.findall(r"\d of 3: \d+", job.stdout)) == expected


def test_a_rank_that_ends_early_waits_for_the_groups_of_others(script):
    job = horovodrun(3, script("""
dist.init_process_group("horovodpp")
pair = dist.new_group([0, 2])
if dist.get_rank() != 1:
    for _ in range(2000):
        dist.all_reduce(torch.ones(1), group=pair)
"""))
    assert job.returncode == 0, job.stderr


def test_a_rank_that_leaves_by_an_exception_keeps_no_other_waiting(script):
    job = horovodrun(2, script("""
dist.init_process_group("horovodpp")
try:
    if dist.get_rank() == 1:
        raise LookupError("no such sample")
    dist.all_reduce(torch.ones(1))
finally:
    dist.destroy_process_group()
"""))
    assert job.returncode != 0
    assert re.search(r"closed because rank 1 \(host .*\).*handled LookupError: no such sample",
                     job.stderr), job.stderr


def test_a_job_of_hvd_outlives_the_group(script):
    job = torchrun(script("""
import horovodpp.torch as hvd
for _ in range(2):
    dist.init_process_group("horovodpp")
    hvd.init()
    dist.all_reduce(torch.ones(1), group=dist.new_group([dist.get_rank()],
                                                        use_local_synchronization=True))
    dist.destroy_process_group()
print(f"{hvd.allreduce(torch.ones(1), op=hvd.Sum).item()}\\n", end="")
hvd.shutdown()
"""))
    assert job.returncode == 0, job.stderr
    assert job.stdout.split() == ["2.0", "2.0"]


def test_the_ranks_of_the_job_are_those_of_the_group(script):
    job = horovodrun(2, script("""
import horovodpp.torch as hvd
hvd.init()
for method in "env://", f"file://{sys.argv[0]}.meet":
    try:
        dist.init_process_group("horovodpp", init_method=method, rank=1 - hvd.rank(), world_size=2)
    except RuntimeError as error:
        last = error
    else:
        sys.exit("no error")
raise last
"""))
    assert job.returncode != 0
    assert "give init_process_group() the rank and size of the job" in job.stderr


def test_survivors_of_a_death_in_backward_have_its_name_and_go_on(script):
    """Without a launcher, which would end the others."""
    path = script("""
from horovodpp.torch.backend import reform
rank = int(sys.argv[1])
dist.init_process_group("horovodpp", init_method=f"file://{sys.argv[0]}.meet", rank=rank,
                        world_size=3)
torch.manual_seed(1)
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(4)])
model = torch.nn.parallel.DistributedDataParallel(model, bucket_cap_mb=0.001)
for number in range(4):
    if number == 2 and rank == 1:
        model.module[1].weight.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
    model.zero_grad()
    try:
        model(torch.full((2, 64), float(rank))).sum().backward()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        model._update_process_group(reform())
bias = model.module[3].bias.grad
weight = model.module[0].weight.grad.clone()
dist.broadcast(weight, 1)
assert torch.equal(weight, model.module[0].weight.grad), "gradients differ"
assert bias[0].item() == 2, bias
print(f"rank {dist.get_rank()} of {dist.get_world_size()} ends")
dist.destroy_process_group()
""")
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith("TORCHELASTIC")}
    ranks = [subprocess.Popen([sys.executable, str(path), str(rank)], env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
             for rank in range(3)]
    said = [rank.communicate(timeout=100) for rank in ranks]
    assert ranks[1].returncode == -9
    for rank, place in ((0, 0), (2, 1)):
        output, errors = said[rank]
        assert re.search(rf"connection is closed because rank 1 \(host .*, pid {ranks[1].pid}\)",
                         errors), errors
        assert (ranks[rank].returncode, output) == (0, f"rank {place} of 2 ends\n"), errors


def test_accelerate_trains(script):
    pytest.importorskip("accelerate", reason="pip install accelerate")
    check_trained(torchrun(script("""
from accelerate import Accelerator
dist.init_process_group("horovodpp")  # The one line.
accelerator = Accelerator(cpu=True)
torch.manual_seed(0)
model = torch.nn.Linear(3, 1)
data = torch.utils.data.DataLoader(torch.arange(24.0).view(8, 3) / 24, batch_size=2)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
model, optimizer, data = accelerator.prepare(model, optimizer, data)
for batch in data:
    optimizer.zero_grad()
    accelerator.backward(model(batch).square().sum())
    optimizer.step()
weight = model.module.weight
sys.stdout.write(
    f"{type(dist.group.WORLD).__module__} {accelerator.num_processes} {weight.tolist()}\\n")
""")))


def test_lightning_trains(script):
    pytest.importorskip("pytorch_lightning", reason="pip install lightning")
    check_trained(torchrun(script("""
import pytorch_lightning  # The same as lightning.pytorch.
from pytorch_lightning.strategies import DDPStrategy

class Model(pytorch_lightning.LightningModule):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = torch.nn.Linear(3, 1)

    def training_step(self, batch, _):
        loss = self.layer(batch).square().sum()
        self.log("loss", loss, sync_dist=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

model = Model()
data = torch.utils.data.DataLoader(torch.arange(24.0).view(8, 3) / 24, batch_size=2)
trainer = pytorch_lightning.Trainer(
    accelerator="cpu", devices=2, max_epochs=1, logger=False, enable_checkpointing=False,
    enable_progress_bar=False, strategy=DDPStrategy(process_group_backend="horovodpp"))
trainer.fit(model, data)
weight = model.layer.weight
sys.stdout.write(f"{type(dist.group.WORLD).__module__} {trainer.world_size} {weight.tolist()}\\n")
""")))


def check_trained(job):
    """Two ranks have the same parameters, over the backend."""
    assert job.returncode == 0, job.stderr
    lines = [line for line in job.stdout.splitlines() if line.startswith("horovodpp.")]
    assert len(lines) == 2 and lines[0] == lines[1], job.stdout
    assert lines[0].startswith("horovodpp.torch.backend.group 2 [[")


def test_torch_learns_of_the_backend_without_importing_it():
    python("""
import sys, torch.distributed as dist
import horovodpp_torch_backend
horovodpp_torch_backend.register()
horovodpp_torch_backend.register()
assert "horovodpp" not in sys.modules
dist.init_process_group("horovodpp", store=dist.HashStore(), rank=0, world_size=1)
assert dist.get_backend() == "horovodpp"
""")


def test_a_torch_that_refuses_the_backend_is_a_warning():
    assert "is not available: no such thing" in python("""
import torch.distributed as dist
def refuse(*_, **__):
    raise AttributeError("no such thing")
dist.Backend.register_backend = refuse
import horovodpp_torch_backend
horovodpp_torch_backend.register()
""")


def python(lines):
    ended = subprocess.run([sys.executable, "-c", lines], stderr=subprocess.PIPE, text=True,
                           timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stderr
