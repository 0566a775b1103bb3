"""Training that is killed and resumed ends with the same file, bit by bit, as
training that was left alone."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest

import jobs

PROGRAMS = {
    "fashion_mnist": os.environ["FASHION_MNIST"],
    "text": os.environ["TEXT"],
}
RANKS = 2
# A BLAS with other threads would add in another order.
os.environ["HOROVODPP_NUM_THREADS"] = "1"


def descendants(root):
    """The ids of all processes below `root`."""
    children = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as file:
                parent = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            continue  # Gone meanwhile.
        children.setdefault(parent, []).append(int(pid))
    found, todo = [], [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def runs(pid, program):
    try:
        return os.readlink(f"/proc/{pid}/exe") == os.path.realpath(program)
    except OSError:
        return False


def kill(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def version(path):
    """Which file of this name it is; None: there is none."""
    try:
        return os.stat(path).st_ino, os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return None


def contents(path):
    with open(path, "rb") as file:
        return file.read()


class Resume(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = lambda name: os.path.join(folder.name, name)

    def finish(self, program, *options):
        job = jobs.run(RANKS, PROGRAMS[program], *options, timeout=280)
        self.assertEqual((job.returncode, job.stderr), (0, ""))
        return job

    def run_and_kill(self, program, path, options, saves, whom):
        """Starts the job, and kills it once it has written `path` so often, or,
        for 0, while it writes: one rank, or all of the job at once."""
        # A job that was killed may have left one.
        old_partial = version(f"{path}.partial")
        job = subprocess.Popen(
            [jobs.HOROVODRUN, "-np", str(RANKS), PROGRAMS[program], *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        last = version(path)
        writes = saves == 0
        while saves > 0 or (
                writes and version(f"{path}.partial") in (None, old_partial)):
            os.sched_yield()  # To the job.
            self.assertIsNone(job.poll(), "the job ended before it was killed")
            if version(path) not in (None, last):
                last = version(path)
                saves -= 1
        below = descendants(job.pid)
        if whom == "a rank":
            ranks = [pid for pid in below if runs(pid, PROGRAMS[program])]
            self.assertEqual(len(ranks), RANKS)
            kill(ranks[:1])
        else:
            kill([job.pid, *below])
        self.assertNotEqual(job.wait(timeout=60), 0)
        # Orphans of the job, if any, hold the file that the next one writes.
        for pid in below:
            while runs(pid, PROGRAMS[program]):
                kill([pid])

    def hold(self, program, *options):
        whole, killed = self.path("whole"), self.path("killed")
        self.finish(program, *options, "--save", whole)
        saving = [*options, "--save", killed, "--save-every", "3"]
        self.run_and_kill(program, killed, saving, 2, "a rank")
        resuming = [*saving, "--resume", killed]
        self.run_and_kill(program, killed, resuming, 3, "all")
        self.run_and_kill(program, killed, resuming, 0, "all")
        self.run_and_kill(program, killed, resuming, 0, "a rank")
        self.assertNotEqual(contents(killed), contents(whole))
        self.finish(program, *resuming)
        self.assertEqual(contents(killed), contents(whole))

    def test_a_convolutional_network_with_augmentation(self):
        self.hold("fashion_mnist", "--model", "resnet18", "--width", "4",
                  "--augment", "--limit", "1600", "--batch-size", "16",
                  "--epochs", "2")

    def test_a_transformer_with_dropout(self):
        self.hold("text", "--width", "32", "--layers", "1", "--context", "32",
                  "--dropout", "0.1", "--epochs", "2", "--batch-size", "16",
                  "--sample-bytes", "20")

    def test_another_run_is_refused_by_name(self):
        path = self.path("checkpoint")
        options = ["--limit", "256", "--epochs", "1"]
        self.finish("fashion_mnist", *options, "--save", path)
        for other, name in ((["--seed", "7"], "seed"),
                            (["--batch-size", "32"], "batch-size"),
                            (["--model", "lenet"], "model")):
            job = jobs.run(RANKS, PROGRAMS["fashion_mnist"], *options, *other,
                           "--resume", path)
            self.assertEqual(job.returncode, 1)
            self.assertIn(f"is of a run with {name} ", job.stderr)

    def test_a_missing_or_damaged_file_is_named(self):
        job = jobs.run(RANKS, PROGRAMS["text"], "--resume", self.path("nothing"))
        self.assertEqual(job.returncode, 1)
        self.assertIn(self.path("nothing"), job.stderr)
        damaged = self.path("damaged")
        with open(damaged, "wb") as file:
            file.write(b"\x10\0\0\0\0\0\0\0{")
        job = jobs.run(RANKS, PROGRAMS["text"], "--resume", damaged)
        self.assertEqual(job.returncode, 1)
        self.assertIn(damaged, job.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main(verbosity=2))
