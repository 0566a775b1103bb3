#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a rank of a training with torch, and measures how long the others need to go on.

  scripts/compare_recovery.py build/dev --torch-python PYTHON [--jobs 10]
  scripts/compare_recovery.py build/dev --kills 1000 [--spares 1] [--model gpt] [--two-hosts]

Three ranks on this host train a small model. One gets SIGKILL in mid-training. Each system restores
the training in its own way, in turns:

  horovodpp, steps      hvd.elastic.run and TorchState.end_step(); the survivors go on
  horovodpp, replaced   the same with --max-np: a new process takes the place of the lost one
  torchelastic          torchrun --max-restarts, DDP with gloo; all ranks start again, from a
                        checkpoint that rank 0 writes every 50 steps

Prints for each how often it went on, the median and the largest time from the kill to the next step
that is complete on a rank, until all ranks are there again, and the steps that were made twice.

With --kills, ranks of one job of examples/cpp/elastic are killed one after another, each time after
all ranks are there again. The weights at the end must be those of a job without a kill. --two-hosts:
two ranks each on two hosts, which are network namespaces of this machine; needs root.
"""
import argparse
import contextlib
import itertools
import os
import pathlib
import random
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

RANKS = 3
STEPS = 600
SYSTEMS = ("horovodpp, steps", "horovodpp, replaced", "torchelastic")


def note(folder, step, ranks):
    """Called by a rank after each step."""
    with open(folder / f"steps.{os.getpid()}", "a", encoding="ascii") as file:
        file.write(f"{time.monotonic()} {step} {ranks}\n")


def model_and_batch():
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(),
                                torch.nn.Linear(512, 10))
    return model, torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9), torch.rand(64, 256)


def train_here(folder):
    import horovodpp.torch as hvd
    hvd.init()
    model, sgd, batch = model_and_batch()
    optimizer = hvd.DistributedOptimizer(sgd, model.named_parameters())
    state = hvd.elastic.TorchState(model, optimizer, step=0)

    @hvd.elastic.run
    def train(state):
        while state.step < STEPS:
            optimizer.zero_grad()
            model(batch).square().mean().backward()
            optimizer.step()
            state.step += 1
            note(folder, state.step, hvd.size())
            state.end_step()

    train(state)


def train_with_ddp(folder):
    import torch
    torch.distributed.init_process_group("gloo")
    model, optimizer, batch = model_and_batch()
    kept = folder / "checkpoint.pt"
    step = 0
    if kept.exists():
        step, weights, moments = torch.load(kept, weights_only=True)
        model.load_state_dict(weights)
        optimizer.load_state_dict(moments)
    ddp = torch.nn.parallel.DistributedDataParallel(model)
    while step < STEPS:
        optimizer.zero_grad()
        ddp(batch).square().mean().backward()
        optimizer.step()
        step += 1
        note(folder, step, torch.distributed.get_world_size())
        if step % 50 == 0 and torch.distributed.get_rank() == 0:
            torch.save((step, model.state_dict(), optimizer.state_dict()), f"{kept}.new")
            os.replace(f"{kept}.new", kept)


def command(system, arguments, folder):
    python = arguments.torch_python
    worker = [__file__, "--worker", str(folder)]
    if system == "torchelastic":
        return [python, "-m", "torch.distributed.run", "--nproc-per-node", str(RANKS),
                "--max-restarts", "3", "--monitor-interval", "0.1", "--standalone", *worker, "ddp"]
    launcher = str(arguments.build / "horovodrun" / "horovodrun")
    how = ["--max-np", str(RANKS), "--min-np", "1"] if "replaced" in system else ["--no-mpi"]
    return [launcher, "-np", str(RANKS), *how, python, *worker, "here"]


def steps_in(folder):
    """(time, step, ranks, pid) of all steps, by time."""
    rows = []
    for file in folder.glob("steps.*"):
        for line in file.read_text().splitlines():
            fields = line.split()
            if len(fields) == 3:
                rows.append((float(fields[0]), int(fields[1]), int(fields[2]),
                             int(file.suffix[1:])))
    return sorted(rows)


def trial(system, arguments, chance):
    """Seconds until the next step, until all ranks are back (None: never), and repeated steps.

    None if the training does not go on.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        environment = {**os.environ, "PYTHONPATH": str(arguments.build / "bindings"),
                       "OMP_NUM_THREADS": "1"}
        with subprocess.Popen(command(system, arguments, folder), env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as job:
            while len({row[3] for row in steps_in(folder)}) < RANKS or \
                    steps_in(folder)[-1][1] < 120:
                if job.poll() is not None:
                    sys.exit(f"{system} ended early:\n{job.stderr.read().decode()}")
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.1))
            victim = chance.choice(sorted({row[3] for row in steps_in(folder)}))
            killed = time.monotonic()
            os.kill(victim, signal.SIGKILL)
            job.stderr.read()
            job.wait()
        rows = steps_in(folder)
        before = max(row[1] for row in rows if row[0] <= killed)
        # A survivor may still end the step in which the victim died.
        after = [row for row in rows if row[0] > killed and row[3] != victim and
                 (row[2] < RANKS or row[3] not in {r[3] for r in rows if r[0] <= killed})]
        if not after:
            return None
        whole = [row[0] for row in rows if row[0] > after[0][0] and row[2] == RANKS]
        return (after[0][0] - killed, whole[0] - killed if whole else None,
                max(0, before - after[0][1] + 1))


