#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares tuned batches with fixed ones, and prints a table.

    scripts/compare_tuning.py build/dev [--rounds 3] [--links shm 100mbit 1gbit 10gbit]

Two ranks take steps of tuning_benchmark: gradients of the sizes of a model become ready one by one
while the program sleeps, and are reduced meanwhile. The ranks share memory, or are on two hosts,
which are network namespaces of this machine (needs root) with a link of a limited rate. The
gradients are scaled such that a step takes some tenths of a second. For each model and link, jobs
run with the batches of no tuning, with tuning from nothing, and with each of the fusion thresholds.
Jobs take turns. The least of several noisy times is too small. So the best threshold then runs
again, in turns with the batches that a tuned job has remembered, and this comparison counts. Needs the targets horovodrun and tuning_benchmark. On a busy machine, --before
"nice -n -19" lets other programs disturb less.
"""

import argparse
import json
import os
import pathlib
import secrets
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "horovodrun" / "hosts"))
import network  # noqa: E402

# For each link and model: the scale of the gradients, and the milliseconds of a backward.
CASES = {
    "shm": {"resnet50": (1, 40), "gpt2": (4, 40), "small": (1, 5)},
    "10gbit": {"resnet50": (1, 80), "gpt2": (4, 100), "small": (1, 5)},
    "1gbit": {"resnet50": (8, 100), "gpt2": (32, 120), "small": (1, 10)},
    "100mbit": {"resnet50": (64, 120), "gpt2": (256, 150), "small": (1, 80)},
}
KILO = 1024
# Parts of all bytes of a step.
THRESHOLDS = (1, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64, 1 / 256)
BYTES = {"resnet50": 102_228_128, "gpt2": 497_759_232, "small": 1000 * KILO}
STEPS, FIXED_STEPS, LEARNING, WINDOW, TIMEOUT = 80, 16, 50, 5, 240
PAIRS = 3  # Of the last comparison, at least.


class Case:
    def __init__(self, options, net, words):
        self.build, self.before, self.net, self.words = (
            options.build, options.before.split(), net, words)

    def steps(self, count, **variables):
        """The milliseconds of each step of a job with these environment variables."""
        program = [*self.before, str(self.build / "test" / "benchmark" / "tuning_benchmark"),
                   *self.words[:3], str(count), *self.words[3:]]
        environment = {**os.environ, "HOROVODPP_TUNING_CACHE": "", **variables}
        if self.net is None:
            jobs = [[self.build / "horovodrun" / "horovodrun", "-np", "2", "--no-mpi", *program]]
            ranks = [{}]
        else:
            jobs = [self.net[host].within(*program) for host in "ab"]
            environment.update({"HOROVODPP_RENDEZVOUS": f"tcp:{self.net['a'].address}:29500",
                                "HOROVODPP_JOB_KEY": secrets.token_hex(32), "HOROVOD_SIZE": "2"})
            ranks = [{"HOROVOD_RANK": str(rank)} for rank in range(2)]
        started = [subprocess.Popen(words, env={**environment, **more}, text=True,
                                    stdout=subprocess.PIPE) for words, more in zip(jobs, ranks)]
        texts = [job.communicate(timeout=TIMEOUT)[0] for job in started]
        if any(job.returncode for job in started):
            sys.exit("a rank failed")
        return [float(line) for line in "".join(texts).splitlines()]


def settled(steps):
    return statistics.median(steps[len(steps) // 2:])


def steps_until(steps, goal):
    """After how many steps both the next few and all others have a median of `goal` at most; None:
    never."""
    return next((i for i in range(len(steps) - WINDOW + 1)
                 if statistics.median(steps[i:i + WINDOW]) <= goal
                 and statistics.median(steps[i:]) <= goal), None)


def measure(case, size, rounds, folder, record):
    plain, tuned, fixed = [], [], {part: [] for part in THRESHOLDS}
    for round_number in range(rounds):
        cache = {"HOROVODPP_TUNING_CACHE": str(folder / str(round_number))}
        plain.append(case.steps(STEPS, HOROVOD_AUTOTUNE="0"))
        tuned.append(case.steps(STEPS, **cache))
        for part in THRESHOLDS:
            threshold = str(max(1, round(part * size)))
            fixed[part].append(case.steps(FIXED_STEPS, HOROVOD_FUSION_THRESHOLD=threshold))

    def middle(runs):
        return statistics.median(map(settled, runs))

    part = min(THRESHOLDS, key=lambda part: middle(fixed[part]))
    threshold = str(max(1, round(part * size)))
    pairs = [(case.steps(FIXED_STEPS, HOROVOD_FUSION_THRESHOLD=threshold),
              case.steps(FIXED_STEPS,
                         HOROVODPP_TUNING_CACHE=str(folder / str(number % rounds))))
             for number in range(max(rounds, PAIRS))]
    if record:
        json.dump({"plain": plain, "tuned": tuned, "fixed": fixed, "pairs": pairs}, record.open("w"))
    best, remembered = (middle(runs) for runs in zip(*pairs))
    ratio = statistics.median(settled(tuned) / settled(fixed) for fixed, tuned in pairs)
    until = [steps_until(run, 1.02 * min(best, middle(tuned))) for run in tuned]
    regret = statistics.median(sum(a[:LEARNING]) / sum(b[:LEARNING])
                               for a, b in zip(tuned, plain)) - 1
    return {"plain": middle(plain), "best": best, "part": part, "tuned": middle(tuned),
            "again": remembered, "ratio": ratio, "regret": regret,
            "until": sorted(until, key=lambda x: x or 10**6)[rounds // 2]}


def row(model, link, scale, backward, found):
    until = "never" if found["until"] is None else str(found["until"])
    return (f"| {model}, 1/{scale} | {link} | {backward} ms | {found['plain']:.2f} ms |"
            f" {found['best']:.2f} ms | {found['tuned']:.2f} ms | {found['again']:.2f} ms |"
            f" {100 * (found['ratio'] - 1):+.1f} % | {until} |"
            f" {100 * found['regret']:+.1f} % |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--links", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--models", nargs="+", default=list(BYTES), choices=list(BYTES))
    parser.add_argument("--busy", action="store_true", help="compute instead of sleeping")
    parser.add_argument("--before", default="", help="words before the program")
    parser.add_argument("--record", type=pathlib.Path, help="folder for the times of all steps")
    options = parser.parse_args()
    if options.links != ["shm"] and network.reason_against():
        sys.exit(network.reason_against())
    print("| gradients | link | backward | not tuned | best threshold | tuned | remembered |"
          " remembered / best | steps until then | first 50 steps / not tuned |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for link in options.links:
        rate = "" if link == "shm" else link
        for model in options.models:
            scale, backward = CASES[link][model]
            words = [model, str(scale), str(backward), *(["busy"] if options.busy else [])]
            record = options.record and options.record / f"{link}-{model}.json"
            with tempfile.TemporaryDirectory() as folder:
                size, folder = BYTES[model] // scale, pathlib.Path(folder)
                if not rate:
                    found = measure(Case(options, None, words), size, options.rounds, folder,
                                    record)
                else:
                    with network.Network("ab", rate) as net:
                        found = measure(Case(options, net, words), size, options.rounds,
                                        folder, record)
            print(row(model, link, scale, backward, found), flush=True)


if __name__ == "__main__":
    main()
