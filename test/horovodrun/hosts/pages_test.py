# SPDX-License-Identifier: Apache-2.0
"""The pages' commands for several hosts, on the hosts a and b.

    pages_test.py <root>      <!-- snippet on hosts: NAME -->
"""

import os
import pathlib
import re
import secrets
import subprocess
import sys
import unittest

import network

HERE = os.path.dirname(os.path.abspath(__file__))
for folder in ("pages", "schedulers"):
    sys.path.append(os.path.join(HERE, os.pardir, os.pardir, folder))
import job_scripts  # noqa: E402
import pages  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[3]
# Seconds for a block, on any machine.
LIMIT = 120


class Pages(unittest.TestCase):
    def setUp(self):
        self.net = network.Network("ab", wires={"a": "eth0", "b": "ib0"})
        self.net.__enter__()
        self.addCleanup(self.net.remove)
        job_scripts.place(self.net.folder, os.environ["HOROVODRUN"],
                          os.environ["HELLO_ALLREDUCE"])
        self.net.write("hosts", "a slots=2\nb slots=2\n")
        self.mark = secrets.token_hex(8)

    def start(self, letter, block, environment=None):
        return subprocess.Popen(
            self.net[letter].within("sh", "-euc", f"cd {self.net.folder}\n{block.code}"),
            text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **self.net.shell(), network.leftovers.MARK: self.mark,
                 "PATH": f"{self.net.folder}:{os.environ['PATH']}", **(environment or {})})

    def finish(self, job):
        """Its output."""
        try:
            out, errors = job.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            network.leftovers.end(network.leftovers.marked(self.mark))
            self.fail(f"still runs after {LIMIT} s: {job.communicate()}")
        self.assertEqual(job.returncode, 0, errors)
        return out

    def ranks_in(self, text):
        """The sizes of the jobs, and the number of lines of each."""
        sizes = re.findall(r"(?m)^rank \d+ of (\d+): the sum is", text)
        return {int(size): sizes.count(size) for size in sizes}

    def test_each_command_runs(self):
        expected = {"with_mpi": {4: 8, 3: 3}, "without_mpi": {4: 4}, "interfaces": {4: 4}, "plain_mpirun": {4: 4},
                    "own_starter": {2: 2}, "doctor": {}}
        found = {block.name: block for block in pages.snippets(ROOT, "sh", "hosts")}
        self.assertEqual(found.keys(), expected.keys())
        for name, block in found.items():
            with self.subTest(block.place):
                if name == "plain_mpirun":  # It would use docker0.
                    for letter in "ab":
                        self.net[letter].run("ip", "link", "delete", "docker0")
                jobs = [self.start("a", block)] if name != "own_starter" else [
                    self.start(letter, block, {
                        "HOST": self.net["a"].address, "KEY": key, "RANK": str(rank),
                        "SIZE": "2"})
                    for key in [secrets.token_hex(32)] for rank, letter in enumerate("ab")]
                self.assertEqual(self.ranks_in("".join(map(self.finish, jobs))),
                                 expected[name])


if __name__ == "__main__":
    network.run_tests()
