# SPDX-License-Identifier: Apache-2.0
"""Jobs on several hosts: they start unaided, and whatever is wrong with a host is said with its
name. Every command has a limit of its own, so that a hang fails."""

import os
import secrets
import subprocess
import sys
import unittest

import network

HOROVODRUN = os.environ["HOROVODRUN"]
PROGRAM = os.environ["MPI_PROGRAM"]
SKIPPED = 77


class Case(unittest.TestCase):
    net = None
    letters = "abc"
    rate = ""

    @classmethod
    def setUpClass(cls):
        cls.net = network.Network(cls.letters, cls.rate)
        cls.net.__enter__()
        cls.addClassCleanup(cls.net.remove)

    def launch(self, *options, hosts="a:1,b:1", ranks=2, limit=15, environment=None,
               config="ssh_config", program=(PROGRAM,)):
        """Runs horovodrun on host a, within `limit` seconds."""
        mark = secrets.token_hex(8)
        job = subprocess.run(
            self.net["a"].within(HOROVODRUN, "-np", str(ranks), "-H", hosts, *options,
                                 *program),
            text=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=limit,
            env={**os.environ, **self.net.shell(config), network.leftovers.MARK: mark,
                 **(environment or {})})
        left = network.leftovers.still_there(
            lambda: network.leftovers.marked(mark), network.PATIENCE)
        self.assertEqual([*map(network.leftovers.describe, left)], [])
        return job

    def runs(self, job, ranks):
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertEqual(sorted(job.stdout.splitlines()),
                         [f"rank {rank} of {ranks}" for rank in range(ranks)])

    def refuses(self, job, *patterns, code=1):
        self.assertEqual(job.returncode, code, job.stderr)
        self.assertEqual(job.stdout, "")
        lines = job.stderr.splitlines()
        self.assertEqual(len(lines), 1, job.stderr)
        for pattern in patterns:
            self.assertRegex(lines[0], pattern)


