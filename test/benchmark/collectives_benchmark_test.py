# SPDX-License-Identifier: Apache-2.0
"""Runs collectives_benchmark on tiny tensors, and checks that every measurement is
reported. The measured times are not checked."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

HOROVODRUN = os.environ["HOROVODRUN"]
PROGRAM = os.environ["COLLECTIVES_BENCHMARK"]
RANKS = 2

# Each workload, and its contenders other than "foreign", "MPI", "memcpy" and
# "arena". Either all workloads have "arena" or none.
WORKLOADS = {
    "4 B": set(),
    "4 KiB": set(),
    "64 KiB": set(),
    "1 MiB": set(),
    "16 MiB": set(),
    "64 MiB": set(),
    "256 MiB": set(),
    "64 MiB float16": {"as float32"},
    "64 MiB bfloat16": {"as float32"},
    "1,000 x 1 KiB": {"MPI by tensor"},
    "ResNet-50": {"MPI by tensor"},
    "GPT-2 small": {"MPI by tensor"},
}
TENSORS = {"1,000 x 1 KiB": 1000, "ResNet-50": 161, "GPT-2 small": 148}


def run(*arguments):
    """Returns the printed lines and the results in the JSON file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "results.json")
        job = subprocess.run(
            [HOROVODRUN, "-np", str(RANKS), PROGRAM, "--tiny", "--json", path, *arguments],
            text=True, timeout=200, capture_output=True, stdin=subprocess.DEVNULL)
        if job.returncode != 0:
            raise AssertionError(job.stdout + job.stderr)
        with open(path) as file:
            return job.stdout.splitlines(), json.load(file)


class CollectivesBenchmark(unittest.TestCase):
    def check_contender(self, contender):
        self.assertGreater(contender["first_quartile_us"], 0)
        self.assertGreaterEqual(contender["median_us"], contender["first_quartile_us"])
        self.assertGreaterEqual(contender["third_quartile_us"], contender["median_us"])
        for key in ("cpu_us", "faster_than_mpi", "over_memcpy"):
            self.assertGreater(contender[key], 0, key)

    def test_every_workload_is_measured_and_reported(self):
        lines, results = run()
        self.assertEqual([result["workload"] for result in results], list(WORKLOADS))
        arena = {"arena"} if any(one["name"] == "arena"
                                 for one in results[0]["contenders"]) else set()
        for result in results:
            with self.subTest(workload=result["workload"]):
                self.assertEqual(result["ranks"], RANKS)
                self.assertEqual(result["tensors"], TENSORS.get(result["workload"], 1))
                self.assertEqual(
                    {one["name"] for one in result["contenders"]},
                    WORKLOADS[result["workload"]] | {"foreign", "MPI", "memcpy"} | arena)
                for contender in result["contenders"]:
                    self.check_contender(contender)
        told = [(result["workload"], one["name"])
                for result in results for one in result["contenders"]]
        self.assertEqual(
            [(line[:17].strip(), line[17:32].strip()) for line in lines[1:]], told)

    def test_only_selects_workloads(self):
        lines, results = run("--only", "^4 |GPT", "--repeats", "1")
        self.assertEqual([result["workload"] for result in results],
                         ["4 B", "4 KiB", "GPT-2 small"])
        self.assertEqual({result["repeats"] for result in results}, {1})
        self.assertEqual(len(lines), 1 + sum(len(r["contenders"]) for r in results))


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
