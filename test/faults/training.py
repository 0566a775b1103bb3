# SPDX-License-Identifier: Apache-2.0
"""Elastic trainings of the examples under horovodrun, and their ends."""
import dataclasses
import importlib.util
import os
import pathlib
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time

import leftovers

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS = 120  # A job that writes nothing for longer hangs.


@dataclasses.dataclass
class Training:
    program: list  # The beginning of a rank's command line.
    steps: int
    options: tuple = ()

    def command(self):
        return [*self.program, "--steps", str(self.steps), *self.options]


def trainings(build):
    """By model."""
    example = os.environ.get("ELASTIC_EXAMPLE", f"{build}/examples/cpp/elastic")
    script = str(ROOT / "examples" / "python" / "elastic.py")
    return {"mlp": Training([example, "--model", "mlp"], 6000),
            "gpt": Training([example, "--model", "gpt"], 1200),
            "resnet18": Training([sys.executable, script, "--model", "resnet18"], 150)}


def reason_against_torch(build):
    """Why trainings in Python cannot run; None if they can."""
    package = pathlib.Path(build, "bindings")
    if not list(package.glob("horovodpp/_core*.so")):
        return f"no Python package in {package}"
    if not importlib.util.find_spec("torch"):
        return f"no PyTorch for {sys.executable}"
    return None


def checksums_of(output):
    return set(re.findall(r"checksum (\w+)", output))


def checksum_of(output):
    """None unless ranks have written one, and the same."""
    found = checksums_of(output)
    return found.pop() if len(found) == 1 else None


def sizes_of(output):
    """The numbers of ranks that have trained, one after the other."""
    return [int(size) for size in re.findall(r"step \d+: (\d+) ranks", output)]


@dataclasses.dataclass
class End:
    """code: of horovodrun. hangs: the job had to be killed. left: processes and files, as texts."""
    code: int
    hangs: bool
    left: list
    output: str

    def has_weights(self, expected):
        return checksum_of(self.output) == expected

    def has_other_weights(self, expected):
        return bool(checksums_of(self.output) - {expected})

    def is_bad(self, expected):
        """Whether horovodrun's code shows a failure of the training.

        A rank that is killed after others have ended their training is no loss that the job could
        do without: horovodrun then names it, with the code of its signal.
        """
        return self.code != 0 and not (self.code == 128 + signal.SIGKILL
                                       and self.has_weights(expected))

    def faults(self, expected):
        """As texts."""
        found = []
        if self.hangs:
            found.append(f"has written nothing for {SECONDS} s")
        elif self.is_bad(expected):
            found.append(f"ended with {self.code}")
        if not self.has_weights(expected):
            found.append(f"has the checksum {checksum_of(self.output)}, and not {expected}")
        return found + self.left


class Job:
    """A training under horovodrun, with snapshots.

    options: of horovodrun. folders: leftovers.Folders; the job's files are in them.
    """

    def __init__(self, training, options, folders, build):
        self._program = training.program
        self._folders = folders
        self._mark = secrets.token_hex(8)
        self._snapshots = tempfile.mkdtemp(dir=folders.base)
        self._output = pathlib.Path(folders.base, "output")
        path = os.pathsep.join([f"{build}/bindings", *filter(None, [os.environ.get("PYTHONPATH")])])
        with open(self._output, "wb") as output:
            self._process = subprocess.Popen(
                [*folders.prefix(), horovodrun(build), *options, *training.command(),
                 "--snapshots", self._snapshots],
                env={**os.environ, **folders.environment(), leftovers.MARK: self._mark,
                     "PYTHONPATH": path, "PYTHONFAULTHANDLER": "1"},
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)

    def runs(self):
        """Whether the job has not ended, and does not hang."""
        return (self._process.poll() is None
                and time.time() - self._output.stat().st_mtime < SECONDS)

    def trains(self):
        """Whether no rank has ended its training.

        A rank that is killed later has left the job, and is no loss that others could replace.
        """
        return self.runs() and "checksum" not in self._text()

    def ranks(self):
        """The process ids, also of newcomers; the oldest first."""
        begin = len(self._program)
        return sorted(pid for pid in leftovers.marked(self._mark)
                      if leftovers.words_of(pid)[:begin] == self._program)

    def sizes(self):
        return sizes_of(self._text())

    def _text(self):
        return self._output.read_text(errors="replace")

    def finish(self):
        """Waits for the end. Kills a job that hangs, after its ranks have written their stacks."""
        while self.runs():
            time.sleep(0.05)
        hangs = self._process.poll() is None
        if hangs:
            ranks = self.ranks()
            for pid in ranks:
                hit(pid, signal.SIGABRT)
            leftovers.still_there(lambda: [pid for pid in self.ranks() if pid in ranks], 10)
            leftovers.end(leftovers.marked(self._mark))
        code = self._process.wait()
        left = leftovers.still_there(lambda: leftovers.marked(self._mark), 10)
        left = [*map(leftovers.describe, left), *self._folders.files()]
        partial = [name for name in os.listdir(self._snapshots) if "partial" in name]
        # A job that ends while one is written does not come to remove it.
        if len(partial) > 1:
            left.append(f"left {partial}")
        return End(code, hangs, left, self._text())


def horovodrun(build):
    return os.environ.get("HOROVODRUN", f"{build}/horovodrun/horovodrun")


def undisturbed(training, build):
    """The checksum that one rank ends with."""
    with leftovers.Folders(private=False) as folders:
        end = Job(training, ["-np", "1", "--no-mpi"], folders, build).finish()
    if end.code != 0:
        raise RuntimeError(f"a training without faults ended with {end.code}:\n{end.output}")
    return checksum_of(end.output)


def hit(pid, number=signal.SIGKILL):
    """Sends a signal. Returns whether the process was there."""
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True
