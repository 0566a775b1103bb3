#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests and measures tensors on GPUs with the programs of a build folder, and prints a table.

    scripts/gpu_check.py --build build/gpu
    scripts/gpu_check.py --build build/gpu --stand-in --megabytes 1

scripts/gpu_check.sh builds them first. Fails if a test fails, hangs, or a result is wrong. Rows
that cannot be measured give the reason. Prints each row when it is measured to standard error.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Table:
    def __init__(self):
        self.rows = []
        self.failed = False

    def add(self, what, value, unit="", aim=""):
        self.rows.append((what, value, unit, aim))
        print("measured:", *self.rows[-1], file=sys.stderr, flush=True)

    def fail(self, what, why):
        self.failed = True
        print(why, file=sys.stderr)
        self.add(what, "FAILED", why.strip().splitlines()[-1] if why.strip() else "")

    def print(self):
        print("| what | measured | unit | aim |\n|---|---:|---|---|")
        for row in self.rows:
            print("| " + " | ".join(row) + " |")


class Checks:
    # The first NCCL that lets processes share a GPU, if NCCL_MULTI_RANK_GPU_ENABLE=1.
    SHARING_NCCL = 23000
    QUIETLY = ("--gtest_brief=1", "--gtest_color=no")
    AIMS = {"pack kernel / copy": "0.9 or more", "CPU time of an enqueue, 100 tensors": "3 or less"}

    def __init__(self, options):
        self.build = pathlib.Path(options.build).resolve()
        self.megabytes = str(options.megabytes)
        self.timeout = options.timeout
        self.table = Table()
        self.environment = dict(os.environ, PYTHONPATH=str(self.build / "bindings"),
                                HOROVODPP_CACHE_DIR=str(self.build / "cache"))
        self.stand_in = options.stand_in
        if self.stand_in:
            self.environment["HOROVODPP_CUDA_LIBRARY"] = str(
                self.build / "test/support/fake_cuda/libfake_cuda.so")
            self.environment["HOROVODPP_NCCL_LIBRARY"] = str(
                self.build / "test/support/fake_nccl/libfake_nccl.so")
            self.environment["FAKE_NCCL_VERSION"] = str(self.SHARING_NCCL)
            self.environment["FAKE_CUDA_DEVICES"] = "1"

    def run(self, *command, **settings):
        words = [str(word) for word in command]
        try:
            return subprocess.run(words, capture_output=True, text=True,
                                  env=dict(self.environment, **settings), timeout=self.timeout)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, 124, "", f"no end in {self.timeout} s")

    def in_job(self, ranks, *command, **settings):
        return self.run(self.build / "horovodrun/horovodrun", "--no-mpi", "-np", ranks, *command,
                        **settings)

    def suite(self, name, where, done):
        counts = {word: int(number) for word, number in
                  re.findall(r"\[  (PASSED|SKIPPED) +\].* (\d+) test", done.stdout)}
        if done.returncode != 0:
            self.table.fail(f"{name}, {where}", done.stdout + done.stderr)
            return
        skipped = f", {counts['SKIPPED']} skipped" if "SKIPPED" in counts else ""
        self.table.add(name, f"{counts['PASSED']} passed{skipped}", where)

    def tests(self):
        """The tests of the device layer, of jobs, and of the planes."""
        jobs = "tests of the device layer and of jobs"
        program = self.build / "test/device_test"
        if self.stand_in:
            where, all_ranks = "as if on one GPU", (2,)
        else:
            self.suite(jobs, "on the fakes", self.run(program, *self.QUIETLY))
            where, all_ranks = "on GPUs", (1, 2, 4)
        self.suite(jobs, where, self.run(program, *self.QUIETLY,
                                         HOROVODPP_TEST_ON_GPUS="1"))
        for ranks in all_ranks:
            self.suite(f"tests of the planes, {ranks} processes", where, self.in_job(
                ranks, self.build / "test/collective_job_test", *self.QUIETLY,
                HOROVODPP_TEST_ON_GPUS="1", NCCL_MULTI_RANK_GPU_ENABLE="1"))

    def kernels(self):
        done = self.run(self.build / "test/benchmark/gpu_benchmark", "kernels", self.megabytes)
        if done.returncode != 0:
            self.table.fail("kernels", done.stderr)
            return
        for line in done.stdout.splitlines():
            name, value, unit = line.split("\t")
            self.table.add(name, value, unit, self.AIMS.get(name, ""))

    def allreduce(self, what, ranks, **settings):
        done = self.in_job(ranks, self.build / "test/benchmark/gpu_benchmark", "allreduce",
                           self.megabytes, **settings)
        name = f"allreduce, {ranks} processes, {what}"
        lines = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
        numbers = {line[0]: line[1] for line in lines}
        if done.returncode != 0 or numbers.get("right") != "1.000":
            self.table.fail(name, done.stderr)
        else:
            self.table.add(name, numbers["allreduce"], "GB/s")

    def why_not_by_nccl(self, ranks):
        version = int(self.run(self.build / "test/benchmark/gpu_benchmark", "nccl").stdout or 0)
        if version == 0:
            return "there is no NCCL 2.14 or later (HOROVODPP_NCCL_LIBRARY)"
        if ranks > 1 and version < self.SHARING_NCCL:
            return f"NCCL {version} does not let processes share a GPU, 2.30 does"
        return ""

    def by_nccl(self, name, ranks, *words):
        """The benchmark's output, by name; None, with a row added, if it cannot be measured."""
        why_not = self.why_not_by_nccl(ranks)
        if why_not:
            self.table.add(name, "-", why_not)
            return None
        done = self.in_job(ranks, self.build / "test/benchmark/gpu_benchmark", *words,
                           NCCL_MULTI_RANK_GPU_ENABLE="1", HOROVOD_LOG_LEVEL="debug")
        lines = [line.split("\t") for line in done.stdout.splitlines() if "\t" in line]
        numbers = {line[0]: line[1] for line in lines}
        if done.returncode != 0 or numbers.get("right") != "1.000":
            self.table.fail(name, done.stderr)
        elif "tensors on GPUs go by NCCL" not in done.stdout + done.stderr:
            self.table.fail(name, "they did not go by NCCL")
        else:
            return numbers
        return None

    def nccl(self, ranks):
        name = f"allreduce, {ranks} processes, NCCL"
        numbers = self.by_nccl(name, ranks, "allreduce", self.megabytes)
        if numbers:
            self.table.add(name, numbers["allreduce"], "GB/s")
        name = f"host's time, {ranks} processes, NCCL"
        numbers = self.by_nccl(name, ranks, "step")
        for what in ("one allreduce of 4 KiB", "a step of 100", "its replay") if numbers else ():
            aim = "3 or less" if what.startswith("one") and ranks == 1 else ""
            self.table.add(f"{name}: {what}", numbers[what], "us", aim)

    def training(self):
        """Training steps of torch on a GPU, compared with torch alone."""
        script = ROOT / "scripts/gpu_check_torch.py"
        for ranks in (1, 2):
            name = f"training step of torch, {ranks} processes"
            if not list((self.build / "bindings/horovodpp").glob("_core*.so")):
                self.table.add(name, "-", "the Python package was not built: no nanobind")
                continue
            done = self.in_job(ranks, sys.executable, script)
            answer = " ".join(sorted(set(done.stdout.splitlines())))
            if done.returncode == 77:
                self.table.add(name, "-", answer)
            elif done.returncode != 0:
                self.table.fail(name, done.stdout + done.stderr)
            else:
                self.table.add(name, answer, "", "equal to torch alone")

    def all(self):
        self.tests()
        self.kernels()
        for ranks in (1, 2, 4):
            self.nccl(ranks)
            self.allreduce("CUDA IPC", ranks, HOROVOD_GPU_OPERATIONS="MPI")
            self.allreduce("by way of the host", ranks, HOROVOD_GPU_OPERATIONS="MPI",
                           HOROVODPP_CUDA_IPC="0")
        # For the library, two nodes of two ranks.
        for what, ipc in (("in windows on each node", "1"), ("by way of the host", "0")):
            self.allreduce(f"{what}, as two nodes", 4, HOROVOD_GPU_OPERATIONS="MPI",
                           HOROVODPP_CUDA_IPC=ipc, HOROVODPP_RANKS_PER_NODE="2")
        self.training()
        return self.table


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--stand-in", action="store_true",
                        help="instead of GPUs; the numbers say nothing")
    parser.add_argument("--megabytes", type=int, default=256)
    parser.add_argument("--timeout", type=int, default=600, help="seconds for each program")
    options = parser.parse_args()
    if options.stand_in:
        options.megabytes = min(options.megabytes, 1)
    table = Checks(options).all()
    table.print()
    return 1 if table.failed else 0


if __name__ == "__main__":
    sys.exit(main())
