# SPDX-License-Identifier: Apache-2.0
"""Jobs that fail without a death that all ranks see: every rank still reaches its end.

Ranks end by themselves: the launcher sees a job that ends well.
"""

import os
import sys
import unittest

import jobs

PROGRAM = os.environ["EXIT_PROGRAM"]
STALL = {"HOROVOD_STALL_CHECK_TIME_SECONDS": "1",
         "HOROVOD_STALL_SHUTDOWN_TIME_SECONDS": "2"}


class Exit(unittest.TestCase):
    def end(self, how, ranks, survivors, environment=None):
        """Runs the job; each survivor runs all its exit handlers, and has its exit code."""
        script = f'out=$({PROGRAM} {how}); echo "$out code $?"'
        job, left = jobs.run_alone(ranks, "sh", "-c", script, environment=environment)
        for rank in survivors:
            self.assertRegex(job.stdout, rf"(?m)^rank {rank} at exit\n"
                                         rf"rank {rank} destroyed code {10 + rank}$",
                             job.stderr)
        self.assertEqual((job.returncode, left), (0, []), job.stderr)
        return job

    def test_a_stall_that_ends_the_job(self):
        self.end("stall", 3, range(3), STALL)

    def test_a_stall_between_nodes(self):
        self.end("stall", 4, range(4), STALL | {"HOROVODPP_RANKS_PER_NODE": "2"})

    def test_a_job_that_a_rank_breaks(self):
        self.end("abort", 3, range(3))
        self.end("abort", 4, range(4), {"HOROVODPP_RANKS_PER_NODE": "1"})

    def test_a_rank_that_dies_after_all_have_left(self):
        self.end("stopped", 3, range(2))
        self.end("stopped", 4, range(3), {"HOROVODPP_RANKS_PER_NODE": "2"})

    def test_a_rank_whose_descriptors_are_closed(self):
        if "--no-mpi" in jobs.HOROVODRUN:  # Leaving needs no descriptors.
            self.end("closed", 3, range(3))
            return
        job = self.end("closed", 3, range(2))
        self.assertRegex(job.stderr, r"rank 2 \(host .*\) cannot leave MPI, and ends: all "
                                     "descriptors of its process were closed")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
