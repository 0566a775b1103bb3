# SPDX-License-Identifier: Apache-2.0
"""One job under horovodrun: starts it, watches it, and records its outcome."""

import contextlib
import json
import os
import re
import resource
import secrets
import select
import signal
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass, field

import leftovers

# Becomes the program that its arguments name.
WITH_A_CHILD = ("sh", "-c", 'sleep 1000 & exec "$0" "$@"')

# Set to end the program: running jobs are cut short.
STOP = threading.Event()


@dataclass
class Programs:
    horovodrun: str
    fault_program: list  # The command of a rank.
    cache: str  # Keeps the machine's measurements from job to job.


@dataclass
class Outcome:
    """The outcome of a job; times are monotonic seconds."""
    ranks: int
    second_host: list = field(default_factory=list)  # Its name and address.
    events: list = field(default_factory=list)  # As fault_program.cc writes them.
    rank_ends: dict = field(default_factory=dict)  # End times by pid.
    fault_at: float = 0
    fault_pids: dict = field(default_factory=dict)  # Processes that the injector hit, by name.
    ended_at: float = 0  # The end of horovodrun.
    returncode: int | None = None  # None: it had to be killed.
    stdout: str = ""
    stderr: str = ""
    processes: list = field(default_factory=list)  # Descriptions of leftovers.
    files: list = field(default_factory=list)

    def of(self, event):
        """The first event of this kind, by rank."""
        found = {}
        for one in self.events:
            if one["event"] == event:
                found.setdefault(one["rank"], one)
        return found

    def last_words(self, rank):
        """The message of a rank that ended itself, because its program could not get an error.
        Counts as an error at the time of the rank's end."""
        said = re.search(rf"(?m)\[{rank}\]: (.*); MPI does not return .* and ends$",
                         self.stderr)
        started = self.of("started").get(rank)
        if not said or not started or started["pid"] not in self.rank_ends:
            return None
        return {**started, "event": "error", "text": said[1],
                "ns": self.rank_ends[started["pid"]] * 1e9}

    def was_ended_by_mpi(self):
        """Whether Open MPI 4.1.4 ended a rank before the rank could have an error: it exits with
        code 255 if it cannot write to a rank of another host that has just died."""
        return bool(re.search(r"pml_ob1_\w+\.c:\d+ FATAL", self.stderr))

    def last_line(self):
        lines = self.stderr.strip().splitlines()
        return lines[-1] if lines else ""


