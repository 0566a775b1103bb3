# SPDX-License-Identifier: Apache-2.0
"""Jobs on several hosts: they start unaided, and errors of a host have its name. Every command has
a limit of its own, so that a hang fails."""

import json
import os
import re
import secrets
import signal
import subprocess
import unittest

import network

HOROVODRUN = os.environ["HOROVODRUN"]
PROGRAM = os.environ["MPI_PROGRAM"]
JOB = os.environ["JOB_PROGRAM"]


class Case(unittest.TestCase):
    net = None
    letters = "abc"
    rate = ""

    @classmethod
    def setUpClass(cls):
        cls.net = network.Network(cls.letters, cls.rate)
        cls.net.__enter__()
        cls.addClassCleanup(cls.net.remove)

    def start(self, *options, hosts="a:1,b:1", ranks=2, config="ssh_config",
              program=(PROGRAM,), folder=os.getcwd(), stdin=subprocess.DEVNULL):
        """Starts horovodrun on host a, in `folder` there. No `hosts`: `options` tell them."""
        self.mark = secrets.token_hex(8)
        return subprocess.Popen(
            self.net["a"].within("sh", "-c", 'cd "$0" && exec "$@"', folder, HOROVODRUN,
                                 "-np", str(ranks), *(["-H", hosts] if hosts else []),
                                 *options, *program),
            text=True, stdin=stdin, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **self.net.shell(config), network.leftovers.MARK: self.mark})

    def finish(self, job, limit):
        """Waits for the end within `limit` seconds, and for that of all its processes."""
        try:
            out, err = job.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            network.leftovers.end(network.leftovers.marked(self.mark))
            out, err = job.communicate()
            self.fail(f"still runs after {limit} s: {out}{err}")
        left = network.leftovers.still_there(
            lambda: network.leftovers.marked(self.mark), network.TIMEOUT)
        self.assertEqual([*map(network.leftovers.describe, left)], [])
        return subprocess.CompletedProcess(job.args, job.returncode, out, err)

    def launch(self, *options, limit=15, **how):
        """Runs horovodrun on host a, within `limit` seconds."""
        return self.finish(self.start(*options, **how), limit)

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

    def mount(self, letters, options):
        """A file system of each host's own at /mnt."""
        for letter in letters:
            self.net[letter].run("mount", "-t", "tmpfs", "-o", options, "none", "/mnt")
            self.addCleanup(self.net[letter].run, "umount", "/mnt")

    def has_timelines(self, ranks):
        """Host a has one file with these ranks, and the other hosts have none."""
        events = json.loads(self.net["a"].run("cat", "/mnt/t.json").stdout)
        found = {e["args"]["name"] for e in events if e["name"] == "process_name"}
        self.assertEqual({name for name in found if re.fullmatch(r"rank \d+", name)},
                         {f"rank {rank}" for rank in ranks})
        for letter in self.letters:
            self.assertEqual(self.net[letter].run("ls", "/mnt").stdout,
                             "t.json\n" if letter == "a" else "")

    def kill_one(self, *words):
        """Kills the one process of the job whose command has all these words."""
        found = []
        for pid in network.leftovers.marked(self.mark):
            command = network.leftovers.words_of(pid)  # It may have ended.
            if set(words) <= set(command):
                found.append((pid, command))
        # A process that runs the command of another one repeats its words.
        self.assertNotEqual(found, [], words)
        os.kill(min(found, key=lambda each: len(each[1]))[0], signal.SIGKILL)


