# SPDX-License-Identifier: Apache-2.0
"""The weights of an elastic training do not show which ranks were lost."""

import os
import random
import re
import tempfile
import unittest

import jobs

PROGRAM = os.environ["ELASTIC_EXAMPLE"]
SEED = 11


class ElasticTraining(unittest.TestCase):
    def checksum(self, ranks, model, *options, failpoints="", more=()):
        """The checksum of the weights, of which all ranks have the same."""
        job, left_behind = jobs.run_alone(
            ranks, *options, PROGRAM, "--model", model, "--steps", "150", *more, timeout=60,
            environment={"HOROVODPP_FAILPOINTS": failpoints})
        self.assertEqual((job.returncode, left_behind), (0, []), job.stdout + job.stderr)
        sums = re.findall(r"rank \d+ of (\d+): step 150, checksum (\w+)", job.stdout)
        self.assertEqual(len(sums), int(sums[0][0]), job.stdout)
        self.assertEqual(len(set(sums)), 1, job.stdout)
        return sums[0][1]

    def test_any_number_of_ranks_gives_the_same_bits(self):
        for model in "mlp", "gpt":
            alone = self.checksum(1, model, "--no-mpi")
            self.assertEqual(self.checksum(3, model, "--no-mpi"), alone, model)

    def test_lost_and_replaced_ranks_give_the_same_bits(self):
        chance = random.Random(SEED)
        for model in "mlp", "gpt":
            alone = self.checksum(1, model, "--no-mpi")
            for _ in range(3):
                ranks, most = chance.choice([(2, 3), (3, 3), (3, 4)])
                # A step makes two collectives or more. Each victim dies once.
                victims = chance.sample(range(ranks), ranks - 1)
                places = [("collective.begun", 250), ("stream.send", 120)]
                schedule = ";".join(
                    f"{place}=kill@{chance.randrange(2, passes)}#{victim}"
                    for victim in victims for place, passes in [chance.choice(places)])
                with self.subTest(model=model, ranks=ranks, most=most, schedule=schedule):
                    self.assertEqual(
                        self.checksum(ranks, model, "--min-np", "1", "--max-np", str(most),
                                      failpoints=schedule), alone)

    def test_snapshots_survive_all_ranks(self):
        alone = self.checksum(1, "mlp", "--no-mpi")
        # Not in /tmp: each job has its own.
        with tempfile.TemporaryDirectory(dir=".") as name:
            folder = os.path.abspath(name)
            more = ("--snapshots", folder, "--every", "20")
            # In each start all ranks die at their 90th collective.
            job, left_behind = jobs.run_alone(
                3, "--no-mpi", "--max-restarts", "2", PROGRAM, "--steps", "150", *more, timeout=60,
                environment={"HOROVODPP_FAILPOINTS": "collective.begun=kill@90"})
            self.assertEqual(left_behind, [])
            self.assertNotEqual(job.returncode, 0, job.stderr)
            steps = sorted(name for name in os.listdir(folder) if "partial" not in name)
            self.assertTrue(steps, job.stderr)
            self.assertEqual(self.checksum(2, "mlp", "--no-mpi", more=more), alone)
            self.assertFalse([name for name in os.listdir(folder) if "partial" in name])


if __name__ == "__main__":
    unittest.main()
