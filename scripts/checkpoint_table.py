#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the example models with every kind of checkpointing, on one thread.

    scripts/checkpoint_table.py build/dev/test/benchmark/model_benchmark
    scripts/checkpoint_table.py .../model_benchmark --write docs/checkpointing.md \\
        --torch build/torch/bin/python

Prints a table of the CPU time for forward and backward, and of the peak memory of tensors during
them, without parameters and gradients. With --write the table replaces the table in that file, and
docs/figures gets the memory over one step of a GPT. Then draw the figures again (scripts/figures).
With --torch, a Python that has PyTorch, the table of compare_with_torch.py --checkpoint is replaced
as well.

All kinds of a model take turns, a step each. For a budget the program also finds the fastest
number of segments of checkpoint_sequential within the bytes that the plan took.
"""

import argparse
import itertools
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "benchmark"))
sys.path.insert(0, str(ROOT / "scripts" / "figures"))
import records  # noqa: E402
from contenders import Contender, Ended, contend, slowdown  # noqa: E402

MODELS = ("gpt12", "resnet50", "swin", "densenet")
BUDGETS = (50, 30)
DRAWN = ("none", "block", "budget=50%", "budget=30%")
BEGIN = "<!-- checkpoint table: begin; written by scripts/checkpoint_table.py -->"
END = "<!-- checkpoint table: end -->"
TORCH_BEGIN = "<!-- table beside PyTorch: begin; written by scripts/checkpoint_table.py -->"
TORCH_END = "<!-- table beside PyTorch: end -->"
MIB = 2**20


class Way:
    """A model with a kind of checkpointing, in a process of its own. For a budget that is too small
    for any plan: the least sufficient number of bytes.
    """

    def __init__(self, program, model, how, name=None):
        self.name = name or how
        self.least_bytes = None
        self.contender = Contender([program, model, how])
        try:
            self.contender.steps(1)
        except Ended as ended:
            least = re.search(r"the least that is needed is (\d+) bytes", str(ended))
            if not least:
                raise
            self.least_bytes = int(least[1])
            return
        self.memory = self.contender.ask("memory")

    @property
    def bytes(self):
        return self.memory["step_bytes"]

    def milliseconds(self):
        return self.contender.cpu_median() * 1e3


def segments_plan(stages, segments):
    """As CheckpointPlan::in_segments()."""
    size = stages // segments
    cut = size * (segments - 1)
    regions = [f"({' '.join(map(str, range(i, i + size)))})" for i in range(0, cut, size)]
    return " ".join(regions + [str(i) for i in range(cut, stages)])


def recomputed(plan):
    """The number of stages in parentheses."""
    return sum(len(region.split()) for region in re.findall(r"\(([^()]*)\)", plan))


def segment_candidates(program, model, stages, limit, count=3):
    """The numbers of segments of checkpoint_sequential that stay within `limit` bytes and recompute
    the fewest stages.
    """
    within = []
    for segments in range(2, stages + 1):
        plan = segments_plan(stages, segments)
        way = Way(program, model, "plan=" + plan, f"{segments} segments")
        if way.bytes <= limit:
            within.append((recomputed(plan), way))
        else:
            way.contender.finish()
    within.sort(key=lambda pair: pair[0])
    for _, way in within[count:]:
        way.contender.finish()
    return [way for _, way in within[:count]]


def measure(program, model, seconds, with_segments):
    """Measures the kinds of a model, and for each budget also checkpoint_sequential."""
    names = ["none", "block", "sqrt"]
    names += [f"{form}={percent}%" for form in ("budget", "online") for percent in BUDGETS]
    ways = [Way(program, model, name) for name in names]
    stages = len(ways[0].memory["plan"].split())
    segments = {}
    if with_segments:
        for way in feasible(ways):
            if way.name.startswith("budget"):
                segments[way.name] = segment_candidates(program, model, stages, way.bytes)
    rest = [way for found in segments.values() for way in found]
    running = feasible(ways) + rest
    contend(model, [way.contender for way in running], seconds, least_rounds=3)
    for way in running:
        way.contender.finish()
    return ways, segments


def feasible(ways):
    return [way for way in ways if way.least_bytes is None]


def rows(model, ways, segments):
    plain = ways[0]

    def cost(way):
        return slowdown(way.contender, plain.contender)

    for way in ways:
        if way.least_bytes:
            least = f"{way.least_bytes / MIB:.1f} | {way.least_bytes / plain.bytes:.0%}"
            yield f"| `{model}` | `{way.name}` | no plan keeps to it | at the least: | {least} | |"
            continue
        best = min(segments.get(way.name, []), key=cost, default=None)
        beside = f"{cost(best):+.1%} with {best.name}" if best else ""
        yield (
            f"| `{model}` | `{way.name}` | {way.milliseconds():.1f} | {cost(way):+.1%} | "
            f"{way.bytes / MIB:.1f} | {way.bytes / plain.bytes:.0%} | {beside} |"
        )


def table(lines):
    head = (
        "| model | `--checkpoint` | ms | costs | MiB | of all | "
        "`checkpoint_sequential` in these bytes costs |",
        "|---|---|---:|---:|---:|---:|---|",
    )
    return "\n".join([*head, *lines])


def beside_torch(python, program, seconds):
    """The table of the cost of recomputing each block, here and with PyTorch."""
    compare = ROOT / "test" / "benchmark" / "compare_with_torch.py"
    command = [python, compare, program, "--checkpoint", "--seconds", str(seconds)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def write_between(path, begin, end, lines):
    """Replaces the text between two lines of a file by `lines`."""
    before, rest = path.read_text().split(begin)
    after = rest.split(end)[1]
    path.write_text(f"{before}{begin}\n{lines}\n{end}{after}")


def trace(way, intervals=250):
    """Milliseconds and MiB over one step: the extremes of each interval, in their order."""
    points = [tuple(point) for point in way.memory["trace"]]
    length = points[-1][0] / intervals
    for _, group in itertools.groupby(points, key=lambda point: int(point[0] / length)):
        group = list(group)
        extremes = {max(group, key=lambda point: point[1]), min(group, key=lambda point: point[1])}
        for seconds, count in sorted(extremes):
            yield round(seconds * 1e3, 1), round(count / MIB, 1)


def record_memory(ways):
    """Writes the data of the figure of memory over one step."""
    records.write("checkpoint_memory", "scripts/checkpoint_table.py PROGRAM --write FILE",
                  ways={way.name: list(trace(way)) for way in ways if way.name in DRAWN})


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="model_benchmark")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--seconds", type=float, default=60, help="for each model")
    parser.add_argument("--segmented", default="gpt12,resnet50",
                        help="models that are compared with checkpoint_sequential")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--torch", metavar="PYTHON", help="one that has PyTorch")
    options = parser.parse_args()
    lines = []
    for model in options.models.split(","):
        with_segments = model in options.segmented.split(",")
        ways, segments = measure(options.program, model, options.seconds, with_segments)
        lines += rows(model, ways, segments)
        for way in feasible(ways):
            if way.name.startswith("budget"):
                print(f"{model} {way.name}: {way.memory['plan']}", file=sys.stderr, flush=True)
        if options.write and model == options.models.split(",")[0]:
            record_memory(ways)
    print(table(lines))
    if options.write:
        write_between(options.write, BEGIN, END, table(lines))
    if options.torch:
        both = beside_torch(options.torch, options.program, options.seconds)
        print(both)
        if options.write:
            write_between(options.write, TORCH_BEGIN, TORCH_END, both)


if __name__ == "__main__":
    main()
