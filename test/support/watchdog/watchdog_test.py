#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The watchdog ends hanging cases, and reports their names and all threads' stacks.

  watchdog_test.py HANGING_TEST [PREFIX...]
"""

import os
import re
import subprocess
import sys
import unittest

COMMAND = sys.argv[1:]


def run(case):
    """Returns the exit code and the output. Does not wait for a pipe that a child keeps open."""
    done = subprocess.run(
        [*COMMAND[1:], COMMAND[0], f"--gtest_filter={case}"], text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env={**os.environ, "HOROVODPP_TEST_CASE_SECONDS": "1"})
    return done.returncode, done.stderr


class Watchdog(unittest.TestCase):
    def test_lets_a_case_end(self):
        self.assertEqual(run("Hanging.Ends"), (0, ""))

    def test_shows_threads_with_all_signals_blocked_and_ends_children(self):
        case = "Hanging.WaitsForItsThreadsAndHasAChild"
        code, text = run(case)
        self.assertEqual(code, 1)
        self.assertIn(f"[  FAILED  ] {case}", text)
        self.assertRegex(text, re.compile(
            r"thread \d+, rank 1\n(    #.*\n)*    #.* hvd::.*wait_for_ever", re.M))
        self.assertRegex(text, r"    #.* hvd::.*WaitsForItsThreadsAndHasAChild_Test::TestBody")
        self.assertRegex(text, r"descendant \d+, hanging_test, in .* is ended")

    def test_ends_a_busy_case(self):
        code, text = run("Hanging.IsBusy")
        self.assertEqual(code, 1)
        self.assertIn("Hanging.IsBusy takes more than 1 s", text)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
