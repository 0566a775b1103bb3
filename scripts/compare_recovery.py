#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a rank of a training with torch, and measures how long the others need to go on.

  scripts/compare_recovery.py build/dev --torch-python PYTHON [--jobs 10]

Three ranks on this host train a small model. One gets SIGKILL in mid-training. Each system restores
the training in its own way, in turns:

  horovodpp, steps      hvd.elastic.run and TorchState.end_step(); the survivors go on
  horovodpp, replaced   the same with --max-np: a new process takes the place of the lost one
  torchelastic          torchrun --max-restarts, DDP with gloo; all ranks start again, from a
                        checkpoint that rank 0 writes every 50 steps

Prints for each how often it went on, the median and the largest time from the kill to the next step
that is complete on a rank, until all ranks are there again, and the steps that were made twice.
"""
import argparse
import os
import pathlib
import random
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


def main():
    if "--worker" in sys.argv:
        train = {"here": train_here, "ddp": train_with_ddp}[sys.argv[-1]]
        return train(pathlib.Path(sys.argv[-2]))
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--jobs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    chance = random.Random(arguments.seed)
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
