#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the time that an optimizer of horovodpp adds to a training step, and checks the claims.

    scripts/compare_steps.py build/dev
    scripts/compare_steps.py build/dev --torch-python PYTHON --write docs/benchmarks.md

Runs optimizer_benchmark and, if the given Python has torch, compare_with_ddp.py, each on two ranks,
and prints a table. The numbers are medians of the slowest rank, and medians of the rounds' ratios.
Needs the targets horovodrun and optimizer_benchmark, and horovodpp_python for torch; an otherwise
idle machine with two cores; and about five minutes.
"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BEGIN = "<!-- steps table: begin; written by scripts/compare_steps.py -->"
END = "<!-- steps table: end -->"
HOOKED = 2000 * 20  # Parameters of the row "hooks", in this number of steps.
STEPS_PER_CHECK = 100


def of_cpp(text):
    """(row, contender) -> (milliseconds, ratio to the row's first), from optimizer_benchmark."""
    line = re.compile(r"^(\S+(?: x\d+)?) +(.+?) +([\d.]+) ms +x ([\d.]+) +processor ", re.MULTILINE)
    return {(row, name): (float(took), float(ratio))
            for row, name, took, ratio in line.findall(text)}


def of_torch(text):
    """(what, contender) -> (median in ms or us, ratio or None), from compare_with_ddp.py."""
    line = re.compile(r"^(.{18}) (.{18}) +([\d.]+) [mu]s .*?\)(?:  ([\d.]+) x)?$", re.MULTILINE)
    return {(what.strip(), name.strip()): (float(took), float(ratio) if ratio else None)
            for what, name, took, ratio in line.findall(text)}


class Row:
    """A line of the table: a value, its text, and its limit."""

    def __init__(self, what, value, most=None, unit="", note=""):
        self.what, self.value, self.most, self.unit, self.note = what, value, most, unit, note

    def cells(self):
        shown = f"{self.value:.3g}{self.unit}"
        if self.most is None:
            return self.what, shown, "", "", self.note
        holds = "yes" if self.value <= self.most else "no"
        return self.what, shown, f"≤ {self.most:g}{self.unit}", holds, self.note


def rows_of_cpp(found):
    def ratio(row, name):
        return found[row, name][1]

    def both(row):
        return f"each rank for itself: {ratio(row, 'all ranks, each for itself'):.3g} ×"

    wrapped, named = (found["hooks", f"{name}: backward and step"][0]
                      for name in ("SGD", "distributed"))
    calls = found["hooks", "calls: prepared by name, and waited for"][0]
    plain = found["check", "reduce, AdamW"][0]
    checked = found["check", "and the parameters compared (every 100th step)"][0]
    step = "distributed"
    reduced = "reduce, average, AdamW"
    floor = ratio("gpt2", "AdamW, all ranks at once")
    yield Row("GPT-2's parameters reduced, averaged, moved by AdamW, to AdamW on one rank alone",
              ratio("gpt2", f"arena: {reduced}"), 1.5, " ×",
              f"AdamW on all ranks at once: {floor:.3g} ×")
    yield Row("the same, updates sharded", ratio("gpt2", f"sharded: {reduced}"), 1.5, " ×")
    yield Row("step of a ResNet-18, to one rank alone", ratio("resnet18 x1", step), 1.02, " ×",
              both("resnet18 x1"))
    yield Row("step of an MLP of 21 million parameters, to one rank alone",
              ratio("mlp x4", step), 1.1, " ×", both("mlp x4"))
    yield Row("hooks, bookkeeping and calls, for a parameter", (named - wrapped) / HOOKED * 1e3,
              1, " µs", f"calls by name alone: {calls / HOOKED * 1e3:.3g} µs")
    yield Row("parameters compared every 100th step, of a step of nothing but reducing and AdamW",
              (checked - plain) / STEPS_PER_CHECK / plain * 100, 0.5, " %")
    yield Row("the norm of 21 million gradients", found["clip", "and their norm"][0] -
              found["clip", "SGD along reduced gradients"][0], None, " ms")
    yield Row("eight layers recomputed, on a link of 1 Gbit/s, to the same kept",
              ratio("recompute", "recomputed"), 1.05, " ×")


def rows_of_torch(found, own):
    for name in ("MLP", "ResNet-18"):
        beside = found[name, "DDP over gloo"][1]
        yield Row(f"torch: step of {'an' if name == 'MLP' else 'a'} {name}, to no communication",
                  found[name, "horovodpp"][1], 1.05, " ×", f"DDP over gloo: {beside:.3g} ×")
    yield Row("torch: allreduce of 4 bytes, waited for",
              found["4 B, waited for", "horovodpp"][0], 15, " µs",
              f"gloo: {found['4 B, waited for', 'gloo'][0]:.3g} µs")
    yield Row("torch: allreduce_async_, until it returns",
              found["256 B, submission", "horovodpp"][0], 5, " µs")
    yield Row("torch: ResNet-50's gradients in the arena, to the same in C++",
              found["ResNet-50's set", "arena"][0] / own["resnet50", "arena: reduce, average"][0],
              1.1, " ×")


def table(rows):
    lines = ["| on two ranks | measured | to reach | holds | beside |", "|---|---:|---:|---|---|"]
    return "\n".join(lines + ["| " + " | ".join(row.cells()) + " |" for row in rows])


def run(build, command):
    environment = dict(os.environ, HOROVODPP_NUM_THREADS="1", OMP_NUM_THREADS="1",
                       PYTHONPATH=str(build / "bindings"))
    done = subprocess.run([build / "horovodrun" / "horovodrun", "-np", "2", *command], check=True,
                          env=environment, stdout=subprocess.PIPE, text=True)
    return done.stdout


def write(path, text):
    before, rest = path.read_text().split(BEGIN, 1)
    path.write_text(before + BEGIN + "\n\n" + text + "\n\n" + END + rest.split(END, 1)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build", type=pathlib.Path, help="the folder of a build")
    parser.add_argument("--torch-python", help="a Python that has torch")
    parser.add_argument("--rounds", type=int, default=11, help="that are counted")
    parser.add_argument("--write", type=pathlib.Path, help="a file with a place for the table")
    options = parser.parse_args()
    build = options.build.resolve()
    own = of_cpp(run(build, [build / "test" / "benchmark" / "optimizer_benchmark",
                             str(options.rounds)]))
    rows = list(rows_of_cpp(own))
    if options.torch_python:
        script = ROOT / "test" / "bindings" / "benchmark" / "compare_with_ddp.py"
        rows += rows_of_torch(of_torch(run(build, [options.torch_python, script, "--rounds",
                                                   str(options.rounds)])), own)
    text = f"{options.rounds} rounds; load {os.getloadavg()[0]:.1f} in the end.\n\n" + table(rows)
    print(text)
    if options.write:
        write(options.write, text)


if __name__ == "__main__":
    sys.exit(main())
