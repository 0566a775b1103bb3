# SPDX-License-Identifier: Apache-2.0
"""Training that is killed and resumed writes the same final file, bit by bit, as
uninterrupted training. RESUME_SEED chooses the moments, and a run prints the seed. RESUME_KILLS
is the number of kills of each program."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import jobs

PROGRAMS = {
    "fashion_mnist": os.environ["FASHION_MNIST"],
    "text": os.environ["TEXT"],
}
RANKS = 2
KILLS = int(os.environ.get("RESUME_KILLS", 12))  # In as many runs as needed.
SEED = int(os.environ.get("RESUME_SEED", random.SystemRandom().randrange(10**6)))
# A BLAS with another number of threads would add in another order.
os.environ["HOROVODPP_NUM_THREADS"] = "1"


def processes_of(job, path):
    """The ids of the job's processes, ranks first: all its descendants, and orphans
    with `path` on their command line."""
    parents, found = {}, {job.pid} if job.returncode is None else set()
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/stat") as file:
                parents[pid] = int(file.read().rpartition(")")[2].split()[1])
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if path.encode() in file.read():
                    found.add(pid)
        except OSError:
            continue  # Already ended.
    for pid in parents:
        above = pid
        while above in parents and above not in found:
            above = parents[above]
        if above in found:
            found.add(pid)
    return sorted(found, key=lambda pid: not runs_a_program(pid))


def runs_a_program(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe") in map(
            os.path.realpath, PROGRAMS.values())
    except OSError:
        return False


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def version(path):
    """The version of the file of this name; None if the file is missing or empty."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return (status.st_ino, status.st_mtime_ns) if status.st_size > 0 else None


def contents(path):
    with open(path, "rb") as file:
        return file.read()


