# SPDX-License-Identifier: Apache-2.0
"""Elastic jobs: ranks are lost, and newcomers replace them."""

import os
import re
import shutil
import signal
import sys
import tempfile
import unittest

import jobs

PROGRAM = os.environ["ELASTIC_PROGRAM"]
# A death at each of these, while a job re-forms or grows.
REFORM_PLACES = ("reform.begun", "reform.agreed", "reform.started")
GROW_PLACES = ("grow.admitted", "grow.met", "grow.started", "grow.formed")


class Case(unittest.TestCase):
    def start(self, ranks, options, *arguments, environment=None):
        job, left_behind = jobs.run_alone(ranks, *options, PROGRAM, *map(str, arguments),
                                          environment=environment, timeout=60)
        self.assertEqual(left_behind, [], job.stderr)
        return job

    def ends_well(self, numbers, *arguments, **more):
        """The processes with these launcher's numbers end as ranks 0, 1, ..., newcomers last."""
        job = self.start(*arguments, **more)
        self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
        size = len(numbers)
        ended = {int(number): int(rank) for number, rank in
                 re.findall(rf"(?m)^number (\d+): rank (\d+) of {size}$", job.stdout)}
        self.assertEqual((sorted(ended), sorted(ended.values())), (numbers, [*range(size)]),
                         job.stdout + job.stderr)
        ranks = arguments[0]
        first = [number for number in numbers if number < ranks]
        self.assertEqual([ended[number] for number in first], [*range(len(first))])
        return job


class Elastic(Case):
    def test_a_lost_rank_is_replaced(self):
        job = self.ends_well([0, 2], 2, ["--max-np", "2"], 2, "1:20")
        self.assertRegex(job.stderr, r"went on, and ended well, without rank 1 on .* was killed")

    def test_rank_0_is_replaced(self):
        self.ends_well([1, 2, 3], 3, ["--max-np", "3"], 3, "0:20")

    def test_a_spare_joins(self):
        self.ends_well([0, 2], 2, ["--spares", "1"], 2, "1:20")

    def test_a_newcomer_that_joined_is_replaced_as_well(self):
        job = self.ends_well([0, 3], 2, ["--max-np", "2"], 2, "1:20", "2:10")
        self.assertRegex(job.stderr, "without rank 1 on .* without rank 2 on ")

    def test_a_job_grows_to_its_largest_size(self):
        self.ends_well([0, 1, 2], 1, ["--max-np", "3"], 3)

    def test_newcomers_take_the_free_slots_of_hosts(self):
        self.ends_well([0, 1, 2], 1, ["--max-np", "3", "-H", "localhost:3"], 3)
        self.ends_well([0, 2], 2, ["--spares", "1", "-H", "localhost:3"], 2, "1:20")

    def test_too_few_slots_are_an_error(self):
        job = self.start(2, ["--max-np", "4", "-H", "localhost:3"], 2)
        self.assertEqual(job.returncode, 2)
        self.assertIn("may have 4 ranks (--max-np) and 0 spares, and its hosts have 3 slots",
                      job.stderr)

    def test_all_but_one_are_replaced(self):
        self.ends_well([1, 3, 4], 3, ["--min-np", "1", "--max-np", "3"], 3, "0:20", "2:20")

    def test_the_limit_of_losses_ends_the_job(self):
        job = self.start(2, ["--reset-limit", "0"], 2, "1:20")
        self.assertEqual(job.returncode, 1, job.stderr)
        self.assertRegex(job.stderr, r"cannot go on: it has lost 1 ranks, and --reset-limit is 0; "
                                     r"rank 1 on .* was killed by signal 9")

    def test_too_few_ranks_for_too_long_end_the_job(self):
        job = self.start(2, ["--min-np", "2", "--elastic-timeout", "1.5"], 2, "1:20",
                         environment={"NEWCOMERS_FAIL": "1"})
        self.assertEqual(job.returncode, 1, job.stderr)
        self.assertIn("fewer than 2 ranks (--min-np) for 1.5 s", job.stderr)

    def test_newcomers_that_fail_do_not_fail_the_job(self):
        self.ends_well([0], 2, ["--min-np", "1"], 1, "1:20", environment={"NEWCOMERS_FAIL": "1"})

    def test_a_program_that_fails_ends_the_job(self):
        job = self.start(2, ["--max-np", "2"], 2, "bad")
        self.assertEqual(job.returncode, 1, job.stderr)
        self.assertRegex(job.stderr, r"horovodrun: rank \d on .* exited with code 1")

    def test_a_death_while_the_job_re_forms(self):
        for place in REFORM_PLACES:
            with self.subTest(place=place):
                self.ends_well([0, 3, 4, 5], 4, ["--min-np", "1"], 4, "1:20",
                               environment={"HOROVODPP_FAILPOINTS": f"{place}=kill@1#2"})

    def test_a_death_while_the_job_grows(self):
        for place in GROW_PLACES:
            for number, left in ((0, [1, 3]), (1, [0, 3]), (2, [0, 1])):
                with self.subTest(place=place, number=number):
                    environment = {"HOROVODPP_FAILPOINTS": f"{place}=kill@1#{number}"}
                    job = self.start(2, ["--max-np", "3", "--min-np", "1"], 3,
                                     environment=environment)
                    self.assertEqual(job.returncode, 0, job.stdout + job.stderr)
                    ranks = re.findall(r"number (\d+): rank (\d+) of 3", job.stdout)
                    self.assertEqual(sorted(int(rank) for _, rank in ranks), [0, 1, 2])
                    self.assertNotIn(str(number), [which for which, _ in ranks])
                    self.assertLessEqual(set(left[:1]), {int(which) for which, _ in ranks})

    def test_a_rank_that_sigterm_ends_is_no_loss(self):
        for environment in {}, {"CATCH_SIGTERM": "1"}:
            with self.subTest(environment=environment):
                self.ends_well([0, 2], 2, ["--max-np", "2", "--reset-limit", "0"], 2,
                               f"1:20:{int(signal.SIGTERM)}", environment=environment)

    def test_newcomers_start_on_hosts_that_were_unused(self):
        self.ends_well([0, 1, 2], 2, ["--max-np", "3", "-H", "localhost:2,127.0.0.1:1"], 3)

    def test_a_job_without_ranks_starts_anew(self):
        job = self.ends_well([0, 1], 2, ["--max-np", "2", "--max-restarts", "1"], 2,
                             "0:20", "1:20")
        self.assertIn("horovodrun: restart 1 of 1\n", job.stderr)

    def test_mpirun_is_refused(self):
        job = self.start(2, ["--mpi", "--max-np", "2"], 2)
        self.assertEqual(job.returncode, 2)
        self.assertIn("--max-np makes the job elastic, and mpirun can start no ranks", job.stderr)


