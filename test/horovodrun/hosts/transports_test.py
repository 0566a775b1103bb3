# SPDX-License-Identifier: Apache-2.0
"""Ranks on two hosts that meet by TCP, without MPI and without a launcher. Their tensors travel by
TCP, and by UCX where the build has its module."""

import os
import secrets
import subprocess
import unittest

import network

HELLO = os.environ["HELLO_ALLREDUCE"]
PROGRAM = os.environ["JOB_PROGRAM"]
PORT = 29400
TIMEOUT = 60


def ways():
    """The settings of each way between the hosts, by name."""
    found = {"tcp": {}}
    if os.environ.get("HVD_UCX_MODULE"):
        # UCX would also take the bridges, whose addresses are the same on all hosts.
        found["ucx"] = {"HOROVODPP_TRANSPORT": "ucx", "UCX_TLS": "tcp,self"}
    else:
        print("UCX is not tested: this build has no module for it (on Debian: libucx-dev)")
    return found


class Transports(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.net = network.Network("ab")
        cls.net.__enter__()
        cls.addClassCleanup(cls.net.remove)

    def start(self, *command, **environment):
        """A rank on each host."""
        hosts = [self.net["a"], self.net["b"]]
        common = {**os.environ, "HOROVODPP_RENDEZVOUS": f"tcp:{hosts[0].address}:{PORT}",
                  "HOROVODPP_JOB_KEY": secrets.token_hex(32), "HOROVOD_SIZE": "2",
                  "HOROVODPP_HEARTBEAT_SECONDS": "1", **environment}
        ranks = []
        for rank, host in enumerate(hosts):
            own = {"HOROVOD_RANK": str(rank), "HOROVODPP_INTERFACES": host.wire,
                   "UCX_NET_DEVICES": host.wire}
            ranks.append(subprocess.Popen(
                host.within(*command), text=True, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**common, **own}))
            self.addCleanup(ranks[-1].kill)
        return ranks

    def ends(self, ranks):
        outputs = [rank.communicate(timeout=TIMEOUT) for rank in ranks]
        return [(rank.returncode, *output) for rank, output in zip(ranks, outputs)]

    def test_they_reduce(self):
        for way, variables in ways().items():
            with self.subTest(way=way):
                self.assertEqual(self.ends(self.start(HELLO, **variables)),
                                 [(0, f"rank {rank} of 2: the sum is 3\n", "")
                                  for rank in range(2)])

    def test_a_survivor_names_a_killed_rank(self):
        for way, variables in ways().items():
            with self.subTest(way=way):
                _, (code, output, errors) = self.ends(
                    self.start(PROGRAM, "busy", "0", **variables))
                self.assertEqual(code, 5, errors)
                self.assertRegex(output, r"(?m)^rank 1 pending: rank 0 \(host 'a', pid \d+\) ")

    def test_a_job_ends_when_the_link_is_cut(self):
        for way, variables in ways().items():
            with self.subTest(way=way):
                ranks = self.start(PROGRAM, "reduce", "-1", **variables)
                self.addCleanup(self.net.link, "b", "up")
                self.assertEqual(ranks[1].stdout.readline(), "reduces\n")
                self.net.link("b", "down")
                for rank, (code, output, errors) in enumerate(self.ends(ranks)):
                    self.assertEqual(code, 5, errors)
                    self.assertRegex(output, rf"(?m)^rank {rank} pending: .*rank {1 - rank} ")
                self.net.link("b", "up")


if __name__ == "__main__":
    network.run_tests()
