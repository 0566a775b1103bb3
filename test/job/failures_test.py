# SPDX-License-Identifier: Apache-2.0
"""Ranks that die: every survivor's error names them, and no process or file is left."""

import os
import re
import sys
import unittest

import jobs

PROGRAM = os.environ["JOB_PROGRAM"]


class Failures(unittest.TestCase):
    def lose(self, how, ranks, victim, environment=None):
        """Runs a job in which `victim` ends; checks every survivor's output."""
        job, left = jobs.run_alone(ranks, PROGRAM, how, str(victim),
                                   environment=environment)
        for rank in set(range(ranks)) - {victim}:
            for call in ("pending", "later"):
                self.assertRegex(
                    job.stdout,
                    rf"(?m)^rank {rank} {call}: rank {victim} \(host '.+', pid \d+\) ",
                    job.stderr)
        self.assertEqual(left, [])
        return job

    def test_a_killed_rank_is_named_by_every_survivor_and_by_the_launcher(self):
        for ranks, victim in ((2, 1), (3, 0), (4, 2)):
            for how in ("unready", "busy"):
                with self.subTest(ranks=ranks, victim=victim, how=how):
                    job = self.lose(how, ranks, victim)
                    self.assertEqual(job.returncode, 128 + 9)
                    self.assertRegex(job.stderr.splitlines()[-1],
                                     rf"rank {victim} .*signal 9")

    def test_between_nodes_too(self):
        for victim in (0, 1, 3):
            with self.subTest(victim=victim):
                job = self.lose("busy", 4, victim, {"HOROVODPP_RANKS_PER_NODE": "2"})
                self.assertEqual(job.returncode, 128 + 9)

    def test_a_rank_that_exits_with_a_code_says_so(self):
        job = self.lose("stop", 3, 1)
        self.assertEqual(job.returncode, 3)
        self.assertEqual(len(re.findall(r"rank 1 .* exited with code 3", job.stdout)), 4)

    def test_a_suspended_rank_is_named_when_the_stall_limit_has_passed(self):
        limits = {"HOROVOD_STALL_CHECK_TIME_SECONDS": "0.5",
                  "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "1.5"}
        for victim in (0, 1):
            with self.subTest(victim=victim):
                job, left = jobs.run_alone(3, PROGRAM, "suspend", str(victim),
                                           environment=limits)
                self.assertEqual((job.returncode, left), (5, []), job.stderr)
                self.assertRegex(
                    job.stderr.splitlines()[-1],
                    rf"^horovodrun: rank {victim} .* broke the job: the job has stalled, .*"
                    rf"rank {victim} \(.*does not answer: it is stopped")

    def test_a_rank_that_closes_its_descriptors_is_named_with_the_cause(self):
        for victim in (0, 1):
            with self.subTest(victim=victim):
                job = self.lose("close", 2, victim)
                self.assertEqual(job.returncode, 5)
                self.assertRegex(
                    job.stderr.splitlines()[-1],
                    rf"^horovodrun: rank {victim} .* exited with code 5: it has lost its "
                    "connections .*closed descriptors that horovodpp had opened")

    def test_an_idle_job_ends_quietly(self):
        job, left = jobs.run_alone(2, PROGRAM, "idle", "1")
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertEqual(len(re.findall(r"(?m)^cpu [0-9.]+$", job.stdout)), 2)
        self.assertEqual(left, [])


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
