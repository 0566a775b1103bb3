# SPDX-License-Identifier: Apache-2.0
"""Jobs on several hosts without MPI: horovodrun starts the ranks by ssh."""

import os
import signal
import unittest

import network
from hosts_test import HOROVODRUN, JOB, Case

HELLO = os.environ["HELLO_ALLREDUCE"]


class WithoutMpi(Case):
    letters = "abc"

    def start(self, *options, program=(HELLO,), **how):
        return super().start("--no-mpi", *options, program=program, **how)

    def sums(self, job, ranks):
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        total = ranks * (ranks + 1) // 2
        self.assertEqual(sorted(job.stdout.splitlines()),
                         [f"rank {rank} of {ranks}: the sum is {total}" for rank in range(ranks)])

    def fails(self, job, pattern, code=None):
        self.assertNotEqual(job.returncode, 0)
        if code is not None:
            self.assertEqual(job.returncode, code, job.stderr)
        self.assertRegex(job.stderr.splitlines()[-1], pattern)

    def waiting(self, *options, ranks=2, **how):
        """A job whose ranks wait for a signal; returns when all do."""
        job = self.start(*options, ranks=ranks, program=(
            "sh", "-c", 'trap "echo $HOROVOD_RANK got INT; exit 0" INT; '
            'trap "echo $HOROVOD_RANK got USR1" USR1; echo ready; '
            'while :; do sleep 0.05; done'), **how)
        for _ in range(ranks):
            self.assertEqual(job.stdout.readline(), "ready\n")
        return job

    def test_ranks_reduce_across_hosts(self):
        self.sums(self.launch(limit=30), 2)
        self.sums(self.launch(hosts="b:2,a:1,c:1", ranks=4, limit=30), 4)

    def test_a_slow_connection_is_named(self):
        host = self.net["b"]
        network.limit_rate(host.space, host.wire, "100mbit")
        self.addCleanup(network.command, "tc", "-n", host.space, "qdisc", "del", "dev", host.wire,
                        "root")
        job = self.launch("--summary-steps", "20", hosts="a:1,b:1,c:1", ranks=3,
                          program=(JOB, "steps", "41"), limit=60)
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertRegex(job.stderr, r"the connections of rank 1 \(host 'b', pid \d+\) are slow: ")

    def test_a_launcher_outside_of_the_job_serves_its_ranks(self):
        self.sums(self.launch(hosts="b:1,c:1", limit=30), 2)

    def test_ranks_use_the_named_interfaces(self):
        self.sums(self.launch("--network-interface", "eA,ethB0", limit=30), 2)

    def test_addresses_name_hosts(self):
        hosts = ",".join(f"{self.net[letter].address}:1" for letter in "ab")
        self.sums(self.launch(hosts=hosts, limit=30), 2)

    def test_two_names_of_this_host_are_an_error(self):
        job = self.launch(hosts=f"a:1,{self.net['a'].address}:1")
        self.assertEqual(job.returncode, 1)
        self.assertRegex(job.stderr, r"(?m)^horovodrun: hosts 'a' and '[\d.]+' are both this host; "
                                     r"give all its slots to one name$")

    def test_ranks_get_the_environment_and_the_folder(self):
        os.environ["OF_THE_USER"] = "two words\nand a line"
        self.addCleanup(os.environ.pop, "OF_THE_USER")
        job = self.launch(program=("sh", "-c", 'echo "$PWD|$OF_THE_USER|$HOROVOD_LOCAL_RANK"'))
        self.assertEqual(job.stdout, f"{os.getcwd()}|two words\nand a line|0\n" * 2, job.stderr)

    def test_rank_0_of_another_host_reads_standard_input(self):
        given = self.net.path("given")
        with open(given, "w") as file:
            file.write("line\n" * 600_000)
        with open(given) as file:
            job = self.start(hosts="b:1,a:1", stdin=file,
                             program=("sh", "-c", "sleep 0.2; wc -c"))
        job = self.finish(job, 30)
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        self.assertEqual(sorted(map(int, job.stdout.split())), [0, 3_000_000])

    def test_signals_reach_the_ranks_of_all_hosts(self):
        job = self.waiting(hosts="a:1,b:1,c:1", ranks=3)
        job.send_signal(signal.SIGUSR1)
        seen = {job.stdout.readline() for _ in range(3)}
        self.assertEqual(seen, {f"{rank} got USR1\n" for rank in range(3)})
        job.send_signal(signal.SIGINT)
        job = self.finish(job, 30)
        self.assertEqual(sorted(job.stdout.splitlines()),
                         [f"{rank} got INT" for rank in range(3)], job.stderr)

    def test_a_rank_that_fails_is_named(self):
        self.fails(self.launch(program=("sh", "-c", "exit $((3 * HOROVOD_RANK))"), limit=30),
                   r"^horovodrun: rank 1 on host 'b' \(pid \d+\) exited with code 3$", code=3)

    def test_survivors_of_another_host_notice_a_killed_rank(self):
        for victim, host in (0, "a"), (1, "b"):
            with self.subTest(victim=victim):
                job = self.launch(program=(JOB, "victim", str(victim)), limit=30)
                self.fails(job, rf"^horovodrun: rank {victim} on host '{host}' \(pid \d+\) was "
                                r"killed by signal 9", code=137)
                self.assertRegex(job.stdout, rf"rank {1 - victim} pending: rank {victim} \(host "
                                             rf"'{host}'")

    def test_timelines_come_from_all_hosts(self):
        for hosts, mode, victim in ("a:1,b:2,c:1", "late", -1), ("b:1,a:2,c:1", "victim", 3):
            with self.subTest(mode):
                self.mount("abc", "size=4m")
                job = self.launch("--timeline-filename", "/mnt/t.json", hosts=hosts, ranks=4,
                                  program=(JOB, mode, str(victim)), limit=30)
                self.assertNotIn("the timeline", job.stderr)
                self.has_timelines(range(4))

    def test_a_timeline_that_cannot_be_fetched_is_one_warning(self):
        self.mount("ab", "size=4m")
        with open(self.net.path("ssh_config")) as file:
            self.net.write("ssh_once", file.read())
        job = self.launch("--timeline-filename", "/mnt/t.json", config="ssh_once", limit=30,
                          program=("sh", "-c", f'"{JOB}" late -1; rm -f "$0"',
                                   self.net.path("ssh_once")))
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertRegex(job.stderr, r"^horovodrun: the timeline /mnt/t.json has 1 of 2 ranks. It "
                                     r"lacks rank 1's /mnt/t.json.rank1 on host 'b' \(host "
                                     r"'b' cannot be used: .*\n$")

    def test_a_killed_connection_names_its_host(self):
        job = self.waiting()
        self.kill_one("ssh", "b")
        self.fails(self.finish(job, 30), r"^horovodrun: host 'b' was lost, and with it rank 1; ")

    def test_a_killed_process_of_a_host_names_the_host(self):
        job = self.waiting()
        self.kill_one("--start-ranks-of-host")
        self.fails(self.finish(job, 30), r"^horovodrun: host 'b' was lost, and with it rank 1; ")

    def test_no_rank_outlives_a_killed_launcher_or_starter(self):
        for words in ("--no-mpi",), ("--start-ranks",):
            with self.subTest(words=words):
                job = self.waiting(hosts="a:1,b:1,c:1", ranks=3)
                self.kill_one(HOROVODRUN, *words)
                self.assertNotEqual(self.finish(job, 30).returncode, 0)

    def test_a_host_whose_link_goes_down_is_named(self):
        job = self.start(hosts="a:1,b:1,c:1", ranks=3, program=(
            "env", "HOROVOD_LOG_LEVEL=info", JOB, "victim", "-1"))
        entered = 0
        while entered < 3:
            line = job.stderr.readline()
            self.assertNotEqual(line, "")
            entered += "entered a job of 3" in line
        self.net.link("b", "down")
        self.addCleanup(self.net.link, "b", "up")
        self.fails(self.finish(job, 60), r"^horovodrun: .*rank 1 on host 'b'")

    def test_the_key_of_a_job_is_on_no_command_line(self):
        job = self.start("--verbose", program=(
            "sh", "-c", 'echo "$HOROVODPP_JOB_KEY"; sleep 1000'))
        key = job.stdout.readline().strip()
        self.assertRegex(key, "^[0-9a-f]{64}$")
        lines = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline") as line:
                    lines.append(line.read())
            except OSError:
                pass
        self.assertFalse([line for line in lines if key in line])
        job.send_signal(signal.SIGTERM)
        job = self.finish(job, 30)
        self.assertNotIn(key, job.stderr)

    def test_a_folder_that_another_host_lacks_is_said(self):
        self.net["a"].run("mount", "-t", "tmpfs", "none", "/mnt")
        self.addCleanup(self.net["a"].run, "umount", "/mnt")
        self.net["a"].run("mkdir", "/mnt/only")
        job = self.launch(folder="/mnt/only", program=("pwd",))
        self.assertEqual(job.returncode, 0)
        self.assertIn("/mnt/only\n", job.stdout)
        self.assertRegex(job.stderr, r"(?m)^horovodrun: host 'b': there is no folder /mnt/only, "
                                     r"so its ranks start in the home folder")

    def test_output_is_written_on_the_host_of_each_rank(self):
        for letter in "ab":
            self.net[letter].run("mount", "-t", "tmpfs", "none", "/mnt")
            self.addCleanup(self.net[letter].run, "umount", "/mnt")
        job = self.launch("--output-filename", "/mnt/logs",
                          program=("sh", "-c", "echo I am $HOROVOD_RANK"))
        self.assertEqual(job.returncode, 0, job.stderr)
        self.assertEqual(sorted(job.stdout.splitlines()), ["I am 0", "I am 1"])
        for rank, letter in enumerate("ab"):
            written = self.net[letter].run("cat", f"/mnt/logs/rank.{rank}/stdout").stdout
            self.assertEqual(written, f"I am {rank}\n")


if __name__ == "__main__":
    network.run_tests()