class StepLogs:
    """Follows the files of steps while they are written."""

    def __init__(self, folder):
        self._folder = folder
        self._read = {}  # Bytes of each file.
        self.last = {}  # (time, step, ranks) of each process.

    def follow(self):
        """The new steps as (time, step, ranks, pid)."""
        rows = []
        for file in self._folder.glob("steps.*"):
            pid = int(file.suffix[1:])
            with open(file, "rb") as lines:
                lines.seek(self._read.get(pid, 0))
                text = lines.read()
            whole = text[:text.rfind(b"\n") + 1]
            self._read[pid] = self._read.get(pid, 0) + len(whole)
            for line in whole.splitlines():
                when, step, ranks = line.split()
                rows.append((float(when), int(step), int(ranks), pid))
                self.last[pid] = rows[-1][:3]
        return rows


def quantiles(seconds):
    ordered = sorted(1e3 * value for value in seconds)
    at = [ordered[int(share * (len(ordered) - 1))] for share in (0.5, 0.99, 1)]
    return " | ".join(f"{value:.1f}" for value in at)


def checksums_of(output):
    return set(re.findall(r"checksum (\w+)", output))


@contextlib.contextmanager
def one_host():
    yield [], ["-np", str(RANKS)], os.environ, RANKS


@contextlib.contextmanager
def two_hosts():
    sys.path.append(str(pathlib.Path(__file__).parent.parent / "test" / "horovodrun" / "hosts"))
    import network
    with network.Network("ab") as net:
        yield (net["a"].within(), ["-np", "4", "-H", "a:2,b:2"], {**os.environ, **net.shell()}, 4)


def kill_one_after_another(arguments, chance):
    with two_hosts() if arguments.two_hosts else one_host() as place:
        return kill_ranks(arguments, chance, *place)


def kill_ranks(arguments, chance, prefix, hosts, environment, size):
    program = [str(arguments.build / "examples" / "cpp" / "elastic"), "--model", arguments.model]
    launcher = str(arguments.build / "horovodrun" / "horovodrun")
    nexts, wholes, steps = [], [], []
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        folder = pathlib.Path(name)
        logs = StepLogs(folder)
        job = subprocess.Popen(
            [*prefix, launcher, *hosts, "--min-np", "1", "--max-np", str(size), "--spares",
             str(arguments.spares), *program, "--steps", str(arguments.steps), "--log",
             f"{folder}/steps."], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True)
        while job.poll() is None and len(nexts) < arguments.kills:
            # All ranks are there.
            recent = {}
            while len(recent) < size and job.poll() is None:
                rows = logs.follow()
                recent.update((pid, when) for when, _, ranks, pid in rows if ranks == size)
                if wholes and wholes[-1] is None and recent:
                    wholes[-1] = min(recent.values()) - killed
                time.sleep(0.001)
            if len(recent) < size:
                break  # The job has ended.
            time.sleep(chance.uniform(0, 0.05))
            steps += [b[0] - a[0] for a, b in itertools.pairwise(
                row for row in logs.follow() if row[3] == min(recent))]
            victim = chance.choice(sorted(recent))
            killed = time.monotonic()
            os.kill(victim, signal.SIGKILL)
            after = None
            while after is None and job.poll() is None:
                after = next((when for when, _, ranks, pid in logs.follow()
                              if when > killed and ranks < size), None)
                time.sleep(0.0005)
            if after is not None:
                nexts.append(after - killed)
                wholes.append(None)
        output, errors = job.communicate()
    wholes = [value for value in wholes if value is not None]
    alone = subprocess.run([launcher, "-np", "1", "--no-mpi", *program, "--steps",
                            str(arguments.steps)], capture_output=True, text=True, check=True)
    if job.returncode != 0 or checksums_of(output) != checksums_of(alone.stdout):
        sys.exit(f"code {job.returncode}, {output} instead of {alone.stdout}\n{errors[-3000:]}")
    print(f"{len(nexts)} kills in {arguments.steps} steps, and the weights of a job without a kill")
    print("| ms | median | 99 of 100 | largest |\n|---|---|---|---|")
    print(f"| a step | {quantiles(steps)} |")
    print(f"| kill to next step | {quantiles(nexts)} |")
    print(f"| all ranks again | {quantiles(wholes)} |")
    return 0


def main():
    if "--worker" in sys.argv:
        train = {"here": train_here, "ddp": train_with_ddp}[sys.argv[-1]]
        return train(pathlib.Path(sys.argv[-2]))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--torch-python")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--spares", type=int, default=0)
    parser.add_argument("--two-hosts", action="store_true")
    parser.add_argument("--model", default="mlp", choices=("mlp", "gpt"))
    parser.add_argument("--steps", type=int, help="default: 150 a kill")
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    chance = random.Random(arguments.seed)
    arguments.steps = arguments.steps or 150 * arguments.kills
    if arguments.kills > 0:
        return kill_one_after_another(arguments, chance)
    results = {system: [] for system in SYSTEMS}
    for _ in range(arguments.jobs):
        for system in SYSTEMS:
            results[system].append(trial(system, arguments, chance))
    print("| system | went on | kill to next step, ms: median | largest | "
          "all ranks again, ms: median | steps made again: median | largest |")
    print("|---|---|---|---|---|---|---|")
    for system, all_trials in results.items():
        trials = [trial for trial in all_trials if trial is not None]
        nexts = [1e3 * trial[0] for trial in trials]
        wholes = [1e3 * trial[1] for trial in trials if trial[1] is not None]
        again = [trial[2] for trial in trials]
        whole = f"{statistics.median(wholes):.0f}" if wholes else "not"
        print(f"| {system} | {len(trials)} of {len(all_trials)} | {statistics.median(nexts):.0f} | {max(nexts):.0f} | {whole} | "
              f"{statistics.median(again):.0f} | {max(again)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
