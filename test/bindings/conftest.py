# SPDX-License-Identifier: Apache-2.0
"""Every rank of a job runs the whole suite, in the same order."""
import ctypes
import faulthandler
import os

import pytest
import torch

import horovodpp.torch as hvd


def pytest_configure(config):
    # A test that starts jobs mostly starts several.
    config.watch = watchdog(2 if _starts_jobs(config) else 1)
    torch.set_num_threads(1)
    if not _starts_jobs(config):
        hvd.init()
        # Ranks must not share a folder: each would delete the others' files.
        os.makedirs("temporary", exist_ok=True)
        config.option.basetemp = f"temporary/{hvd.rank()}_of_{hvd.size()}"


def watchdog(times):
    """Ends the rank of a test that takes too long, after printing its threads' stacks.

    Python's stacks come first: see test/support/watchdog/watchdog.h.
    """
    library, seconds = (os.environ.get(name) for name in (
        "HVD_TEST_WATCHDOG", "HOROVODPP_TEST_CASE_SECONDS"))
    if not library or not seconds:
        return lambda what: None
    library = ctypes.CDLL(library)
    seconds = times * int(seconds)
    stderr = os.dup(2)  # Pytest captures the output of tests, and would lose the stacks.
    library.hvd_watch_writes_to(stderr)

    def watch(what):
        faulthandler.dump_traceback_later(seconds, file=stderr)
        library.hvd_watch(what.encode(), seconds + 1)
    watch("the start of pytest")
    return watch


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item):
    item.config.watch(item.nodeid)


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
    """Makes ranks start a test together, with the same random numbers."""
    torch.manual_seed(1)
    if hvd.is_initialized():
        hvd.barrier()


@pytest.fixture
def pair(size):
    """A process set of ranks 0 and 1; skips if these are all ranks."""
    if size < 3:
        pytest.skip("needs three ranks")
    made = hvd.add_process_set([0, 1])
    yield made
    hvd.remove_process_set(made)
