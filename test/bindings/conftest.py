# SPDX-License-Identifier: Apache-2.0
"""Every rank of a job runs the whole suite, in the same order."""
import os

import pytest
import torch

import horovodpp.torch as hvd


def pytest_configure(config):
    torch.set_num_threads(1)
    if not _starts_jobs(config):
        hvd.init()
        # Ranks that share one would tidy up each other's.
        os.makedirs("temporary", exist_ok=True)
        config.option.basetemp = f"temporary/{hvd.rank()}_of_{hvd.size()}"


def _starts_jobs(config):
    return any("jobs" in argument for argument in config.args)


@pytest.fixture
def rank():
    return hvd.rank()


@pytest.fixture
def size():
    return hvd.size()


@pytest.fixture(autouse=True)
def same_everywhere(request):
    """Ranks start a test together, with the same random numbers."""
    torch.manual_seed(1)
    if hvd.is_initialized():
        hvd.barrier()


@pytest.fixture
def pair(size):
    """A process set of ranks 0 and 1; skips where it would be all."""
    if size < 3:
        pytest.skip("needs three ranks")
    made = hvd.add_process_set([0, 1])
    yield made
    hvd.remove_process_set(made)
