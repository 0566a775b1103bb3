#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what timeline, summaries and metrics cost, and prints a table.

    scripts/compare_observability.py build/dev [--blocks 8] [--steps 400]

Two ranks of this host take steps of tuning_benchmark, which computes and reduces gradients of the
sizes of a model. A block has one job without any of the three, one with each and one with all, in
random order. Each job is compared with the plain job of its block: its median step as a ratio, and
the processor time that it took more, as a share of one core for each rank. The table has the
medians of these over the blocks, and their quartiles. Then it prints the cost of an event of the
recorder, which is always on (recorder_benchmark). Needs the targets horovodrun, tuning_benchmark
and recorder_benchmark.
"""

import argparse
import os
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

import machine

RANKS = 2
TIMEOUT = 300
MODELS = {"1,000 small tensors": ("small", "1", "5"), "ResNet-50": ("resnet50", "1", "40")}


def variants(folder):
    each = {"timeline": {"HOROVOD_TIMELINE": f"{folder}/{{rank}}.json"},
            "summary": {"HOROVODPP_SUMMARY_STEPS": "50"},
            "metrics": {"HOROVODPP_METRICS": "1"}}
    return {"plain": {}, **each, "all three": {k: v for one in each.values() for k, v in one.items()}}


def run(build, words, steps, settings):
    """The median step in milliseconds, the processor time and the wall time in seconds."""
    model, scale, backward = words
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    job = subprocess.run(
        [build / "horovodrun" / "horovodrun", "-np", str(RANKS), "--no-mpi",
         build / "test" / "benchmark" / "tuning_benchmark", model, scale, backward, str(steps),
         "busy"], env={**os.environ, "HOROVOD_AUTOTUNE": "0", **settings}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=TIMEOUT, check=False)
    wall = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if job.returncode:
        sys.exit(f"a job failed: {job.stderr}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return statistics.median(map(float, job.stdout.split())), processor, wall


def quartiles(values, form):
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{form.format(middle)} ({form.format(low)} to {form.format(high)})"


def measure(options, words, folder):
    """Of each variant: the ratios of steps, and the shares of a core."""
    kinds = variants(folder)
    found = {name: ([], []) for name in kinds if name != "plain"}
    for _ in range(options.blocks):
        block = {name: run(options.build, words, options.steps, kinds[name])
                 for name in random.sample(list(kinds), len(kinds))}
        step, processor, _ = block.pop("plain")
        for name, (own_step, own_processor, wall) in block.items():
            found[name][0].append(own_step / step)
            found[name][1].append(100 * (own_processor - processor) / wall / RANKS)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--blocks", type=int, default=8)
    parser.add_argument("--steps", type=int, default=400, help="of each job")
    parser.add_argument("--models", nargs="+", default=list(MODELS), choices=list(MODELS))
    options = parser.parse_args()
    print(f"{machine.described()}; {options.blocks} blocks of {options.steps} steps; "
          f"load {os.getloadavg()[0]:.1f}\n")
    print("| gradients | with | step / plain step | more of a core |\n|---|---|---|---|")
    for model in options.models:
        with tempfile.TemporaryDirectory() as folder:
            for name, (ratios, shares) in measure(options, MODELS[model], folder).items():
                print(f"| {model} | {name} | {quartiles(ratios, '{:.3f}')} |"
                      f" {quartiles(shares, '{:.2f} %')} |", flush=True)
    print(flush=True)
    subprocess.run([options.build / "test" / "benchmark" / "recorder_benchmark"], check=True)


if __name__ == "__main__":
    main()
