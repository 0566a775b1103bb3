#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A soak of elastic trainings: ranks are lost, and the weights must not show it.

  soak.py --seconds 3600 --every 5      faults of all kinds now and then, for one hour
  soak.py --seconds 15 --every 0.5 --seed 7
  soak.py --schedules 20 --models resnet18,mlp,gpt      3 ranks, then 2, then 4; and a table

Trains examples/cpp/elastic (mlp, gpt) and examples/python/elastic.py (resnet18, by a Python that
has PyTorch) again and again, with ranks that are replaced, and snapshots. Each job must end well,
with the weights of a training in which nothing failed, and leave no process and no file.

--seconds: faults happen also to all ranks, and jobs start again. Fails with the seed and the end of
the first job that does not end well.
--schedules: a job starts with three ranks. One is killed at a random moment, and newcomers fill the
job up to four. From then on two of four are killed again and again. The schedules of a model have
the seeds from --seed on, and each can be repeated by its own.
"""
import argparse
import pathlib
import random
import signal
import sys
import time

import leftovers
import training
from training import hit


def kill_one(pids, chance):
    hit(chance.choice(pids))


def kill_two(pids, chance):
    for pid in chance.sample(pids, min(2, len(pids))):
        hit(pid)


def kill_all(pids, chance):
    for pid in pids:
        hit(pid)


def abort_one(pids, chance):
    hit(chance.choice(pids), signal.SIGABRT)


def stop_one(pids, chance):
    pid = chance.choice(pids)
    hit(pid, signal.SIGSTOP)
    time.sleep(chance.uniform(0, 0.3))
    hit(pid, signal.SIGCONT)


# With their shares.
FAULTS = {kill_one: 8, kill_two: 2, kill_all: 1, abort_one: 2, stop_one: 3}


def soak(what, until, arguments, chance, counts):
    """One job with faults of all kinds. Returns its end."""
    ranks = chance.choice([2, 3])
    options = ["-np", str(ranks), "--min-np", "1", "--max-np",
               str(chance.choice([ranks, ranks + 1])), "--max-restarts", "1000",
               *chance.choice([[], ["--spares", "1"]])]
    with leftovers.Folders(leftovers.can_hide_folders()) as folders:
        job = training.Job(what, options, folders, arguments.build)
        while job.trains():
            time.sleep(chance.uniform(0, 2 * arguments.every))
            pids = job.ranks()
            if pids and job.trains() and time.monotonic() < until:
                fault, = chance.choices([*FAULTS], [*FAULTS.values()])
                fault(pids, chance)
                counts[fault.__name__] = counts.get(fault.__name__, 0) + 1
        return job.finish()


def do_seconds(trainings, arguments):
    chance = random.Random(arguments.seed)
    expected = {model: training.undisturbed(what, arguments.build)
                for model, what in trainings.items()}
    until = time.monotonic() + arguments.seconds
    counts, jobs = {}, 0
    while time.monotonic() < until:
        model = chance.choice([*trainings])
        end = soak(trainings[model], until, arguments, chance, counts)
        jobs += 1
        faults = end.faults(expected[model])
        if faults:
            print(f"job {jobs} ({model}):", *faults, end.output[-5000:], sep="\n")
            return 1
    faults = ", ".join(f"{name} {count}" for name, count in sorted(counts.items()))
    print(f"{jobs} jobs, {sum(counts.values())} faults ({faults}): all weights are right")
    return 0


def waits_for(job, ranks, seen):
    """Waits until the job has so many ranks, after the first `seen` of its sizes.

    Returns whether it came to that before the training's end.
    """
    while job.trains():
        if job.sizes()[seen:][-1:] == [ranks]:
            return True
        time.sleep(0.01)
    return False


def down_to_two_and_up(job, slots, every, chance):
    """Kills ranks until the training ends. Returns the number of kills."""
    kills, seen = 0, 0
    while waits_for(job, 4 if kills else 3, seen):
        time.sleep(chance.uniform(0, 2 * every))
        seen = len(job.sizes())
        members = job.ranks()[:job.sizes()[-1]]
        for pid in chance.sample(members, max(len(members) - 2, 0)):
            kills += job.trains() and hit(pid)
            # Half of the second kills meet survivors that recover.
            time.sleep(chance.choice([0, chance.uniform(0, 0.05)]))
        if kills == 1:
            # Renamed, so that no reader finds a part of it.
            changed = slots.with_suffix(".new")
            changed.write_text("localhost:4\n")
            changed.rename(slots)
    return kills


def do_schedule(what, seed, arguments):
    """One job. Returns its end and the number of kills."""
    chance = random.Random(seed)
    with leftovers.Folders(leftovers.can_hide_folders()) as folders:
        slots = pathlib.Path(folders.base, "slots")
        slots.write_text("localhost:3\n")
        options = ["-np", "3", "--min-np", "1", "--max-np", "4",
                   "--host-discovery-script", f"cat {slots}"]
        job = training.Job(what, options, folders, arguments.build)
        kills = down_to_two_and_up(job, slots, arguments.every, chance)
        return job.finish(), kills


HEAD = ("| model | steps | schedules | kills | wrong weights | hangs | leftovers | other faults |\n"
        "|---|---|---|---|---|---|---|---|")


def do_model(model, what, arguments):
    """All schedules of a model. Returns a row of the table, and the number of bad jobs."""
    expected = training.undisturbed(what, arguments.build)
    what.options = (*what.options, "--wait-for", "4")
    all_kills, wrong, hangs, left, other, bad = 0, 0, 0, 0, 0, 0
    for seed in range(arguments.seed, arguments.seed + arguments.schedules):
        began = time.monotonic()
        end, kills = do_schedule(what, seed, arguments)
        faults = end.faults(expected)
        sizes = training.sizes_of(end.output)
        strange = sizes[:2] != [3, 2] or 4 not in sizes
        if strange:
            faults.append("did not go from 3 ranks to 2 and to 4")
        print(f"{model} --seed {seed}: ranks {' '.join(map(str, sizes))}; {kills} kills; "
              f"{time.monotonic() - began:.0f} s", flush=True)
        if faults:
            print(*faults, end.output[-5000:], sep="\n", flush=True)
        all_kills += kills
        wrong += end.has_other_weights(expected)
        hangs += end.hangs
        left += bool(end.left)
        other += strange or not end.hangs and end.is_bad(expected)
        bad += bool(faults)
    return (f"| {model} | {what.steps} | {arguments.schedules} | {all_kills} | {wrong} | {hangs} | "
            f"{left} | {other} |", bad)


def do_schedules(trainings, arguments):
    results = [do_model(model, what, arguments) for model, what in trainings.items()]
    print(HEAD, *(row for row, _ in results), sep="\n")
    return 1 if any(bad for _, bad in results) else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--schedules", type=int, default=0, help="of each model")
    parser.add_argument("--models", default="mlp,gpt", help="resnet18, mlp, gpt")
    parser.add_argument("--steps", type=int, help="of each training")
    parser.add_argument("--every", type=float, default=0.5, help="seconds between faults, mean")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(100000))
    parser.add_argument("--build", default=f"{training.ROOT}/build/dev")
    arguments = parser.parse_args()
    # On SIGTERM, clean up as at any other end.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    print(f"--seed {arguments.seed}", flush=True)
    every_one = training.trainings(arguments.build)
    trainings = {model: every_one[model] for model in arguments.models.split(",")}
    if "resnet18" in trainings:
        against = training.reason_against_torch(arguments.build)
        if against:
            print(f"SKIPPED: {against}")
            return 77
    for what in trainings.values():
        what.steps = arguments.steps or what.steps
    return (do_schedules if arguments.schedules else do_seconds)(trainings, arguments)


if __name__ == "__main__":
    sys.exit(main())