class ThreeHosts(Case):
    def test_jobs_start_although_all_hosts_have_a_bridge_of_one_address(self):
        self.runs(self.launch(limit=9), 2)
        self.runs(self.launch(hosts="a:1,b:1,c:2", ranks=4), 4)

    def test_a_launcher_outside_of_the_job_reaches_its_hosts(self):
        self.runs(self.launch(hosts="b:1,c:1"), 2)

    def test_each_host_uses_the_named_interface_that_it_has(self):
        self.runs(self.launch("--network-interface", "eA,ethB0"), 2)

    def test_a_named_interface_that_a_host_lacks_is_said_with_those_it_has(self):
        self.refuses(
            self.launch("--network-interface", "eA"),
            r"^horovodrun: host 'b' has no interface 'eA' \(--network-interface\); it has ",
            rf"it has .*ethB0 \({self.net['b'].address}/24\)",
            rf"host 'a' has .*eA \({self.net['a'].address}/24\)", code=2)

    def test_a_host_whose_key_is_unknown(self):
        self.refuses(self.launch(config="ssh_unknown_host"),
                     r"^horovodrun: host 'b' has a key that is not known here; connect once "
                     r"by 'ssh b'")

    def test_a_host_whose_key_has_changed(self):
        self.refuses(self.launch(config="ssh_changed_host"),
                     r"^horovodrun: host 'b' has another key than", r"ssh-keygen -R b")

    def test_a_host_that_refuses_the_users_key(self):
        self.refuses(self.launch(config="ssh_wrong_user"),
                     r"^horovodrun: host 'b' refuses this user's ssh key", r"ssh-copy-id b",
                     r"Permission denied \(publickey")

    def test_a_host_without_an_address(self):
        self.refuses(self.launch(hosts="a:1,nosuch.invalid:1", limit=30),
                     r"^horovodrun: host 'nosuch.invalid' has no address here")

    def test_a_host_without_horovodrun(self):
        host = self.net["b"]
        folder = os.path.dirname(HOROVODRUN)
        host.run("mount", "-t", "tmpfs", "none", folder)
        self.addCleanup(host.run, "umount", folder)
        self.refuses(self.launch(hosts="a:1,b:1,c:1", ranks=3),
                     rf"^horovodrun: host 'b' has no {HOROVODRUN}; install the same horovodpp "
                     "there")

    def replace_program(self, letter, script):
        path = self.net.path("other_horovodrun")
        self.net.write("other_horovodrun", f"#!/bin/sh\n{script}\n")
        os.chmod(path, 0o755)
        host = self.net[letter]
        host.run("mount", "--bind", path, HOROVODRUN)
        self.addCleanup(host.run, "umount", HOROVODRUN)

    def test_a_host_with_another_version(self):
        self.replace_program("c", "echo horovodrun-facts version 0.0.1\n"
                                  "echo horovodrun-facts end; exec cat")
        version = subprocess.run([HOROVODRUN, "--version"], text=True, check=True,
                                 capture_output=True).stdout.strip()
        self.refuses(self.launch(hosts="a:1,b:1,c:1", ranks=3),
                     rf"^horovodrun: host 'c' has horovodrun 0\.0\.1 at {HOROVODRUN}, and this "
                     f"host has {version.replace('+', '.')}; install the same version")

    def test_a_host_with_a_version_that_cannot_answer(self):
        self.replace_program("b", "echo unknown option >&2; exit 2")
        self.refuses(self.launch(), r"^horovodrun: host 'b' has an older horovodrun at ")

    def test_hosts_that_are_down(self):
        for letter in "bc":
            self.net.link(letter, "down")
            self.addCleanup(self.net.link, letter, "up")
        self.refuses(self.launch(hosts="a:1,b:1,c:2", ranks=4),
                     r"^horovodrun: host 'b' cannot be reached", r"host 'c' cannot be reached")

    def test_a_host_without_an_sshd(self):
        host = self.net["b"]
        host.sshd.kill()
        host.sshd.wait()
        self.addCleanup(self.net.wait_for_logins)
        self.addCleanup(self.net.start_sshd, host)
        self.refuses(self.launch(), r"^horovodrun: host 'b' accepts no ssh connections")


    def written(self, letter, name):
        return self.net[letter].run("cat", f"/mnt/{name}").stdout

    def mount(self, letters, options):
        """A file system of each host's own at /mnt."""
        for letter in letters:
            self.net[letter].run("mount", "-t", "tmpfs", "-o", options, "none", "/mnt")
            self.addCleanup(self.net[letter].run, "umount", "/mnt")

    def test_output_is_written_on_the_host_of_each_rank(self):
        self.mount("ab", "size=1m")
        job = self.launch("--output-filename", "/mnt/logs", program=(
            "sh", "-c", "echo I am $OMPI_COMM_WORLD_RANK; echo alas >&2; printf end"))
        self.assertEqual(job.returncode, 0, job.stderr)
        for text in ("I am 0\n", "I am 1\n", "end"):
            self.assertIn(text, job.stdout)
        for rank, letter in enumerate("ab"):
            self.assertEqual(self.written(letter, f"logs/rank.{rank}/stdout"),
                             f"I am {rank}\nend")
            self.assertEqual(self.written(letter, f"logs/rank.{rank}/stderr"), "alas\n")

    def test_a_folder_for_output_that_cannot_be_made(self):
        self.mount("b", "ro")
        self.refuses(self.launch("--output-filename", "/mnt/logs"),
                     r"^horovodrun: host 'b': cannot make /mnt/logs: Read-only file system$")

    def test_a_full_disk_for_output(self):
        self.mount("b", "size=64k")
        job = self.launch("--output-filename", "/mnt/logs", program=(
            "sh", "-c", "head -c 300000 /dev/zero | tr '\\0' x"))
        self.assertEqual((job.returncode, len(job.stdout)), (1, 600000))
        self.assertRegex(job.stderr, r"^horovodrun: host 'b': cannot write to "
                                     r"/mnt/logs/rank.1/stdout: No space left on device$")


class SlowLink(Case):
    letters = "ab"
    rate = "1mbit"

    def test_a_job_starts_over_a_slow_link(self):
        self.runs(self.launch(limit=60), 2)


if __name__ == "__main__":
    reason = network.reason_against()
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
