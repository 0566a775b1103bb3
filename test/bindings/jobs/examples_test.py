# SPDX-License-Identifier: Apache-2.0
"""The Python examples, on slices."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"
DATA = pathlib.Path("/usr/share/datasets/fashion-mnist")


def numbers_of(pattern, script, *arguments):
    """Runs an example on two ranks; returns the numbers that the pattern finds in its output."""
    job = subprocess.run(
        [os.environ["HOROVODRUN"], "-np", "2", sys.executable, str(EXAMPLES / script), *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=240)
    assert job.returncode == 0, job.stdout + job.stderr
    numbers = [float(number) for number in re.findall(pattern, job.stdout)]
    assert numbers, job.stdout
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
