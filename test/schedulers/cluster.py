# SPDX-License-Identifier: Apache-2.0
"""A cluster of Slurm on this machine: munged, slurmctld and a slurmd for each node, with their own
configuration, key, ports and folders.

A node is a name of this machine, in a UTS namespace of its own (which root may make). Without
that permission the cluster has one node. The daemons are children of this process, and end with
it."""

import ctypes
import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sbatch", "scancel", "squeue", "sinfo",
            "scontrol")
PATH = f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin"
PR_SET_PDEATHSIG = 1
# Seconds for daemons to start, and for jobs to end.
TIMEOUT = 120

CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmctldPort={ports[0]}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SchedulerParameters=batch_sched_delay=0,sched_min_interval=1000,sched_interval=1
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=3
ReturnToService=2
"""


class Unavailable(Exception):
    """Slurm cannot be started here, and why."""


def end_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def wait_until(holds, what):
    deadline = time.monotonic() + TIMEOUT
    while not (found := holds()):
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {TIMEOUT} s until {what}")
        time.sleep(0.05)
    return found


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def may_name_nodes():
    return subprocess.run(["unshare", "--uts", "hostname", "node1"],
                          capture_output=True).returncode == 0


class Cluster:
    def __init__(self):
        missing = [name for name in PROGRAMS if not shutil.which(name, path=PATH)]
        if missing:
            raise Unavailable(f"not installed: {' '.join(missing)} (apt install slurmctld slurmd "
                              "slurm-client munge)")
        self.daemons = []
        self.nodes = ["node1", "node2"] if may_name_nodes() else ["node1"]
        # Its path must be short enough for the name of a socket.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hvd-slurm-", dir="/var/tmp"))
        self.folder.chmod(0o755)
        self.environment = {**os.environ, "PATH": PATH,
                            "HOROVOD_START_TIMEOUT": "90",
                            "SLURM_CONF": str(self.folder / "slurm.conf")}
        self.environment.pop("HOROVOD_SIZE", None)

    def __enter__(self):
        try:
            self.start()
        except (OSError, TimeoutError) as error:
            logs = "".join(f"\n{log.name}: {log.read_text(errors='replace')[-600:]}"
                           for log in sorted(self.folder.glob("*.log")))
            self.stop()
            raise Unavailable(f"its daemons do not start: {error}{logs}") from error
        return self

    def __exit__(self, *_):
        self.run("scancel", "--signal=KILL", "--state=RUNNING", f"--user={os.getuid()}")
        self.run("scancel", f"--user={os.getuid()}")
        try:
            wait_until(lambda: not self.run("squeue", "--noheader").stdout, "all jobs have ended")
        except TimeoutError:
            pass  # The test has its result; the daemons end in any case.
        self.stop()

    def start(self):
        ports = free_ports(1 + len(self.nodes))
        for name in ["state", *(f"spool-{node}" for node in self.nodes)]:
            (self.folder / name).mkdir()
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        text = CONFIGURATION.format(host=socket.gethostname(), folder=self.folder, ports=ports,
                                    user=subprocess.check_output(["id", "-un"], text=True).strip())
        for node, port in zip(self.nodes, ports[1:]):
            named = "" if len(self.nodes) > 1 else f" NodeHostname={socket.gethostname()}"
            text += f"NodeName={node}{named} NodeAddr=127.0.0.1 Port={port} CPUs=8\n"
        text += "PartitionName=test Nodes=ALL Default=YES State=UP\n"
        (self.folder / "slurm.conf").write_text(text)
        self.daemon("munged", "--foreground", "--force", f"--key-file={key}",
                    f"--socket={self.folder}/munge.sock", f"--pid-file={self.folder}/munged.pid",
                    f"--seed-file={self.folder}/munge.seed", f"--log-file={self.folder}/munged.log")
        wait_until((self.folder / "munge.sock").exists, "munged listens")
        self.daemon("slurmctld", "-D")
        for node in self.nodes:
            rename = (["unshare", "--uts", "sh", "-c", 'hostname "$0" && exec "$@"', node]
                      if len(self.nodes) > 1 else [])
            self.daemon(*rename, "slurmd", "-D", "-N", node)
        wait_until(lambda: self.run("sinfo", "-h", "-N", "-t", "idle").stdout.count("node") ==
                   len(self.nodes), "the nodes are idle")

    def daemon(self, *words):
        log = open(self.folder / f"{words[0]}.out", "w")
        self.daemons.append(subprocess.Popen(
            words, env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=end_with_parent))

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def run(self, *words, timeout=60, environment=None):
        """The finished command: returncode, stdout, stderr."""
        return subprocess.run(words, env={**self.environment, **(environment or {})}, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
                              cwd=self.folder)

    def submit(self, script, *options, environment=None):
        """The job of a script of sbatch."""
        job = Job(self)
        job.script.write_text(script)
        done = self.run("sbatch", "--parsable", f"--output={job.output}", "--open-mode=append",
                        *options, str(job.script), environment=environment)
        if done.returncode != 0:
            raise RuntimeError(f"sbatch: {done.stderr}")
        job.id = done.stdout.strip()
        return job


class Job:
    def __init__(self, cluster):
        self.cluster = cluster
        base = cluster.folder / f"job-{secrets.token_hex(4)}"
        self.script = base.with_suffix(".sh")
        self.output = base.with_suffix(".out")
        self.id = ""

    def text(self):
        return self.output.read_text(errors="replace") if self.output.exists() else ""

    def field(self, name):
        shown = self.cluster.run("scontrol", "show", "job", self.id).stdout
        for word in shown.split():
            if word.startswith(f"{name}="):
                return word[len(name) + 1:]
        return ""

    def requeue(self):
        """Starts the job again at once: Slurm waits for two minutes otherwise."""
        done = self.cluster.run("scontrol", "requeue", self.id)
        if done.returncode != 0:
            raise RuntimeError(f"scontrol requeue: {done.stderr}")
        wait_until(lambda: self.field("JobState") == "PENDING", "the job is requeued")
        self.cluster.run("scontrol", "update", f"JobId={self.id}", "StartTime=now")

    def wait(self, ends=("COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL")):
        """Its state after its end, one of `ends`."""
        return wait_until(lambda: (state := self.field("JobState")) in ends and state,
                          f"job {self.id} has ended; its output: {self.text()}")
