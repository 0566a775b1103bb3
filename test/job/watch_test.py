# SPDX-License-Identifier: Apache-2.0
"""The output of horovodrun on a terminal: the block of --watch, and colors."""

import fcntl
import os
import pty
import re
import select
import struct
import termios
import time
import unittest

from jobs import HOROVODRUN, run

PROGRAM = os.environ["JOB_PROGRAM"]
LIMIT = 60


class Screen:
    """The rows of a terminal that wraps lines, and every state in which it was left alone."""

    def __init__(self, columns):
        self.columns = columns
        self.rows = [""]
        self.at = 0

    def write(self, text):
        for part in re.findall(r"\x1b\[[0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]", text):
            if part.startswith("\x1b"):
                if part.endswith("A"):
                    self.at -= int(part[2:-1])
                if part.endswith("J"):
                    self.rows = self.rows[:self.at] + [""]
            elif part == "\n" or len(self.rows[self.at]) == self.columns:
                self.at += 1
                self.rows += [""] * (self.at + 1 - len(self.rows))
            if part not in "\r\n" and not part.startswith("\x1b"):
                self.rows[self.at] += part


class OnATerminal:
    """A job whose three streams are a terminal of so many columns."""

    def __init__(self, columns, *words, **environment):
        self.screen = Screen(columns)
        self.seen = ""
        self.text = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            os.environ.update({"TERM": "xterm", **environment})
            os.environ.pop("NO_COLOR", None) if "NO_COLOR" not in environment else None
            os.execv(HOROVODRUN[0], [*HOROVODRUN, *words])
        self.read()

    def read(self):
        end = time.monotonic() + LIMIT
        while time.monotonic() < end:
            if not select.select([self.fd], [], [], 1)[0]:
                continue
            try:
                text = os.read(self.fd, 1 << 16).decode()
            except OSError:  # The end of a terminal.
                break
            self.text += text
            self.screen.write(text)
            self.seen += "\n".join(self.screen.rows) + "\n"
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def rows(self):
        return [row for row in self.screen.rows if row]


class Watch(unittest.TestCase):
    def test_the_block_shows_each_rank_below_the_output_and_is_removed_at_the_end(self):
        job = OnATerminal(100, "-np", "2", "--watch", PROGRAM, "idle", "3")
        self.assertEqual(job.code, 0, job.text)
        self.assertRegex(job.seen, r"horovodrun: 2 ranks, \d s: 2 in job; 0\.0 collectives/s")
        self.assertRegex(job.seen, r"(?m)^    1  \S+ +in job +0\.0 +\d+ +\d+ MiB")
        self.assertEqual([row.split()[0] for row in job.rows()], ["cpu", "cpu"])

    def test_the_block_names_the_rank_that_others_wait_for(self):
        job = OnATerminal(120, "-np", "3", "--watch", PROGRAM, "late", "1")
        self.assertEqual(job.code, 0, job.text)
        for rank in 0, 2:
            self.assertRegex(job.seen, rf"(?m)^    {rank} .* waiting .* awaited waits \d s for "
                                       r"rank 1$")

    def test_the_block_is_cut_at_the_width_of_the_terminal(self):
        job = OnATerminal(20, "-np", "2", "--watch", PROGRAM, "idle", "2")
        self.assertEqual(job.code, 0, job.text)
        self.assertIn("\nhorovodrun: 2 ranks\n", job.seen)
        self.assertLess(max(map(len, job.seen.splitlines())), 20)

    def test_a_failure_leaves_the_last_line_and_no_block(self):
        job = OnATerminal(120, "-np", "2", "--watch", PROGRAM, "unready", "1")
        self.assertNotEqual(job.code, 0)
        self.assertRegex(" ".join(job.rows()), r"horovodrun: rank 1 on .* was killed by signal 9")
        self.assertNotIn(" rank  host", job.rows())

    def test_without_a_terminal_one_line_says_so(self):
        job = run(1, "--watch", "true")
        self.assertEqual((job.returncode, job.stdout), (0, ""))
        self.assertRegex(job.stderr, r"^horovodrun: --watch has no effect: .*\n$")


class Colors(unittest.TestCase):
    def test_prefixes_and_the_last_line_have_colors(self):
        job = OnATerminal(100, "-np", "1", "--tag-output", "sh", "-c", "echo hi; exit 3")
        self.assertIn("\x1b[32m[0]<stdout>:\x1b[0mhi", job.text)
        self.assertIn("\x1b[1;31mhorovodrun:\x1b[0m rank 0 on", job.text)

    def test_variables_turn_colors_off(self):
        for environment in {"NO_COLOR": "1"}, {"TERM": "dumb"}:
            job = OnATerminal(100, "-np", "1", "--tag-output", "sh", "-c", "echo hi; exit 3",
                              **environment)
            self.assertIn("[0]<stdout>:hi", job.text)
            self.assertNotIn("\x1b", job.text)

    def test_output_to_a_pipe_has_no_colors(self):
        job = run(1, "--tag-output", "sh", "-c", "echo hi; exit 3", environment={"TERM": "xterm"})
        self.assertEqual(job.stdout, "[0]<stdout>:hi\n")
        self.assertRegex(job.stderr, "^horovodrun: rank 0 on ")


if __name__ == "__main__":
    unittest.main(verbosity=2)
