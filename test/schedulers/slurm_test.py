# SPDX-License-Identifier: Apache-2.0
"""Jobs within Slurm, by Slurm's daemons: tasks of srun, launchers in scripts of sbatch, cancelled,
limited and requeued jobs, commands of the pages.

    slurm_test.py <root> --horovodrun H --hello PROGRAM --job-program PROGRAM

Exits with 77 where Slurm is not installed or cannot be started, and says why."""

import os
import pathlib
import secrets
import sys
import unittest

import cluster as slurm
import job_scripts
from job_scripts import sums

sys.path.append(os.path.join(os.path.dirname(__file__), os.pardir, "faults"))
import leftovers  # noqa: E402

LAUNCHERS = ("mpirun", "direct", "srun")
STOPPED = "horovodrun: stopped by signal 15 (Terminated)"
SKIPPED = 77
given = None
cluster = None
limited = None


def script(*lines):
    return "\n".join(["#!/bin/sh", *lines, ""])


def launch(launcher, *words):
    return f"exec {given.horovodrun} --launcher {launcher} {' '.join(map(str, words))}"


def ranks_in_a_job(mark):
    """The processes of the job with this mark that share memory with others."""
    def has_shared_memory(pid):
        try:
            return "memfd:horovodpp" in pathlib.Path(f"/proc/{pid}/maps").read_text()
        except OSError:
            return False
    return [pid for pid in leftovers.marked(mark) if has_shared_memory(pid)]


def setUpModule():
    """Submits a job that ends by its time limit, while other tests run: Slurm counts in minutes, and
    looks twice a minute."""
    global limited
    limited = cluster.submit(
        script(f"trap 'echo the shell is warned' TERM; "
               f"{given.horovodrun} --launcher local {given.job_program} idle 600 & wait; "
               "kill $!; wait $!"),
        "-N1", "-n2", "--time=1", "--signal=B:TERM@60")


class OfTwoNodes(unittest.TestCase):
    def setUp(self):
        if len(cluster.nodes) < 2:
            self.skipTest("a second node needs a UTS namespace, and so root")


class Srun(unittest.TestCase):
    def test_tasks_of_one_node_are_one_job(self):
        done = cluster.run("srun", "-N1", "-n3", given.hello)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), sums(3))

    def test_one_task_is_a_job_of_one(self):
        done = cluster.run("srun", "-n1", given.hello)
        self.assertEqual(done.stdout.splitlines(), sums(1), done.stderr)

    def test_steps_of_one_allocation_are_jobs_of_their_own(self):
        line = f"srun --overlap -N1 -n2 {given.hello}"
        job = cluster.submit(script(f"{line} & {line} & wait"), "-N1", "-n4")
        self.assertEqual(job.wait(), "COMPLETED", job.text())
        self.assertEqual(sorted(job.text().splitlines()), sorted(2 * sums(2)))

    def test_a_lost_task_is_told_to_the_other(self):
        done = cluster.run("srun", "-N1", "-n2", "--kill-on-bad-exit=0", given.job_program, "stop",
                           "1", environment={"HOROVODPP_HEARTBEAT_SECONDS": "1"})
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"rank 0 pending: .*rank 1")


class SrunOnTwoNodes(OfTwoNodes):
    def test_tasks_without_a_pmi_say_so_and_none_trains_alone(self):
        done = cluster.run("srun", "-N2", "-n2", given.hello)
        self.assertNotEqual(done.returncode, 0)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("srun --mpi=pmix"), 2, done.stderr)
        self.assertIn("horovodrun", done.stderr)


class Launchers(unittest.TestCase):
    def test_the_hosts_and_ranks_are_those_of_the_allocation(self):
        for launcher in ("auto", *LAUNCHERS):
            with self.subTest(launcher=launcher):
                job = cluster.submit(script(launch(launcher, given.hello)), "-N1", "-n3")
                self.assertEqual(job.wait(), "COMPLETED", job.text())
                self.assertEqual(sorted(job.text().splitlines()), sums(3))

    def test_np_chooses_another_number(self):
        for ranks in (1, 3):
            job = cluster.submit(script(launch("auto", "-np", ranks, given.hello)), "-N1", "-n2")
            self.assertEqual(job.wait(), "COMPLETED", job.text())
            self.assertEqual(sorted(job.text().splitlines()), sums(ranks))

    def test_the_exit_code_is_that_of_the_rank(self):
        for launcher in LAUNCHERS:
            with self.subTest(launcher=launcher):
                job = cluster.submit(script(launch(launcher, given.job_program, "stop", "1")),
                                     "-N1", "-n2", environment={"HOROVODPP_HEARTBEAT_SECONDS": "1"})
                self.assertEqual(job.wait(), "FAILED", job.text())
                self.assertEqual(job.field("ExitCode"), "3:0", job.text())
                self.assertRegex(job.text(), r"horovodrun: rank 1 .*exited with code 3")
                self.assertNotIn("srun: error", job.text())

    def test_srun_does_not_start_several(self):
        done = cluster.run("srun", "-N1", "-n2", given.horovodrun, given.hello)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("srun started horovodrun as 2 tasks", done.stderr)
        self.assertEqual(done.stdout, "")

    def test_srun_needs_an_allocation(self):
        done = cluster.run(given.horovodrun, "--launcher", "srun", "-np", "2", given.hello)
        self.assertEqual(done.returncode, 1)
        self.assertIn("srun needs an allocation", done.stderr)