class ThreeHosts(Case):
    def test_jobs_start_although_all_hosts_have_a_bridge_of_one_address(self):
        self.runs(self.launch(limit=30), 2)
        self.runs(self.launch(hosts="a:1,b:1,c:2", ranks=4), 4)

    def test_a_launcher_outside_of_the_job_reaches_its_hosts(self):
        self.runs(self.launch(hosts="b:1,c:1"), 2)

    def doctor(self, *words):
        return subprocess.run(
            self.net["a"].within(HOROVODRUN, "doctor", *words), text=True, timeout=30,
            capture_output=True, stdin=subprocess.DEVNULL,
            env={**os.environ, **self.net.shell()})

    def test_a_doctor_finds_the_network_of_all_hosts(self):
        job = self.doctor("-H", "a:1,b:1,c:2")
        self.assertEqual((job.returncode, job.stderr), (0, ""), job.stdout)
        network_of_all = ".".join(self.net["a"].address.split(".")[:3]) + ".0/24"
        self.assertRegex(job.stdout, rf"(?m)^all +network +ok +.* over {network_of_all}$")
        for letter in "abc":
            self.assertRegex(job.stdout, rf"(?m)^{letter} +MPI +ok +mpirun ")

    def test_a_doctor_measures_the_link_of_each_pair(self):
        job = self.doctor("-H", "a:1,b:1,c:2", "--json")
        self.assertEqual((job.returncode, job.stderr), (0, ""), job.stdout)
        links = {each["host"]: each for each in json.loads(job.stdout)
                 if each["subject"] == "link"}
        self.assertEqual(sorted(links), ["a - b", "a - c", "b - c"])
        for link in links.values():
            for figure in ("latency_us", "mbit_s_there", "mbit_s_back"):
                self.assertGreater(link[figure], 0)

    def test_a_doctor_names_the_host_to_fix_in_json(self):
        self.replace_program("c", "exit 2")
        job = self.doctor("-H", "a:1,b:1,c:2", "--json")
        self.assertEqual((job.returncode, job.stderr), (1, ""), job.stdout)
        to_fix = [each["host"] for each in json.loads(job.stdout) if each["level"] == "fix"]
        self.assertEqual(to_fix, ["c"])

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

    def test_a_job_that_runs_does_without_its_ssh(self):
        job = self.start(program=("sh", "-c", "echo ready; sleep 3; echo done"))
        for _ in range(2):
            self.assertEqual(job.stdout.readline(), "ready\n")
        self.kill_one("ssh", "-x", "b")
        job = self.finish(job, 30)
        self.assertEqual((job.returncode, job.stdout), (0, "done\n" * 2), job.stderr)

    def test_a_connection_that_is_killed_names_its_host(self):
        job = self.start(hosts="a:1,b:1,c:1", ranks=3,
                         program=("sh", "-c", "echo ready; exec sleep 1000"))
        for _ in range(3):
            self.assertEqual(job.stdout.readline(), "ready\n")
        self.kill_one("--remote-shell", "c")
        job = self.finish(job, 30)
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(job.stderr.splitlines()[-1], r"rank 2 on host 'c'")

    def written(self, letter, name):
        return self.net[letter].run("cat", f"/mnt/{name}").stdout

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

    def test_prefixes_hidden_streams_and_limits_work_on_every_host(self):
        self.mount("ab", "size=1m")
        job = self.launch(
            "--tag-output", "--log-dir", "/mnt/logs", "--redirects", "2",
            "--log-max-size", "512", "--log-files", "2", program=(
                "sh", "-c", "echo alas >&2; seq 1000 1199"))
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertEqual(
            sorted(job.stdout.splitlines()),
            [f"[{rank}]<stdout>:{i}" for rank in range(2) for i in range(1000, 1200)])
        for rank, letter in enumerate("ab"):
            self.assertEqual(self.written(letter, f"logs/rank.{rank}/stderr"), "alas\n")
            self.assertEqual(
                self.written(letter, f"logs/rank.{rank}/stdout").split(),
                [str(i) for i in range(1102, 1200)])

    def test_the_last_lines_of_a_rank_on_another_host_precede_the_last_line(self):
        job = self.launch(hosts="a:1,b:1", program=(
            "sh", "-c", "[ $OMPI_COMM_WORLD_RANK = 0 ] && { sleep 2; echo later >&2; exit 0; }; "
                        "echo why >&2; exit 3"))
        self.assertEqual(job.returncode, 3, job.stderr)
        self.assertRegex(job.stderr, r"why\nlater\nhorovodrun: the last lines of rank 1 on "
                                     r"standard error:\n    why\nhorovodrun: rank 1 on host 'b'")

    def test_timelines_come_from_the_hosts_of_a_killed_rank(self):
        self.mount("abc", "size=4m")
        job = self.launch("--timeline-filename", "/mnt/t.json", hosts="a:1,b:1,c:1", ranks=3,
                          program=(JOB, "victim", "2"), limit=30)
        self.assertEqual(job.returncode, 137, job.stderr)
        self.has_timelines(range(3))

    def test_a_folder_for_output_that_cannot_be_made(self):
        self.mount("b", "ro")
        self.refuses(self.launch("--output-filename", "/mnt/logs"),
                     r"^horovodrun: host 'b': cannot make /mnt/logs: Read-only file system$")

    def test_a_full_disk_for_output(self):
        self.mount("a", "size=1m")
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
    network.run_tests()
