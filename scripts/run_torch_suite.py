#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the tests of torch.distributed that torch's package carries, with our backend.

    PYTHONPATH=build/dev/bindings python scripts/run_torch_suite.py --name gloo --ranks 2
    ... --name gloo --peer                       # The same with the real gloo.
    ... --only 'send_recv|ddp_join' --details    # Some, with the errors.

The suite chooses and skips tests by the name of the backend. So ours answers to a name: gloo or
mpi, or its own. The package expecttest must be there. Ranks are forked, so that torch is imported
once.
"""
import argparse
import collections
import datetime
import os
import re
import sys
import tempfile
import types
import unittest

SUMMARY = re.compile(r"^(\w*(?:Error|Exception|Interrupt|TimedOut|Warning)\b.*)$", re.MULTILINE)


def answer_to_torchs_names():
    """Lets init_process_group("gloo"), or "mpi", make our groups."""
    import torch.distributed as dist
    from horovodpp.torch.backend.group import ProcessGroup, new_group
    from torch.distributed import distributed_c10d as c10d

    def group_of_caller(*_, **__):
        of = sys._getframe(1).f_locals  # Of torch's helper, which tells its own groups less.
        if "opts" in of:  # From torch 2.14 on.
            wanted = {name: getattr(of["opts"], name) for name in (
                "store", "group_rank", "group_size", "timeout", "group_id",
                "global_ranks_in_group")}
        else:
            wanted = dict(
                store=of["backend_prefix_store"], group_rank=of["group_rank"],
                group_size=of["group_size"], timeout=of["timeout"], group_id=of["group_name"],
                global_ranks_in_group=of["global_ranks_in_group"])
        if wanted["group_rank"] == -1:
            wanted["store"], wanted["group_rank"], wanted["group_size"] = met
        return new_group(types.SimpleNamespace(**wanted))

    met = []  # By ranks whose meeting torch leaves to MPI.
    of_torch = dist.init_process_group

    def init_process_group(backend, init_method, rank, world_size, **more):
        if backend == "mpi":
            met[:] = next(dist.rendezvous(init_method, rank, world_size))
        of_torch(backend, init_method, rank=rank, world_size=world_size, **more)

    dist.init_process_group = init_process_group

    class Named(type):
        def __instancecheck__(cls, group):
            return isinstance(group, ProcessGroup)

    class Torchs(metaclass=Named):
        create = staticmethod(group_of_caller)
        __new__ = group_of_caller

    # torch's C++ asks for its own backend of that name, so getBackendName() stays.
    c10d.ProcessGroupGloo = c10d.ProcessGroupMPI = Torchs
    c10d.is_mpi_available = c10d.is_gloo_available = lambda: True
    def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
        group = group or c10d._get_default_group()
        if c10d._rank_not_in_group(group):
            return None
        if isinstance(timeout, float):
            timeout = datetime.timedelta(seconds=timeout)
        return group.monitored_barrier(timeout, wait_all_ranks=wait_all_ranks)

    dist.monitored_barrier = c10d.monitored_barrier = monitored_barrier


def make_suite(options):
    import torch.multiprocessing as multiprocessing
    from torch.testing._internal import common_distributed
    common_distributed.TIMEOUT_DEFAULT = options.seconds
    common_distributed.TIMEOUT_OVERRIDE.clear()
    from torch.testing._internal.distributed import distributed_test
    if not options.profiler:
        for supported in ("PROFILING", "CUDA_PROFILING", "SEND_RECV_PROFILING"):
            getattr(distributed_test, f"{supported}_SUPPORTED_BACKENDS").clear()

    class Suite(distributed_test.TestDistBackend,
                distributed_test.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(multiprocessing.get_context("fork").Process)

    tests = unittest.defaultTestLoader.loadTestsFromTestCase(Suite)
    return unittest.TestSuite(test for test in tests if re.search(options.only, test.id()))


class Result(unittest.TestResult):
    """Counts outcomes, and prints each as it comes."""

    def __init__(self, details):
        super().__init__()
        self.counts = collections.Counter()
        self._details = details

    def _say(self, outcome, test, why=""):
        self.counts[outcome] += 1
        print(f"{outcome} {test.id().rpartition('.')[2]} {why}", flush=True)

    def addSuccess(self, test):
        self._say("passed", test)

    def addSkip(self, test, reason):
        self._say("skipped", test, reason)

    def addFailure(self, test, error):
        text = self._exc_info_to_string(error, test)
        lines = [line for line in SUMMARY.findall(text)
                 if not line.startswith("RuntimeError: Process ")]
        self._say("failed", test, (lines or text.splitlines())[-1][:300])
        if self._details:
            print(text, flush=True)

    addError = addFailure


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", default="gloo", help="that our backend answers to")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--only", default="", metavar="PATTERN")
    parser.add_argument("--seconds", type=int, default=60, help="for each test")
    parser.add_argument("--peer", action="store_true", help="torch's own backend of that name")
    parser.add_argument("--profiler", action="store_true",
                        help="with the checks of the profiler's events, which ours lacks")
    parser.add_argument("--details", action="store_true")
    options = parser.parse_args()
    os.environ.update(BACKEND=options.name, WORLD_SIZE=str(options.ranks),
                      HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="30", OMP_NUM_THREADS="1")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["TEMP_DIR"] = folder
        import torch
        torch.set_num_threads(1)
        if not options.peer:
            import horovodpp.torch.backend  # noqa: F401
            answer_to_torchs_names()
        result = Result(options.details)
        make_suite(options).run(result)
    print(dict(result.counts))
    sys.exit(bool(result.counts["failed"]))


if __name__ == "__main__":
    main()
