# SPDX-License-Identifier: Apache-2.0
"""What each rank does: horovodrun --dump of a running job, and the line about a failed rank."""

import os
import re
import subprocess
import unittest

import jobs

PROGRAM = os.environ["JOB_PROGRAM"]
LIMIT = 60


def dump(*words):
    return subprocess.run([*jobs.HOROVODRUN[:1], "--dump", *map(str, words)], text=True,
                          timeout=LIMIT, capture_output=True, stdin=subprocess.DEVNULL)


class Dump(unittest.TestCase):
    def test_each_rank_of_a_job_has_a_line(self):
        with subprocess.Popen([*jobs.HOROVODRUN, "-np", "2", PROGRAM, "reduce", "-1"], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as job:
            try:
                for _ in range(2):
                    self.assertIn("reduces", job.stdout.readline())
                found = dump(job.pid)
                self.assertEqual(found.returncode, 0, found.stderr)
                lines = found.stdout.splitlines()
                self.assertEqual(len(lines), 2, found.stdout)
                for rank, line in enumerate(lines):
                    work = re.fullmatch(
                        rf"rank {rank} of 2 \(pid (\d+)\) (is in allreduce batch \d+ \(.*\) for "
                        r"|waits for allreduce of |has nothing in flight).*", line)
                    self.assertTrue(work, line)
                    alone = dump(work[1]).stdout.splitlines()
                    self.assertEqual(len(alone), 1)
                    self.assertIn(f"(pid {work[1]})", alone[0])
                self.assertGreaterEqual(len(dump().stdout.splitlines()), 2)
            finally:
                job.terminate()
                job.stdout.read()

    def test_a_process_without_ranks_has_none(self):
        found = dump(os.getpid())
        self.assertEqual((found.returncode, found.stdout),
                         (0, "no rank of yours runs on this host\n"))

    def test_another_word_is_refused(self):
        for words in (["all"], ["-3"], [1, 2]):
            with self.subTest(words=words):
                self.assertEqual(dump(*words).returncode, 2)


class LastWork(unittest.TestCase):
    def line_above_the_last(self, *command, **environment):
        job = jobs.run(3, PROGRAM, *command, environment=environment)
        self.assertNotEqual(job.returncode, 0)
        return job.stderr.splitlines()[-2]

    def test_a_killed_ranks_work_is_told(self):
        self.assertRegex(
            self.line_above_the_last("unready", "1"),
            r"^horovodrun: rank 1 had nothing in flight(; its last .* ended .* before)?$")

    def test_a_suspended_ranks_work_is_told(self):
        self.assertRegex(
            self.line_above_the_last("suspend", "2", HOROVOD_STALL_CHECK_TIME_SECONDS="0.5",
                                     HOROVOD_STALL_SHUTDOWN_TIME_SECONDS="1.5"),
            r"^horovodrun: rank 2 had nothing in flight")

    def test_a_command_that_records_nothing_has_no_line(self):
        job = jobs.run(2, "sh", "-c", "exit 3")
        self.assertEqual(len(job.stderr.splitlines()), 1, job.stderr)


if __name__ == "__main__":
    unittest.main()
