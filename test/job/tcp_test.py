# SPDX-License-Identifier: Apache-2.0
"""Ranks that meet by TCP, started by no launcher. Each is a node of its own, except where a test
says otherwise."""

import os
import secrets
import socket
import subprocess
import sys
import unittest

PROGRAM = os.environ["JOB_PROGRAM"]
HELLO = os.environ["HELLO_ALLREDUCE"]
TIMEOUT = 60


def free_port():
    with socket.socket() as listening:
        listening.bind(("", 0))
        return listening.getsockname()[1]


class Job:
    def __init__(self, size, *command, keys=None, **environment):
        self.ranks = []
        port = free_port()
        keys = keys or [secrets.token_hex(32)] * size
        for rank in range(size):
            self.ranks.append(subprocess.Popen(
                command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env={**os.environ, "HOROVODPP_RENDEZVOUS": f"tcp:localhost:{port}",
                     "HOROVODPP_JOB_KEY": keys[rank], "HOROVOD_RANK": str(rank),
                     "HOROVOD_SIZE": str(size), "HOROVODPP_RANKS_PER_NODE": "1",
                     **environment}))

    def ends(self):
        """The exit code, standard output and standard error of each rank."""
        try:
            outputs = [rank.communicate(timeout=TIMEOUT) for rank in self.ranks]
        finally:
            for rank in self.ranks:
                rank.kill()
        return [(rank.returncode, *output) for rank, output in zip(self.ranks, outputs)]


class Tcp(unittest.TestCase):
    def test_ranks_of_one_and_of_several_nodes_reduce(self):
        for size in 1, 2, 3, 4:
            for ranks_per_node in "0", "1", "2":
                with self.subTest(size=size, ranks_per_node=ranks_per_node):
                    job = Job(size, HELLO, HOROVODPP_RANKS_PER_NODE=ranks_per_node)
                    total = size * (size + 1) // 2
                    self.assertEqual(
                        job.ends(),
                        [(0, f"rank {rank} of {size}: the sum is {total}\n", "")
                         for rank in range(size)])

    def test_survivors_name_a_killed_rank(self):
        for victim in 0, 2:
            with self.subTest(victim=victim):
                for rank, end in enumerate(Job(3, PROGRAM, "busy", str(victim)).ends()):
                    code, output, errors = end
                    if rank == victim:
                        self.assertEqual(code, -9)
                        continue
                    self.assertEqual(code, 5, errors)
                    for call in "pending", "later":
                        self.assertRegex(
                            output,
                            rf"(?m)^rank {rank} {call}: rank {victim} \(host '.+', pid \d+\) ")

    def test_a_rank_that_closes_its_descriptors_tells_the_cause(self):
        for victim in 0, 2:
            with self.subTest(victim=victim):
                for rank, end in enumerate(Job(3, PROGRAM, "close", str(victim)).ends()):
                    code, output, errors = end
                    self.assertEqual(code, 5, errors)
                    self.assertRegex(
                        output, rf"(?m)^rank {rank} pending: rank {victim} \(host '.+', pid \d+\) ")
                    if rank == victim:
                        self.assertIn("closed descriptors that horovodpp had opened", output)

    def test_a_rank_with_another_key_takes_no_part(self):
        keys = [secrets.token_hex(32)] * 2
        keys[1] = secrets.token_hex(32)
        ends = Job(2, HELLO, keys=keys, HOROVOD_START_TIMEOUT="2").ends()
        self.assertEqual([code for code, *_ in ends], [1, 1])
        self.assertIn("missing: rank 1", ends[0][2])
        for _, output, errors in ends:
            for key in keys:
                self.assertNotIn(key, output + errors)

    def test_a_missing_key_is_reported_with_the_way_to_get_one(self):
        (code, _, errors), = Job(1, HELLO, keys=[""]).ends()
        self.assertEqual(code, 1)
        self.assertIn("HOROVODPP_JOB_KEY is not set", errors)
        self.assertIn("openssl rand -hex 32", errors)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
