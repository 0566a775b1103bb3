# SPDX-License-Identifier: Apache-2.0
"""horovodrun without -np and -H, where variables and files of PBS, LSF or Kubernetes name this host
with slots: a rank for each slot. The scripts of the pages for PBS and LSF. And processes that have
the variables of srun's tasks.

    found_hosts_test.py <root> --horovodrun H --hello PROGRAM --job-program PROGRAM"""

import os
import pathlib
import secrets
import subprocess
import sys
import tempfile
import unittest

import job_scripts

given = job_scripts.arguments(__doc__)


def run(variables, *words, cwd=None):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("SLURM_", "PBS_", "LSB_", "KUBERNETES_"))}
    return subprocess.run([*words], env={**environment, **variables}, text=True, cwd=cwd,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=120)


class FoundHosts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, text, name="hosts"):
        path = self.folder / name
        path.write_text(text)
        return str(path)

    def assert_ranks(self, ranks, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.splitlines()), job_scripts.sums(ranks), done.stderr)

    def schedulers(self):
        kubernetes = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
        return {
            "pbs": {"PBS_NODEFILE": self.file("localhost\nlocalhost\nlocalhost\n", "pbs")},
            "lsf": {"LSB_MCPU_HOSTS": "localhost 3"},
            "openmpi": {**kubernetes, "OMPI_MCA_orte_default_hostfile":
                        self.file("localhost slots=3\n", "openmpi")},
            "mpich": {**kubernetes, "HYDRA_HOST_FILE": self.file("localhost:3\n", "mpich")}}

    def test_a_rank_for_each_slot(self):
        for name in self.schedulers():
            for options in ([], ["--no-mpi"]):
                with self.subTest(name, options=options):
                    self.assert_ranks(3, run(self.schedulers()[name], given.horovodrun, *options,
                                             given.hello))

    def test_np_and_hosts_overrule(self):
        variables = {"LSB_MCPU_HOSTS": "nowhere.invalid 3"}
        self.assert_ranks(2, run(variables, given.horovodrun, "--no-mpi", "-np", "2", "-H",
                                 "localhost:2", given.hello))
        self.assert_ranks(2, run(self.schedulers()["pbs"], given.horovodrun, "-np", "2", given.hello))

    def test_a_ranks_own_job_stays_on_its_host(self):
        done = run({"LSB_MCPU_HOSTS": "localhost 1"}, given.horovodrun, "--no-mpi", "sh", "-c",
                   f"export LSB_MCPU_HOSTS='nowhere.invalid 3'; exec {given.horovodrun} --no-mpi "
                   f"-np 2 {given.hello}")
        self.assert_ranks(2, done)

    def test_a_hostfile_that_changes_counts_at_the_start(self):
        path = self.file("")
        variables = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "OMPI_MCA_orte_default_hostfile": path}
        done = run(variables, given.horovodrun, "--no-mpi", given.hello)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"OMPI_MCA_orte_default_hostfile ({path}) names no host", done.stderr)
        for slots in (1, 2):
            self.file(f"localhost slots={slots}\n")
            self.assert_ranks(slots, run(variables, given.horovodrun, "--no-mpi", given.hello))

    def test_the_scripts_of_the_page(self):
        for name, variables in (("pbs", {**self.schedulers()["pbs"], "PBS_O_WORKDIR": "."}),
                                ("lsf", self.schedulers()["lsf"])):
            [block] = job_scripts.blocks(given.root, name)
            with self.subTest(name):
                job_scripts.place(self.folder, given.horovodrun, given.hello)
                done = run({**variables, "PATH": f"{self.folder}:{os.environ['PATH']}"}, "sh", "-c",
                           block.code, cwd=self.folder)
                self.assert_ranks(3, done)


class Tasks(unittest.TestCase):
    """Processes with the variables that srun gives to its tasks."""

    def run_tasks(self, variables, count=2):
        shared = {"SLURM_JOB_ID": f"test-{os.getpid()}", "SLURM_STEP_ID": secrets.token_hex(4),
                  "SLURM_STEP_NUM_TASKS": str(count), "SLURM_STEP_NUM_NODES": "1", **variables}
        tasks = [subprocess.Popen([given.hello], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                  env={**os.environ, **shared, "SLURM_PROCID": str(rank)})
                 for rank in range(count)]
        return [(*task.communicate(timeout=120), task.returncode) for task in tasks]

    def test_of_one_node_are_one_job(self):
        done = self.run_tasks({})
        self.assertEqual([out.strip() for out, _, _ in done], job_scripts.sums(2), done)

    def test_of_several_nodes_say_what_they_need(self):
        for out, errors, code in self.run_tasks({"SLURM_STEP_NUM_NODES": "2"}):
            self.assertEqual((out, code), ("", 1))
            self.assertIn("srun --mpi=pmix", errors)
            self.assertIn("by horovodrun", errors)

    def test_of_one_node_are_jobs_of_their_own_on_request(self):
        for out, _, _ in self.run_tasks({"HOROVOD_SIZE": "1"}):
            self.assertEqual(out.splitlines(), job_scripts.sums(1))

    def test_that_miss_another_name_it(self):
        [(out, errors, code)] = self.run_tasks({"SLURM_STEP_NUM_TASKS": "2",
                                                "HOROVOD_START_TIMEOUT": "0.5"}, count=1)
        self.assertEqual((out, code), ("", 1))
        self.assertRegex(errors, "missing: .*1")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *given.rest], verbosity=2)
