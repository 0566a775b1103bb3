# SPDX-License-Identifier: Apache-2.0
"""A rank dies at each moment of a step within hvd.elastic.run; the others train to the end.

With HVD_ALL_TESTS=1 in the environment, each rank dies at each moment, with MPI and without.
"""
import json
import os
import pathlib
import subprocess
import sys

import pytest
import torch
from elastic_moments import DEADLY, MOMENTS, STEPS, end_of

HERE = pathlib.Path(__file__).resolve().parent
RANKS = 3
WAYS = ("--mpi", "--no-mpi")
CASES = [(moment, victim, way) for moment in MOMENTS for victim in range(RANKS) for way in WAYS]
# In backward and behind it, with MPI and without.
SAMPLE = [(moment, at % RANKS, WAYS[at % 2]) for at, moment in enumerate(MOMENTS)][1:3]


@pytest.mark.parametrize("moment, victim, way",
                         CASES if os.environ.get("HVD_ALL_TESTS") else SAMPLE)
def test_the_others_train_as_if_it_had_left_between_two_steps(moment, victim, way):
    job = subprocess.run(
        [os.environ["HOROVODRUN"], *([way] if way == "--no-mpi" else []), "-np", str(RANKS),
         sys.executable, HERE / "elastic_moments.py", moment, str(victim)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120)
    told = [json.loads(line.partition("end ")[2]) for line in job.stdout.splitlines()
            if "end " in line]
    assert [(rank, size) for rank, size, _ in sorted(told)] == [(0, 2), (1, 2)], \
        job.stdout + job.stderr
    # The deadly step may have ended on the others, with the victim's gradients, or runs again.
    ends = [end_of([RANKS] * whole + [RANKS - 1] * (STEPS - whole))
            for whole in (DEADLY, DEADLY + 1)]
    for _, _, end in told:
        assert any(torch.allclose(torch.tensor(end), expected, atol=1e-6) for expected in ends), \
            (end, ends)
    assert told[0][2] == told[1][2]
