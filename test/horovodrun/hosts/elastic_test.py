# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs whose hosts join, leave or are lost while the job runs."""

import os
import re
import time
import unittest

import network
from hosts_test import Case

PROGRAM = os.environ["ELASTIC_PROGRAM"]


class ElasticJobs(Case):
    letters = "abc"

    def start(self, *options, phases, **how):
        """Each process tells its host. `phases` are those of elastic_program.cc."""
        script = 'echo "$HOROVOD_RANK on $(hostname)"; exec "$0" "$@"'
        return super().start("--no-mpi", *options, program=("sh", "-c", script, PROGRAM, phases),
                             **how)

    def ends_well(self, job, hosts):
        """The processes that end the job have these numbers and hosts."""
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        places = dict(re.findall(r"(?m)^(\d+) on (\w+)$", job.stdout))
        ended = re.findall(r"(?m)^number (\d+): rank \d+ of (\d+)$", job.stdout)
        self.assertEqual({int(number): places[number] for number, _ in ended}, hosts,
                         job.stdout + job.stderr)
        self.assertEqual({int(size) for _, size in ended}, {len(hosts)})

    def setUp(self):
        self.hosts = self.net.path("discovered")
        os.environ["HOSTS"] = self.hosts
        self.addCleanup(os.environ.pop, "HOSTS")

    def write(self, hosts):
        with open(self.hosts, "w") as file:
            file.write(hosts)

    def discovering(self, phases):
        """A job that starts on host a, and whose program writes the hosts."""
        self.write("a:1")
        return self.finish(self.start("--max-np", "2", "--host-discovery-script",
                                      f"cat {self.hosts}", phases=phases, hosts=None, ranks=1), 40)

    def test_a_host_joins_and_leaves_and_another_cannot_be_reached(self):
        job = self.discovering("1=a:1+nowhere:1+b:1,2=a:1,1")
        self.ends_well(job, {0: "a"})
        self.assertRegex(job.stderr, r"without rank 2 on host 'b' .*, which left as planned\n$")

    def test_a_lost_host_is_used_again_after_a_while(self):
        # The connection to b is lost while both ranks run.
        self.write("")
        job = self.start("--max-np", "2", "--min-np", "1", hosts="a:1,b:1", phases="2=runs,1,2")
        deadline = time.monotonic() + network.TIMEOUT
        while not os.path.getsize(self.hosts):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.kill_one("ssh", "b")
        job = self.finish(job, 40)
        self.ends_well(job, {0: "a", 2: "b"})
        self.assertRegex(job.stderr, r"without rank 1 on host 'b' .*, which was lost with its host")


if __name__ == "__main__":
    network.run_tests()
