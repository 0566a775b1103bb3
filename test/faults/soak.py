#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A soak of elastic trainings: a fault now and then, until the time is up.

  soak.py --seconds 3600 --every 5      one hour
  soak.py --seconds 15 --every 0.5 --seed 7

Trains examples/cpp/elastic again and again, with ranks that are replaced, snapshots and restarts.
Each job must end well, with the weights of a training in which nothing failed, and leave no process
and no file. Fails with the seed and the end of the first job that does not.
"""
import argparse
import os
import random
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time

import leftovers

PROGRAM = os.environ["ELASTIC_EXAMPLE"]
HOROVODRUN = os.environ["HOROVODRUN"]
MODELS = {"mlp": 6000, "gpt": 1200}  # Steps of each.
SECONDS = 120  # Longer jobs hang.


def ranks_of(mark):
    return [pid for pid in leftovers.marked(mark) if leftovers.words_of(pid)[0] == PROGRAM]


def hit(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass  # It has ended.


def kill_one(pids, chance):
    hit(chance.choice(pids), signal.SIGKILL)


def kill_two(pids, chance):
    for pid in chance.sample(pids, min(2, len(pids))):
        hit(pid, signal.SIGKILL)


def kill_all(pids, chance):
    for pid in pids:
        hit(pid, signal.SIGKILL)


def abort_one(pids, chance):
    hit(chance.choice(pids), signal.SIGABRT)


def stop_one(pids, chance):
    pid = chance.choice(pids)
    hit(pid, signal.SIGSTOP)
    time.sleep(chance.uniform(0, 0.3))
    hit(pid, signal.SIGCONT)


# With their shares.
FAULTS = {kill_one: 8, kill_two: 2, kill_all: 1, abort_one: 2, stop_one: 3}


def checksum_of(output):
    found = set(re.findall(r"checksum (\w+)", output))
    return found.pop() if len(found) == 1 else None


def undisturbed(model):
    job = subprocess.run([HOROVODRUN, "-np", "1", "--no-mpi", PROGRAM, "--model", model,
                          "--steps", str(MODELS[model])], capture_output=True, text=True,
                         check=True)
    return checksum_of(job.stdout)


def soak(model, until, every, chance, counts, folders):
    """One job. Returns its faults as texts."""
    mark = secrets.token_hex(8)
    ranks = chance.choice([2, 3])
    with tempfile.TemporaryDirectory(dir=folders.base) as snapshots:
        command = [*folders.prefix(), HOROVODRUN, "-np", str(ranks), "--min-np", "1", "--max-np",
                   str(chance.choice([ranks, ranks + 1])), "--max-restarts", "1000",
                   *chance.choice([[], ["--spares", "1"]]), PROGRAM, "--model", model,
                   "--steps", str(MODELS[model]), "--snapshots", os.path.abspath(snapshots)]
        environment = {**os.environ, **folders.environment(), leftovers.MARK: mark}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as job:
            end = time.monotonic() + SECONDS
            while job.poll() is None and time.monotonic() < end:
                time.sleep(chance.uniform(0, 2 * every))
                pids = ranks_of(mark)
                if pids and job.poll() is None and time.monotonic() < until:
                    fault, = chance.choices([*FAULTS], [*FAULTS.values()])
                    fault(pids, chance)
                    counts[fault.__name__] = counts.get(fault.__name__, 0) + 1
            wrong = []
            if job.poll() is None:
                wrong.append(f"has not ended after {SECONDS} s")
                leftovers.end(leftovers.marked(mark))
            output, errors = job.communicate()
        if job.returncode != 0:
            wrong.append(f"ended with {job.returncode}")
        left = leftovers.still_there(lambda: leftovers.marked(mark), 10)
        wrong += [*map(leftovers.describe, left), *folders.files()]
        partial = [name for name in os.listdir(snapshots) if "partial" in name]
        # A job that ends while one is written does not come to remove it.
        if len(partial) > 1:
            wrong.append(f"left {partial}")
        return wrong, checksum_of(output), output + errors[-3000:]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--every", type=float, default=0.5, help="seconds between faults, mean")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(100000))
    arguments = parser.parse_args()
    print(f"--seed {arguments.seed}", flush=True)
    chance = random.Random(arguments.seed)
    expected = {model: undisturbed(model) for model in MODELS}
    until = time.monotonic() + arguments.seconds
    counts, jobs = {}, 0
    while time.monotonic() < until:
        model = chance.choice([*MODELS])
        with leftovers.Folders(leftovers.can_hide_folders()) as folders:
            wrong, checksum, text = soak(model, until, arguments.every, chance, counts, folders)
        if checksum != expected[model]:
            wrong.append(f"has the checksum {checksum}, and not {expected[model]}")
        jobs += 1
        if wrong:
            print(f"job {jobs} ({model}):", *wrong, text, sep="\n")
            return 1
    faults = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    print(f"{jobs} jobs, {sum(counts.values())} faults ({faults}): all weights are right")
    return 0


if __name__ == "__main__":
    sys.exit(main())
