# SPDX-License-Identifier: Apache-2.0
"""Starts the contenders of compare_with_peers.py, each as its users would, and reads the
measurements of their ranks."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from rows import HELLO

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent.parent / "faults"))
import hosts as hosts_of_this_machine  # noqa: E402
import leftovers  # noqa: E402

CORES = len(os.sched_getaffinity(0))


class Contender:
    """A contender by name; `missing` says why it cannot be measured."""

    def __init__(self, name, missing="", environment=None):
        self.name = name
        self.missing = missing
        self.environment = environment or {}

    # Whether each row has its own job, so that rows do not affect each other.
    starts_anew = False

    def work_of(self, row):
        return row.peers

    def commands(self, setting, pair, words):
        """The processes of a job: command lines and additional environment variables."""
        raise NotImplementedError


class Own(Contender):
    starts_anew = True

    def __init__(self, build):
        super().__init__("horovodpp")
        self.launcher = build / "horovodrun" / "horovodrun"
        self.program = build / "test" / "benchmark" / "own_peer"
        if not self.launcher.exists() or not self.program.exists():
            raise SystemExit(f"{build} has no horovodrun or own_peer; build both: cmake "
                             f"--build {build} --target horovodrun own_peer mpi_peer")

    def work_of(self, row):
        return row.own

    def commands(self, setting, pair, words):
        where = pair.options(setting.ranks) if pair else []
        options = [word for word in words if word.startswith("--")]
        words = [word for word in words if word not in options]
        yield [self.launcher, *options, "-np", str(setting.ranks), *where, self.program,
               *words], {}


class Mpi(Contender):
    """`settings`: of Open MPI, by name."""

    def __init__(self, build, name, settings):
        super().__init__(name, environment={
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            **{f"OMPI_MCA_{setting}": value for setting, value in settings.items()}})
        self.program = build / "test" / "benchmark" / "mpi_peer"

    def commands(self, setting, pair, words):
        where = pair.options(setting.ranks) if pair else ["--oversubscribe"]
        passed = [word for name in self.environment for word in ("-x", name)] if pair else []
        # Both hosts are this machine, and each would bind its first rank to the same core.
        where += ["--bind-to", "none"] if pair else []
        yield ["mpirun", "-np", str(setting.ranks), *where, *passed, self.program, *words], {}


class Gloo(Contender):
    def __init__(self, python):
        super().__init__("gloo", why_not(python, "import torch.distributed as d; "
                                         "assert d.is_gloo_available(), 'torch lacks gloo'"))
        self.python = python

    def commands(self, setting, pair, words):
        address = pair.hosts[0].address if pair else "127.0.0.1"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        for rank in range(setting.ranks):
            command = [self.python, HERE / "python_peer.py", "gloo", *words]
            wire = "lo"
            if pair:
                host = pair.host_of(rank, setting.ranks)
                command, wire = host.within(*map(str, command)), host.wire
            yield command, {"RANK": str(rank), "WORLD_SIZE": str(setting.ranks),
                            "MASTER_ADDR": address, "MASTER_PORT": str(port),
                            "GLOO_SOCKET_IFNAME": wire}


class Horovod(Contender):
    def __init__(self, python):
        # Small tensors gain from a shorter cycle than the default of 1 ms.
        super().__init__("Horovod", why_not(python, "import horovod.torch"),
                         {"HOROVOD_CYCLE_TIME": "0.1"})
        self.python = python

    def commands(self, setting, pair, words):
        where = pair.options(setting.ranks) if pair else []
        yield [self.python, "-m", "horovod.runner.launch", "-np", str(setting.ranks), *where,
               self.python, HERE / "python_peer.py", "horovod", *words], {}


def why_not(python, statement):
    """Why this Python cannot run the library; empty if it can."""
    if not python:
        return "no Python was given"
    try:
        tried = subprocess.run([python, "-c", statement], capture_output=True, text=True)
    except OSError as error:
        return f"{python}: {error.strerror}"
    if tried.returncode == 0:
        return ""
    return (tried.stderr.strip().splitlines() or [f"{python} failed"])[-1]


def contenders(build, torch_python, horovod_python):
    copies = {"btl_vader_single_copy_mechanism": "none"}
    direct = {"btl_vader_single_copy_mechanism": "cma"}
    return [Own(build), Mpi(build, "MPI", copies), Mpi(build, "MPI, CMA", direct),
            Gloo(torch_python), Horovod(horovod_python)]


def is_mpi(contender_name):
    return contender_name.startswith("MPI")


@contextlib.contextmanager
def hosts_of(settings):
    """The network namespaces of each setting's hosts (None: only this host), or the reason
    why a setting has none."""
    hosts = dict.fromkeys(settings)
    against = hosts_of_this_machine.reason_against()
    with contextlib.ExitStack() as stack:
        folders = stack.enter_context(leftovers.Folders(private=False))
        for setting in settings:
            if setting.hosts > 1:
                hosts[setting] = against or stack.enter_context(
                    hosts_of_this_machine.Hosts(folders, setting.hosts, setting.rate))
        yield hosts


class Job:
    """One job, from start to end."""

    def __init__(self, contender, setting, pair, timeout):
        self.contender = contender
        self.setting = setting
        self.pair = pair
        self.timeout = timeout
        self.failure = ""

    def start(self, words):
        variables = {**os.environ, **self.contender.environment}
        if self.pair:
            variables |= self.pair.environment()
            # Tests of failures set this as short as possible; measurements must not.
            del variables["HOROVODPP_HEARTBEAT_SECONDS"]
        if self.setting.ranks > CORES:
            variables["OMPI_MCA_mpi_yield_when_idle"] = "1"
        for command, added in self.contender.commands(self.setting, self.pair, words):
            command = list(map(str, command))
            if self.pair and command[0] != "ip":
                command = self.pair.hosts[0].within(*command)
            yield subprocess.Popen(command, env={**variables, **added}, text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, start_new_session=True)

    def run(self, words):
        processes = list(self.start(words))
        deadline = time.monotonic() + self.timeout
        for process in processes:
            try:
                _, errors = process.communicate(timeout=max(0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.failure = f"not done in {self.timeout:g} s"
                break
            if process.returncode != 0:
                last = (errors.strip().splitlines() or [""])[-1]
                self.failure = f"exit {process.returncode}: {last}"
                break
        for process in processes:
            self.end(process)

    @staticmethod
    def end(process):
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.poll() is None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, number)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)
        process.stderr.close()


def combine(ranks, is_first):
    """Combines the ranks' measurements of one work, in µs: the median of the samples, each
    that of the slowest rank. None if the program does not know the work."""
    if is_first:
        first = max(rank["first_us"] for rank in ranks)
        return first if any(rank["us"] for rank in ranks) else None
    samples = list(zip(*(rank["us"] for rank in ranks)))
    return statistics.median(map(max, samples)) if samples else None


def measure(job, rows, seconds):
    """Microseconds by row, or a reason why a row has none."""
    if rows[0].peers == HELLO:
        start = time.monotonic()
        job.run(job.contender.work_of(rows[0]).split()[1:])
        took = (time.monotonic() - start) * 1e6
        return {row: job.failure or took for row in rows}
    works = list(dict.fromkeys(work for row in rows for work in works_of(job.contender, row)))
    with tempfile.TemporaryDirectory(prefix="hvd-peers-") as folder:
        job.run([folder, str(seconds), *works])
        files = [pathlib.Path(folder, f"{rank}.json") for rank in range(job.setting.ranks)]
        ranks = [json.loads(file.read_text()) if file.exists() else {} for file in files]
    found = {}
    for row in rows:
        work = job.contender.work_of(row)
        found[row] = value_of(job, ranks, work, row.is_first)
        if row.memcpy and is_mpi(job.contender.name):
            found[row.memcpy] = value_of(job, ranks, row.memcpy, False)
    return found


def works_of(contender, row):
    yield contender.work_of(row)
    if row.memcpy and is_mpi(contender.name):
        yield row.memcpy


def value_of(job, ranks, work, is_first):
    if not all(work in rank for rank in ranks):
        return job.failure or "not measured"
    us = combine([rank[work] for rank in ranks], is_first)
    return us if us is not None else "no such call"
