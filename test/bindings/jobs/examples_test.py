# SPDX-License-Identifier: Apache-2.0
"""The Python examples, on slices of their data."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def output_of(ranks, script, *arguments):
    job = subprocess.run(
        [os.environ["HOROVODRUN"], "-np", str(ranks), sys.executable, str(EXAMPLES / script),
         *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240)
    assert job.returncode == 0, job.stdout + job.stderr
    return job.stdout


def numbers_of(pattern, script, *arguments):
    """Runs an example on two ranks; returns the numbers that the pattern matches in its output."""
    output = output_of(2, script, *arguments)
    numbers = [float(number) for number in re.findall(pattern, output)]
    assert numbers, output
    return numbers


@pytest.mark.skipif(not DATA.exists(), reason="needs dataset-fashion-mnist")
def test_fashion_mnist_learns():
    assert numbers_of(r"accuracy ([\d.]+)", "fashion_mnist.py", "--limit", "6000",
                      "--batch-size", "32", "--epochs", "1", "--fp16")[-1] > 0.5


@pytest.mark.parametrize("variant", [[], ["--reentrant"]])
def test_gpt_learns(variant):
    losses = numbers_of(r"loss ([\d.]+)", "gpt.py", str(EXAMPLES / "gpt.py"), "--steps", "41",
                        "--layers", "2", *variant)
    assert losses[-1] < 0.75 * losses[0]


def test_accumulation_learns():
    losses = numbers_of(r"loss ([\d.]+)", "accumulation.py", "--steps", "31")
    assert losses[-1] < 0.75 * losses[0]


def test_gan_runs():
    radii = numbers_of(r"radius ([\d.]+)", "gan.py", "--steps", "21")
    assert all(0 < radius < 10 for radius in radii)


def test_uneven_data_learns():
    losses = numbers_of(r"loss ([\d.]+)", "uneven_data.py")
    assert losses[-1] < 0.1 * losses[0]


def test_elastic_ends_with_the_weights_of_one_rank(tmp_path):
    """bindings.elastic.schedules has the same with lost ranks."""
    def train(ranks, steps, *more):
        output = output_of(ranks, "elastic.py", "--steps", str(steps), "--every", "5", *more)
        return output, re.findall(rf"checksum (\w+) after {steps} steps", output)

    _, alone = train(1, 30)
    assert len(alone) == 1
    train(2, 15, "--snapshots", str(tmp_path))
    output, checksums = train(2, 30, "--snapshots", str(tmp_path))
    assert checksums == 2 * alone
    assert "step 0:" not in output
