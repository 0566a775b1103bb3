# SPDX-License-Identifier: Apache-2.0
"""Ranks that meet by TCP and move their tensors by UCX, started by no launcher. Each is a node of
its own, except where a test says otherwise."""

import glob
import os
import re
import shutil
import sys
import tempfile
import unittest

import tcp_test

MODULE = os.environ.get("HVD_UCX_MODULE", "")
SKIPPED = 77
# Each is a way in which UCX can move bytes on a host without RDMA.
WAYS = {"default": {}, "tcp": {"UCX_TLS": "tcp,self"}}


class Job(tcp_test.Job):
    def __init__(self, size, *command, **environment):
        super().__init__(size, *command, **{"HOROVODPP_TRANSPORT": "ucx", **environment})


class Ucx(unittest.TestCase):
    def test_ranks_of_one_and_of_several_nodes_reduce(self):
        for size in 1, 2, 3, 4:
            for ranks_per_node in "1", "2":
                for way, variables in WAYS.items():
                    with self.subTest(size=size, ranks_per_node=ranks_per_node, way=way):
                        job = Job(size, tcp_test.HELLO,
                                  HOROVODPP_RANKS_PER_NODE=ranks_per_node, **variables)
                        total = size * (size + 1) // 2
                        self.assertEqual(
                            job.ends(),
                            [(0, f"rank {rank} of {size}: the sum is {total}\n", "")
                             for rank in range(size)])

    def test_survivors_name_a_killed_rank(self):
        for victim in 0, 2:
            for way, variables in WAYS.items():
                with self.subTest(victim=victim, way=way):
                    ends = Job(3, tcp_test.PROGRAM, "busy", str(victim), **variables).ends()
                    for rank, (code, output, errors) in enumerate(ends):
                        if rank == victim:
                            self.assertEqual(code, -9)
                            continue
                        self.assertEqual(code, 5, errors)
                        for call in "pending", "later":
                            self.assertRegex(output, rf"(?m)^rank {rank} {call}: rank {victim} "
                                             r"\(host '.+', pid \d+\) ")
                        self.assertNotIn("UCX", output)

    def test_ranks_with_and_without_it_are_told_to_agree(self):
        job = Job(2, "sh", "-c", '[ "$HOROVOD_RANK" = 0 ] && HOROVODPP_TRANSPORT=tcp; exec "$0"',
                  tcp_test.HELLO)
        for code, output, errors in job.ends():
            self.assertEqual((code, output), (1, ""))
            self.assertRegex(errors, "HOROVODPP_TRANSPORT=ucx.*to the same value on every rank")

    def test_a_missing_module_is_named_on_all_ranks(self):
        with tempfile.TemporaryDirectory() as folder:
            for library in glob.glob(os.path.join(os.path.dirname(MODULE), "libhorovodpp.so*")):
                shutil.copy(library, folder, follow_symlinks=False)
            library, = (path for path in glob.glob(os.path.join(folder, "libhorovodpp.so*"))
                        if not os.path.islink(path))
            ends = Job(2, "sh", "-c", f'[ "$HOROVOD_RANK" = 0 ] || export LD_PRELOAD={library}\n'
                       'exec "$0"', tcp_test.HELLO).ends()
        missing = (f"was not found: looked for libhorovodpp_ucx.so in {re.escape(folder)} .*"
                   "-DHVD_WITH_UCX=ON where UCX is installed, or set HOROVODPP_TRANSPORT=tcp")
        self.assertEqual([code for code, *_ in ends], [1, 1])
        self.assertRegex(ends[0][2], rf"rank 1 \(.*\) cannot use UCX: .*{missing}")
        self.assertRegex(ends[1][2], missing)


if __name__ == "__main__":
    if not MODULE:
        print("SKIPPED: this build has no module for UCX (on Debian: libucx-dev)")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
