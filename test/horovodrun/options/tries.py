# SPDX-License-Identifier: Apache-2.0
"""Every spelling of every option of Horovod 0.28 (horovod/runner/launch.py) and of torchrun
(torch/distributed/run.py of PyTorch 2.9), and its effect there as a user sees it."""

import re
from dataclasses import dataclass, field


@dataclass
class Sight:
    """What a user sees of a job: the variables of the ranks, the output and the files."""
    code: int
    variables: dict
    out: str
    err: str
    files: list


@dataclass
class Effect:
    words: str  # For the page.
    is_seen: object  # Called with the sight.


@dataclass
class Try:
    option: list
    effect: Effect
    command: list = field(default_factory=lambda: ["sh", "-c", "env; echo alas >&2"])
    # Options beside it.
    base: list = field(default_factory=lambda: ["--no-mpi", "-np", "1"])

    @property
    def name(self):
        return self.option[0]

    def words(self):
        return [*self.base, *self.option, *self.command]


def sets(setting):
    """The rank gets the variable."""
    name, _, value = setting.partition("=")
    return Effect(f"`{setting}`", lambda sight: sight.variables.get(name) == value)


def ranks(count):
    return Effect(f"ranks: {count}",
                  lambda sight: sight.variables.get("HOROVOD_SIZE") == str(count))


def shows(words, pattern):
    return Effect(words, lambda sight: re.search(pattern, sight.out + sight.err))


def writes(words, path):
    return Effect(words, lambda sight: path in sight.files)


def by_mpirun(sight):
    return "OMPI_COMM_WORLD_RANK" in sight.variables or "PMI_RANK" in sight.variables


RUNS = Effect("the job runs", lambda sight: "HOROVOD_SIZE" in sight.variables)
NONE = Effect("", lambda sight: False)
BY_MPI = ["--mpi", "-np", "1"]
BY_ITSELF = ["--no-mpi"]
LOGS = ["--log-dir", "logs"]


def flag(name, effect):
    return Try([name], effect)


def valued(text, effect=NONE, **more):
    return Try(text.split(" "), effect, **more)


HIDES = Effect("the files have it, the terminal does not", lambda sight: (
    "logs/rank.0/stderr" in sight.files and "alas" not in sight.err))
ABOUT = {"base": [], "command": []}