class Job:
    """`folders`: where the job may leave files. `hosts`, if any: where the job runs.

    launcher: options of horovodrun. children: each rank has a child that sleeps."""

    def __init__(self, programs, folders, ranks, options, environment=None, hosts=None,
                 timeout=40, launcher=(), children=False):
        self.outcome = Outcome(ranks)
        self.mark = secrets.token_hex(8)
        self.deadline = time.monotonic() + timeout
        self.folders = folders
        self.hosts = hosts
        if hosts:
            other = hosts.hosts[1]
            self.outcome.second_host = [other.name, other.address]
        # The pipe lies beside /tmp, which the job may not see.
        self.pipe_path = os.path.join(self.folders.base, "events")
        os.mkfifo(self.pipe_path)
        self.pipe = os.open(self.pipe_path, os.O_RDWR | os.O_NONBLOCK)
        self.unread = b""
        self.pidfds = {}
        self.streams = [tempfile.TemporaryFile("w+", dir=self.folders.base,
                                               errors="replace") for _ in range(2)]
        variables = {**os.environ, **self.folders.environment(),
                     "HOROVODPP_CACHE_DIR": programs.cache,
                     **(hosts.environment() if hosts else {}), **(environment or {}),
                     leftovers.MARK: self.mark}
        command = [*self.folders.prefix(), programs.horovodrun, "-np", str(ranks),
                   *(hosts.options(ranks) if hosts else ()),
                   *launcher, *(WITH_A_CHILD if children else ()), *programs.fault_program,
                   self.pipe_path,
                   *(f"{name}={value}" for name, value in options.items())]
        # This process becomes horovodrun without a fork in between.
        self.process = subprocess.Popen(
            hosts.hosts[0].within(*command) if hosts else command,
            stdin=subprocess.DEVNULL, stdout=self.streams[0], stderr=self.streams[1],
            env=variables, start_new_session=True, preexec_fn=as_from_a_terminal)
        self.pidfd = os.pidfd_open(self.process.pid)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end_all()
        for descriptor in (self.pipe, self.pidfd, *self.pidfds.values()):
            os.close(descriptor)
        for stream in self.streams:
            stream.close()

    def processes(self):
        pids = set(leftovers.marked(self.mark))
        return sorted(pids.union(self.hosts.processes() if self.hosts else ()))

    def end_all(self):
        self.process.kill()
        leftovers.end(self.processes())
        self.process.wait()

    def ended(self):
        return self.outcome.ended_at > 0

    def over(self):
        return self.ended() or STOP.is_set() or time.monotonic() > self.deadline

    def wait_for(self, event, count):
        """False if the job ended, or the timeout passed, before that many ranks reported it."""
        while len(self.outcome.of(event)) < count and not self.over():
            self.look(self.deadline)
        return len(self.outcome.of(event)) >= count

    def pause(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end and not self.over():
            self.look(end)

    def look(self, until):
        """Sleeps until an event, and records it."""
        poll = select.poll()
        poll.register(self.pipe, select.POLLIN)
        poll.register(self.pidfd, select.POLLIN)
        by_descriptor = {}
        for pid, descriptor in self.pidfds.items():
            if pid not in self.outcome.rank_ends:
                poll.register(descriptor, select.POLLIN)
                by_descriptor[descriptor] = pid
        wait = min(until, self.deadline, time.monotonic() + 1) - time.monotonic()
        ready = poll.poll(1000 * max(0, wait) + 1)
        now = time.monotonic()
        for descriptor, _ in ready:
            if descriptor == self.pipe:
                self.read_events()
            elif descriptor == self.pidfd:
                self.outcome.ended_at = self.outcome.ended_at or now
            else:
                self.outcome.rank_ends[by_descriptor[descriptor]] = now

    def read_events(self):
        try:
            self.unread += os.read(self.pipe, 1 << 16)
        except BlockingIOError:
            return
        *lines, self.unread = self.unread.split(b"\n")
        for line in lines:
            event = json.loads(line)
            self.outcome.events.append(event)
            if event["pid"] not in self.pidfds:
                try:
                    self.pidfds[event["pid"]] = os.pidfd_open(event["pid"])
                except ProcessLookupError:
                    self.outcome.rank_ends.setdefault(event["pid"], time.monotonic())

    def finish(self, settles_in=1):
        """Waits for the end of horovodrun; anything that still exists then is left over."""
        while not self.over():
            self.look(self.deadline)
        if self.ended():
            self.outcome.returncode = self.process.wait()
        # Reads everything that is ready, without waiting.
        self.look(0)
        self.read_events()
        if self.ended():
            left = leftovers.still_there(self.processes, settles_in)
            self.outcome.processes = list(map(leftovers.describe, left))
            self.outcome.files = self.folders.files()
        self.end_all()
        self.outcome.stdout, self.outcome.stderr = map(self.read_stream, self.streams)
        return self.outcome

    @staticmethod
    def read_stream(stream):
        stream.seek(0)
        return stream.read()

    # The processes above a rank.

    def pid_of(self, rank):
        return self.outcome.of("started")[rank]["pid"]

    def supervisor_of(self, rank):
        return parent(self.pid_of(rank))

    def agent_of(self, rank):
        return parent(self.supervisor_of(rank))

    def daemon_of(self, rank):
        """The orted of the rank's host, or mpirun itself."""
        return parent(self.agent_of(rank))

    def child_of(self, rank):
        return children(self.pid_of(rank))[0]

    def starter(self):
        """mpirun, or the horovodrun that starts the ranks."""
        return children(self.process.pid)[0]

    def running(self, subcommand):
        """The process of the job that is horovodrun with this subcommand."""
        return next(pid for pid in leftovers.marked(self.mark)
                    if leftovers.words_of(pid)[1:2] == [subcommand])

    def ssh(self):
        """The ssh to the other host."""
        return next(pid for pid in leftovers.marked(self.mark)
                    if os.path.basename(leftovers.words_of(pid)[0]) == "ssh")

    def hit(self, pids, number, name=""):
        """Sends a signal to existing processes, and records the moment."""
        pids = list(pids)
        self.outcome.fault_pids[name or signal.Signals(number).name] = pids
        self.outcome.fault_at = self.outcome.fault_at or time.monotonic()
        for pid in pids:
            # The first victim's end may have ended the second one.
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def as_from_a_terminal():
    """In the child: restores signals that nohup or a background shell has ignored."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def parent(pid):
    with open(f"/proc/{pid}/stat") as fields:
        return int(fields.read().rpartition(")")[2].split()[1])


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as pids:
        return list(map(int, pids.read().split()))
