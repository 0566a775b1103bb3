# SPDX-License-Identifier: Apache-2.0
"""Jobs that lose ranks, and whose survivors go on."""

import os
import random
import re
import sys
import unittest

import jobs

PROGRAM = os.environ["SURVIVORS_PROGRAM"]
RANKS = 4


class Survivors(unittest.TestCase):
    def lose(self, how, victims, *arguments, environment=None):
        """Runs the job; every survivor has its new rank and the survivors' sum."""
        job, left_behind = jobs.run_alone(
            RANKS, PROGRAM, how, ",".join(map(str, victims)), *map(str, arguments),
            environment=environment)
        left = sorted(set(range(RANKS)) - set(victims))
        total = sum(1 << rank for rank in left)
        self.assertEqual(
            sorted(job.stdout.splitlines()),
            [f"survivor {old}: rank {new} of {len(left)}, sum {total}"
             for new, old in enumerate(left)], job.stderr)
        self.assertEqual((job.returncode, left_behind), (0, []), job.stderr)
        last = job.stderr.splitlines()[-1]
        self.assertIn("horovodrun: the job went on", last)
        for rank in victims:
            self.assertRegex(last, rf"rank {rank} on .*\(pid \d+\), which was killed")

    def test_one_two_or_all_but_one_die_together(self):
        for victims in ([1], [0], [0, 2], [2, 3], [1, 2, 3], [0, 1, 2]):
            with self.subTest(victims=victims):
                self.lose("at_once", victims)

    def test_between_nodes_too(self):
        for victims in ([0], [3], [0, 2], [2, 3], [0, 1, 3]):
            with self.subTest(victims=victims):
                self.lose("at_once", victims,
                          environment={"HOROVODPP_RANKS_PER_NODE": "2"})

    def test_ranks_die_while_the_others_agree_or_begin(self):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        for nodes in ("0", "2"):
            for victims in ([1, 2], [3, 0], [0, 1, 2]):
                delay = chance.randrange(3000)
                with self.subTest(seed=seed, victims=victims, delay=delay, nodes=nodes):
                    self.lose("in_turn", victims, delay,
                              environment={"HOROVODPP_RANKS_PER_NODE": nodes})

    def test_survivors_go_on_for_as_long_as_they_like(self):
        self.lose("for_long", [1])

    def test_a_death_before_the_job_began_is_named_at_once(self):
        for victim in (0, 2):
            with self.subTest(victim=victim):
                job, left_behind = jobs.run_alone(
                    3, PROGRAM, "at_start", str(victim),
                    environment={"HOROVOD_START_TIMEOUT": "60"}, timeout=40)
                self.assertEqual(left_behind, [])
                named = rf"(?m)^missed: rank {victim} \(host '.+', pid \d+\) ended"
                self.assertEqual(len(re.findall(named, job.stdout)), 2,
                                 job.stdout + job.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