HOROVOD = [
    valued("-v", shows("the version", r"^horovodpp \d|^\d+\.\d+"), **ABOUT),
    valued("--version", shows("the version", r"^horovodpp \d|^\d+\.\d+"), **ABOUT),
    valued("-h", shows("the options", "--num-proc"), **ABOUT),
    valued("--help", shows("the options", "--num-proc"), **ABOUT),
    valued("-np 2", ranks(2), base=BY_ITSELF),
    valued("--num-proc 2", ranks(2), base=BY_ITSELF),
    valued("-cb", shows("the parts", "Available Controllers:"), **ABOUT),
    valued("--check-build", shows("the parts", "Available Controllers:"), **ABOUT),
    valued("--disable-cache"),
    valued("--start-timeout 40", sets("HOROVOD_START_TIMEOUT=40")),
    valued("--network-interfaces lo", sets("NCCL_SOCKET_IFNAME=lo")),
    valued("--network-interface lo", sets("NCCL_SOCKET_IFNAME=lo")),
    valued("--output-filename logs", writes("`logs/rank.0/stdout`", "logs/rank.0/stdout")),
    valued("--verbose", shows("the command", "(?m)^horovodrun: .* --agent ")),
    valued("--config-file options.yaml", sets("HOROVOD_CYCLE_TIME=7.5")),
    valued("-p 2222", sets("OMPI_MCA_plm_rsh_args=-p 2222")),
    valued("--ssh-port 2222", sets("OMPI_MCA_plm_rsh_args=-p 2222")),
    valued("-i key", sets("OMPI_MCA_plm_rsh_args=-i key")),
    valued("--ssh-identity-file key", sets("OMPI_MCA_plm_rsh_args=-i key")),
    valued("--fusion-threshold-mb 32", sets("HOROVOD_FUSION_THRESHOLD=33554432")),
    valued("--cycle-time-ms 3.5", sets("HOROVOD_CYCLE_TIME=3.5")),
    valued("--cache-capacity 2048", sets("HOROVOD_CACHE_CAPACITY=2048")),
    flag("--hierarchical-allreduce", sets("HOROVOD_HIERARCHICAL_ALLREDUCE=1")),
    flag("--no-hierarchical-allreduce", sets("HOROVOD_HIERARCHICAL_ALLREDUCE=0")),
    flag("--hierarchical-allgather", sets("HOROVOD_HIERARCHICAL_ALLGATHER=1")),
    flag("--no-hierarchical-allgather", sets("HOROVOD_HIERARCHICAL_ALLGATHER=0")),
    flag("--torus-allreduce", sets("HOROVOD_TORUS_ALLREDUCE=1")),
    flag("--no-torus-allreduce", sets("HOROVOD_TORUS_ALLREDUCE=0")),
    flag("--autotune", sets("HOROVOD_AUTOTUNE=1")),
    flag("--no-autotune", sets("HOROVOD_AUTOTUNE=0")),
    valued("--autotune-log-file f.csv", sets("HOROVOD_AUTOTUNE_LOG=f.csv")),
    valued("--autotune-warmup-samples 1", sets("HOROVOD_AUTOTUNE_WARMUP_SAMPLES=1")),
    valued("--autotune-steps-per-sample 2", sets("HOROVOD_AUTOTUNE_STEPS_PER_SAMPLE=2")),
    valued("--autotune-bayes-opt-max-samples 3",
           sets("HOROVOD_AUTOTUNE_BAYES_OPT_MAX_SAMPLES=3")),
    valued("--autotune-gaussian-process-noise 0.2",
           sets("HOROVOD_AUTOTUNE_GAUSSIAN_PROCESS_NOISE=0.2")),
    valued("--min-np 1", sets("HOROVODPP_ELASTIC=1")),
    valued("--min-num-proc 1", sets("HOROVODPP_ELASTIC=1")),
    valued("--max-np 4", sets("HOROVODPP_ELASTIC=4")),
    valued("--max-num-proc 4", sets("HOROVODPP_ELASTIC=4")),
    valued("--elastic-timeout 9", sets("HOROVODPP_ELASTIC=1")),
    valued("--reset-limit 9", sets("HOROVODPP_ELASTIC=1")),
    valued("--slots-per-host 3", ranks(3),
           base=["--no-mpi", "--host-discovery-script", "echo localhost"]),
    valued("--blacklist-cooldown-range 1 9", sets("HOROVODPP_ELASTIC=1")),
    valued("--timeline-filename t.json", sets("HOROVOD_TIMELINE=t.json")),
    flag("--timeline-mark-cycles", sets("HOROVOD_TIMELINE_MARK_CYCLES=1")),
    flag("--no-timeline-mark-cycles", sets("HOROVOD_TIMELINE_MARK_CYCLES=0")),
    flag("--no-stall-check", sets("HOROVOD_STALL_CHECK_DISABLE=1")),
    flag("--stall-check", sets("HOROVOD_STALL_CHECK_DISABLE=0")),
    valued("--stall-check-warning-time-seconds 10",
           sets("HOROVOD_STALL_CHECK_TIME_SECONDS=10")),
    valued("--stall-check-shutdown-time-seconds 20",
           sets("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS=20")),
    flag("--mpi-threads-disable", sets("HOROVOD_MPI_THREADS_DISABLE=1")),
    flag("--no-mpi-threads-disable", sets("HOROVOD_MPI_THREADS_DISABLE=0")),
    Try(["--mpi-args", "-x TRIED=1"], sets("TRIED=1"), base=BY_MPI),
    flag("--tcp", sets("NCCL_IB_DISABLE=1")),
    Try(["--binding-args", "--bind-to none"],
        shows("`mpirun` gets it", "(?m)^horovodrun: mpirun .* --bind-to none "),
        base=["--mpi", "-np", "1", "--verbose"]),
    valued("--num-nccl-streams 2", sets("HOROVOD_NUM_NCCL_STREAMS=2")),
    valued("--thread-affinity 1", sets("HOROVOD_THREAD_AFFINITY=1")),
    valued("--gloo-timeout-seconds 9", sets("HOROVOD_GLOO_TIMEOUT_SECONDS=9")),
    valued("--log-level DEBUG", sets("HOROVOD_LOG_LEVEL=DEBUG")),
    flag("--log-with-timestamp", sets("HOROVOD_LOG_HIDE_TIME=0")),
    flag("--log-without-timestamp", sets("HOROVOD_LOG_HIDE_TIME=1")),
    flag("--log-hide-timestamp", sets("HOROVOD_LOG_HIDE_TIME=1")),
    flag("--no-log-hide-timestamp", sets("HOROVOD_LOG_HIDE_TIME=0")),
    flag("-prefix-timestamp", shows("the time before each line", r"(?m)^.*\d:\d\d.*alas$")),
    flag("--prefix-output-with-timestamp",
         shows("the time before each line", r"(?m)^.*\d:\d\d.*alas$")),
    valued("-H localhost:2", ranks(2), base=BY_ITSELF),
    valued("--hosts localhost:2", ranks(2), base=BY_ITSELF),
    valued("-hostfile hosts", ranks(2), base=BY_ITSELF),
    valued("--hostfile hosts", ranks(2), base=BY_ITSELF),
    Try(["--host-discovery-script", "echo localhost:2"], sets("HOROVODPP_ELASTIC=2"),
        base=BY_ITSELF),
    Try(["--gloo"], Effect("ranks without MPI", lambda sight: (
        "HOROVOD_SIZE" in sight.variables and not by_mpirun(sight))), base=["-np", "1"]),
    Try(["--mpi"], Effect("ranks by `mpirun`", by_mpirun), base=["-np", "1"]),
    Try(["--jsrun"], NONE, base=["-np", "1"]),
]

