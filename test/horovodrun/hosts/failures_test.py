# SPDX-License-Identifier: Apache-2.0
"""Failures of jobs on several hosts: a job survives some, and names the failed host or rank
otherwise. Every job has a limit of its own, so that a hang fails."""

import os
import secrets
import select
import subprocess
import time
import unittest

import hosts_test
import network

FAULT_PROGRAM = os.environ["FAULT_PROGRAM"]
JOB_PROGRAM = os.environ["JOB_PROGRAM"]
LIMIT = 60
RANKS = 4


class Events:
    """The pipe in which the ranks of fault_program tell how far they are."""

    def __init__(self, path):
        os.mkfifo(path)
        self.path = path
        self.pipe = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.text = b""

    def close(self):
        os.close(self.pipe)

    def wait_for(self, event, count):
        """Returns whether that many ranks have told the event within the limit."""
        deadline = time.monotonic() + LIMIT
        while self.text.count(b'"' + event + b'"') < count and time.monotonic() < deadline:
            select.select([self.pipe], [], [], 1)
            try:
                self.text += os.read(self.pipe, 1 << 16)
            except BlockingIOError:
                pass
        return self.text.count(b'"' + event + b'"') >= count


class Link(hosts_test.Case):
    """A link is down for less time than a host may be silent, and is up again."""
    letters = "ab"
    away = 3.2  # Of 4 s, the default of HOROVODPP_HEARTBEAT_SECONDS.
    seconds = 8

    def program(self, events):
        return FAULT_PROGRAM, events.path, f"seconds={self.seconds}", "work=cycle"

    def interrupt(self, events, letter):
        self.assertTrue(events.wait_for(b"training", RANKS))
        self.net.link(letter, "down")
        time.sleep(self.away)
        self.net.link(letter, "up")

    def events(self):
        events = Events(self.net.path(f"events{secrets.token_hex(4)}"))
        self.addCleanup(events.close)
        return events

    def test_ranks_of_mpi_go_on(self):
        for letter in "ab":
            with self.subTest(link=letter):
                events = self.events()
                job = self.start(hosts="a:2,b:2", ranks=RANKS, program=self.program(events))
                self.interrupt(events, letter)
                job = self.finish(job, LIMIT)
                self.assertEqual((job.returncode, job.stderr), (0, ""))
                self.assertTrue(events.wait_for(b"finished", RANKS))

    def test_ranks_that_meet_by_tcp_go_on(self):
        for letter in "ab":
            with self.subTest(link=letter):
                events = self.events()
                jobs = self.start_by_tcp(self.program(events))
                self.interrupt(events, letter)
                for job in jobs:
                    job = self.finish(job, LIMIT)
                    self.assertEqual((job.returncode, job.stderr), (0, ""))
                self.assertTrue(events.wait_for(b"finished", RANKS))

    def start_by_tcp(self, program):
        self.mark = secrets.token_hex(8)
        key = secrets.token_hex(32)
        return [subprocess.Popen(
            self.net["ab"[rank // 2]].within(*program), text=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env={**os.environ, network.leftovers.MARK: self.mark,
                 "HOROVODPP_RENDEZVOUS": f"tcp:{self.net['a'].address}:29400",
                 "HOROVODPP_JOB_KEY": key, "HOROVOD_RANK": str(rank),
                 "HOROVOD_SIZE": str(RANKS)}) for rank in range(RANKS)]


class Descriptors(hosts_test.Case):
    """A rank closes all descriptors of its process, MPI's connections included."""
    letters = "ab"

    def test_the_rank_is_named_with_the_cause(self):
        for victim in (0, 1):
            with self.subTest(victim=victim):
                job = self.launch(program=(JOB_PROGRAM, "close", str(victim)), limit=LIMIT)
                self.assertNotEqual(job.returncode, 0)
                self.assertRegex(
                    job.stderr.splitlines()[-1],
                    rf"^horovodrun: rank {victim} .*: it has lost its connections .*closed "
                    "descriptors that horovodpp had opened")


if __name__ == "__main__":
    network.run_tests()