class LaunchersOnTwoNodes(OfTwoNodes):
    def test_srun_starts_a_rank_for_each_task_of_each_host(self):
        # Without MPI's library for PMIx, ranks of two hosts have no way to meet.
        job = cluster.submit(script(launch(
            "srun", "--mpi-args=--mpi=none", "sh", "-c",
            "'echo $(hostname) $SLURM_PROCID $HOROVOD_SIZE'")), "-N2", "-n3")
        self.assertEqual(job.wait(), "COMPLETED", job.text())
        counts = [2, 1] if "node1 1 3" in job.text() else [1, 2]
        places = ["node1"] * counts[0] + ["node2"] * counts[1]
        self.assertEqual(sorted(job.text().splitlines()),
                         sorted(f"{node} {rank} 3" for rank, node in enumerate(places)))

    def test_mpirun_reaches_both_hosts(self):
        job = cluster.submit(script(launch("mpirun", given.hello)), "-N2", "-n3")
        self.assertEqual(job.wait(), "COMPLETED", job.text())
        self.assertEqual(sorted(job.text().splitlines()), sums(3))

    def test_ranks_without_mpi_start_on_both_nodes(self):
        job = cluster.submit(script(launch("direct", given.hello)), "-N2", "-n3")
        self.assertEqual(job.wait(), "COMPLETED", job.text())
        self.assertEqual(sorted(job.text().splitlines()), sums(3))


class Ends(unittest.TestCase):
    """Ends of jobs that Slurm decides on: none leaves a process or a file."""

    def run_until_ready(self, launcher, options=(), environment=None, lines=()):
        self.mark = secrets.token_hex(8)
        self.folders = leftovers.Folders(private=False)
        self.addCleanup(self.folders.remove)
        job = cluster.submit(
            script(*lines, launch(launcher, given.job_program, "idle", "600")), "-N1", "-n2",
            *options, environment={**self.folders.environment(), leftovers.MARK: self.mark,
                                   **(environment or {})})
        slurm.wait_until(lambda: len(ranks_in_a_job(self.mark)) == 2,
                         f"two ranks run; the output: {job.text()}")
        return job

    def assert_nothing_is_left(self, job):
        left = leftovers.still_there(lambda: leftovers.marked(self.mark), slurm.TIMEOUT)
        self.assertEqual([*map(leftovers.describe, left), *self.folders.files()], [], job.text())

    def test_a_cancelled_job(self):
        for launcher in LAUNCHERS:
            with self.subTest(launcher=launcher):
                job = self.run_until_ready(launcher)
                cluster.run("scancel", job.id)
                self.assertEqual(job.wait(), "CANCELLED")
                self.assert_nothing_is_left(job)

    def test_a_launcher_that_was_killed(self):
        for launcher in LAUNCHERS:
            with self.subTest(launcher=launcher):
                job = self.run_until_ready(launcher)
                cluster.run("scancel", "--signal=KILL", "--batch", job.id)
                job.wait()
                self.assert_nothing_is_left(job)

    def test_a_killed_srun(self):
        job = self.run_until_ready("srun")
        for pid in leftovers.marked(self.mark):
            if leftovers.describe(pid).partition(": ")[2].startswith("srun "):
                os.kill(pid, 9)
        self.assertEqual(job.wait(), "FAILED", job.text())
        self.assert_nothing_is_left(job)

    def test_a_warning_before_the_time_limit(self):
        """As --signal=B:TERM@60 sends it, but at once."""
        for launcher in LAUNCHERS:
            with self.subTest(launcher=launcher):
                job = self.run_until_ready(launcher)
                cluster.run("scancel", "--signal=TERM", "--batch", job.id)
                self.assertEqual(job.wait(), "FAILED", job.text())
                self.assertEqual(job.field("ExitCode"), "143:0")
                self.assertIn(STOPPED, job.text())
                self.assert_nothing_is_left(job)

    def test_a_requeued_job(self):
        first = f'[ "${{SLURM_RESTART_COUNT:-0}}" = 0 ] || exec {given.horovodrun} {given.hello}'
        job = self.run_until_ready("auto", ("--requeue",), lines=(first,))
        job.requeue()
        # Its first run's end, FAILED, may show for a moment.
        job.wait(ends=("COMPLETED",))
        self.assertIn(sums(2)[0], job.text())
        self.assert_nothing_is_left(job)


class TimeLimit(unittest.TestCase):
    def test_a_warned_script_ends_its_ranks(self):
        self.assertEqual(limited.wait(), "FAILED", limited.text())
        self.assertEqual(limited.field("ExitCode"), "143:0")
        self.assertIn(f"the shell is warned\n{STOPPED}", limited.text())


class Pages(unittest.TestCase):
    def test_their_scripts_and_commands_run(self):
        job_scripts.place(cluster.folder, given.horovodrun, given.hello)
        path = {"PATH": f"{cluster.folder}:{cluster.environment['PATH']}"}
        found = job_scripts.blocks(given.root, "slurm")
        self.assertEqual(len(found), 3)
        for block in found:
            with self.subTest(block.place):
                if block.code.startswith("#!"):
                    job = cluster.submit(block.code, environment=path)
                    self.assertEqual(job.wait(), "COMPLETED", job.text())
                    output = job.text()
                else:
                    done = cluster.run("sh", "-ec", block.code, environment=path)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    output = done.stdout
                lines = sorted(output.splitlines())
                self.assertEqual(lines, sums(len(lines)))
                self.assertGreater(len(lines), 1)


def main():
    global given, cluster
    given = job_scripts.arguments(__doc__)
    try:
        with slurm.Cluster() as cluster:
            return 0 if unittest.main(argv=[sys.argv[0], *given.rest], exit=False,
                                      verbosity=2).result.wasSuccessful() else 1
    except slurm.Unavailable as why:
        print(f"SKIPPED: there is no Slurm to test with: {why}")
        return SKIPPED


if __name__ == "__main__":
    sys.exit(main())