class Discovery(Case):
    """Hosts come and go. The program writes the file that the script shows."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.folder)
        self.hosts = self.path("hosts")

    def path(self, name):
        return os.path.join(self.folder, name)

    def discovered(self, numbers, ranks, options, phases, hosts, script='cat "$HOSTS"', **more):
        with open(self.hosts, "w") as file:
            file.write(hosts)
        with open(self.path("discover"), "w") as file:
            file.write(f"#!/bin/sh\n{script}\n")
        os.chmod(self.path("discover"), 0o700)
        environment = {"HOSTS": self.hosts, **more}
        return self.ends_well(
            numbers, ranks, [*options, "--host-discovery-script", self.path("discover")], phases,
            environment=environment)

    def test_slots_come_and_go_and_a_run_of_the_script_fails(self):
        script = ('echo >> "$HOSTS.runs"; test $(wc -l < "$HOSTS.runs") = 2 && '
                  '{ echo no cloud >&2; exit 3; }; cat "$HOSTS"')
        job = self.discovered([0, 1], 2, ["--max-np", "3", "--shutdown-timeout", "0.2"],
                              "2=localhost:3,3=localhost:2,2", "localhost:2", script,
                              IGNORE_SIGTERM="1")
        first, last = job.stderr.splitlines()
        self.assertRegex(first, r"^horovodrun: the discovery script '.*/discover' "
                                r"\(--host-discovery-script\) failed: it exited with code 3: "
                                r"no cloud; the job keeps its hosts$")
        self.assertRegex(last, r"ended well, without rank 2 on .*, which left as planned$")

    def test_all_hosts_are_replaced(self):
        # The state passes from 0 to the first newcomer before 0 leaves.
        self.discovered([2, 3], 2, ["--max-np", "2", "--reset-limit", "0",
                                    "--shutdown-timeout", "0.3"],
                        "2=127.0.0.1:2,2@2", "localhost:2")

    def test_too_few_slots_end_the_start(self):
        job = self.start(2, ["--elastic-timeout", "0", "--host-discovery-script",
                             "echo localhost:1"], 2)
        self.assertEqual(job.returncode, 2, job.stderr)
        self.assertRegex(job.stderr, "has named 1 slots, and the job needs 2: they did not come "
                                     "within 0 s")


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