TORCHRUN = [
    valued("-h", shows("the options", "--num-proc"), **ABOUT),
    valued("--help", shows("the options", "--num-proc"), **ABOUT),
    valued("--nnodes 1", RUNS), valued("--nnodes 1:1", RUNS), valued("--nnodes 2"),
    valued("--nproc-per-node 2", ranks(2), base=BY_ITSELF),
    valued("--nproc_per_node 2", ranks(2), base=BY_ITSELF),
    valued("--nproc-per-node cpu", RUNS, base=BY_ITSELF),
    valued("--nproc-per-node auto", RUNS, base=BY_ITSELF),
    valued("--rdzv-backend c10d"), valued("--rdzv-endpoint a:1"), valued("--rdzv-id 1"),
    valued("--rdzv-conf a=1"),
    flag("--standalone", RUNS),
    valued("--max-restarts 3", sets("HOROVODPP_RESTART_COUNT=0")),
    valued("--monitor-interval 5"), valued("--start-method fork"),
    valued("--event-log-handler null"), valued("--role trainer"),
    Try(["-m"], shows("`python3 -m` runs it", "usage: .*calendar"), ["calendar", "--help"]),
    Try(["--module"], shows("`python3 -m` runs it", "usage: .*calendar"),
        ["calendar", "--help"]),
    valued("--no-python"), valued("--run-path"),
    valued("--log-dir logs", writes("`logs/rank.0/stdout`", "logs/rank.0/stdout")),
    Try(["-r", "2"], HIDES, base=["--no-mpi", "-np", "1", *LOGS]),
    Try(["--redirects", "0:2"], HIDES, base=["--no-mpi", "-np", "1", *LOGS]),
    valued("-t 3"), valued("--tee 3"),
    Try(["--local-ranks-filter", "0"],
        Effect("one rank's output", lambda sight: sight.err.count("alas") == 1),
        base=["--no-mpi", "-np", "2"]),
    valued("--node-rank 0", RUNS), valued("--node-rank 1"),
    valued("--master-addr a"), valued("--master-port 29500"), valued("--local-addr a"),
    valued("--logs-specs a"), valued("--numa-binding node"),
    valued("--signals-to-handle SIGTERM"), valued("--shutdown-timeout 30", RUNS),
    valued("--duplicate-stdout-filters a"), valued("--duplicate-stderr-filters a"),
    flag("--virtual-local-rank", NONE),
]