class Resume(unittest.TestCase):
    def setUp(self):
        self.ranks = RANKS
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def finish(self, program, *options):
        job = jobs.run(self.ranks, PROGRAMS[program], *options, timeout=280)
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        return job

    def wait_for(self, job, path, count):
        """Waits until a new file of this name has appeared `count` times."""
        # A job that was killed earlier may have left a file.
        last = version(path)
        while count > 0 and job.poll() is None:
            os.sched_yield()  # Let the job run.
            now = version(path)
            count -= now not in (None, last)
            last = now or last

    def run_and_kill(self, dice, program, path, options):
        """Starts the job and kills one rank or all ranks at a random moment. Returns whether
        the job was writing then; None if it ended first."""
        job = subprocess.Popen(
            [*jobs.HOROVODRUN, "-np", str(self.ranks), PROGRAMS[program], *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        # Looked up in advance, so that the moment does not pass meanwhile.
        below = []
        while sum(map(runs_a_program, below)) < self.ranks and job.poll() is None:
            below = processes_of(job, path)
        self.assertGreaterEqual(len(below), self.ranks, "it ended at once")
        moment = dice.choice(["any", "written", "writing", "writing"])
        if moment == "any":
            until = time.monotonic() + dice.uniform(0, 0.7)
            while time.monotonic() < until and job.poll() is None:
                os.sched_yield()
        else:
            watched = path if moment == "written" else f"{path}.partial"
            self.wait_for(job, watched, dice.randint(1, 4))
        kill([below[dice.randrange(self.ranks)]] if dice.random() < 0.3 else below)
        writing = version(f"{path}.partial") is not None
        ended = job.wait(timeout=60) == 0
        # Orphans of the job may hold the file that the next job writes.
        while left := processes_of(job, path):
            kill(left)
        return None if ended else writing

    def hold(self, program, *options, ranks):
        self.ranks = ranks
        dice = random.Random(f"{SEED} {program}")
        names = "whole", "killed", "losses", "killed.losses"
        whole, killed, losses, killed_losses = map(self.path, names)
        self.finish(program, *options, "--save", whole, "--loss-file", losses)
        saving = [*options, "--save", killed, "--save-every", "2",
                  "--loss-file", killed_losses]
        resuming = lambda: (
            [*saving, "--resume", killed] if os.path.exists(killed) else saving)
        kills, runs = [], 0
        while len(kills) < KILLS:
            # The number of kills in a run depends on the machine.
            runs += 1
            kills += self.kills_of_a_run(dice, program, killed, resuming,
                                         KILLS - len(kills))
            self.finish(program, *resuming())
            self.assertEqual(contents(killed), contents(whole))
            self.assertEqual(contents(killed_losses), contents(losses))
            self.assertFalse(os.path.exists(f"{killed}.partial"))
            os.remove(killed)
            os.remove(killed_losses)
        print(f"{program}, RESUME_SEED={SEED}: killed {len(kills)} times in {runs} "
              f"runs, {sum(kills)} of them while it wrote", flush=True)

    def kills_of_a_run(self, dice, program, path, resuming, most):
        """Kills the run until it is done, or `most` times. Returns for each kill whether the
        job was writing then."""
        kills = []
        while len(kills) < most:
            writing = self.run_and_kill(dice, program, path, resuming())
            if writing is None:
                break
            kills.append(writing)
        return kills

    def test_a_convolutional_network_with_augmentation(self):
        self.hold("fashion_mnist", "--model", "resnet18", "--width", "4",
                  "--augment", "--limit", "1600", "--batch-size", "16",
                  "--epochs", "2", ranks=2)

    # Three ranks: sums of two are the same in any order.
    def test_a_transformer_with_dropout(self):
        self.hold("text", "--width", "32", "--layers", "1", "--context", "32",
                  "--dropout", "0.1", "--epochs", "2", "--batch-size", "16",
                  "--sample-bytes", "20", ranks=3)

    def test_an_unwritable_path_is_reported_before_training(self):
        os.mkdir(self.path("folder"))
        for place in self.path("none/checkpoint"), self.path("folder"):
            job = jobs.run(self.ranks, PROGRAMS["text"], "--save", place)
            self.assertEqual(job.returncode, 1)
            self.assertIn(place, job.stderr)
            self.assertNotIn("epoch", job.stdout)

    def test_all_ranks_stop_if_a_checkpoint_cannot_be_written(self):
        os.mkdir(self.path("folder"))
        path = self.path("folder/checkpoint")
        job = subprocess.Popen(
            [*jobs.HOROVODRUN, "-np", str(self.ranks), PROGRAMS["text"], "--width",
             "32", "--layers", "1", "--save", path, "--save-every", "1"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        self.wait_for(job, path, 2)
        os.rename(self.path("folder"), self.path("elsewhere"))
        _, errors = job.communicate(timeout=60)
        self.assertEqual(job.returncode, 1)
        self.assertIn(f"text: '{path}' ", errors)  # And the reason.
        self.assertIn(f"rank 0 could not write '{path}'", errors)

    def test_a_finished_run_says_so_and_saves_its_state(self):
        options = ["--limit", "256", "--epochs", "1"]
        first, second = self.path("first"), self.path("second")
        self.finish("fashion_mnist", *options, "--save", first)
        job = self.finish("fashion_mnist", *options, "--resume", first,
                          "--save", second)
        self.assertIn("All epochs are done", job.stdout)
        self.assertEqual(contents(first), contents(second))

    def test_another_run_is_refused_by_name(self):
        path = self.path("checkpoint")
        options = ["--limit", "256", "--epochs", "1"]
        self.finish("fashion_mnist", *options, "--save", path)
        for other, name in ((["--seed", "7"], "seed"),
                            (["--batch-size", "32"], "batch-size"),
                            (["--model", "lenet"], "model")):
            job = jobs.run(self.ranks, PROGRAMS["fashion_mnist"], *options, *other,
                           "--resume", path)
            self.assertEqual(job.returncode, 1)
            self.assertIn(f"is of a run with {name} ", job.stderr)
        job = jobs.run(1, PROGRAMS["fashion_mnist"], *options, "--resume", path)
        self.assertEqual(job.returncode, 1)
        self.assertIn("is of a run with ranks '2'", job.stderr)

    def test_a_text_is_known_by_its_bytes_wherever_it_lies(self):
        path = self.path("checkpoint")
        texts = [self.path(name) for name in ("text", "same", "other")]
        for text, byte in zip(texts, "aab", strict=True):
            with open(text, "w", encoding="ascii") as file:
                file.write("a" * 3000 + byte)
        options = ["--width", "32", "--layers", "1", "--epochs", "1", "--batch-size",
                   "4", "--validation", "0"]
        self.finish("text", texts[0], *options, "--save", path)
        self.finish("text", texts[1], *options, "--resume", path)
        job = jobs.run(self.ranks, PROGRAMS["text"], texts[2], *options, "--resume",
                       path)
        self.assertEqual(job.returncode, 1)
        self.assertIn("is of a run with text ", job.stderr)

    def test_another_file_is_reported_as_no_checkpoint(self):
        path = self.path("tensors")
        with open(path, "wb") as file:
            file.write(b"\x02\0\0\0\0\0\0\0{}")
        job = jobs.run(self.ranks, PROGRAMS["text"], "--resume", path)
        self.assertEqual(job.returncode, 1)
        self.assertIn(f"'{path}' is no checkpoint of such a run", job.stderr)

    def test_a_missing_or_damaged_file_is_named(self):
        job = jobs.run(self.ranks, PROGRAMS["text"], "--resume", self.path("nothing"))
        self.assertEqual(job.returncode, 1)
        self.assertIn(self.path("nothing"), job.stderr)
        damaged = self.path("damaged")
        with open(damaged, "wb") as file:
            file.write(b"\x10\0\0\0\0\0\0\0{")
        job = jobs.run(self.ranks, PROGRAMS["text"], "--resume", damaged)
        self.assertEqual(job.returncode, 1)
        self.assertIn(damaged, job.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
