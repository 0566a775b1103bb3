#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the example models with every kind of checkpointing, on one thread.

    scripts/checkpoint_table.py build/dev/test/benchmark/model_benchmark
    scripts/checkpoint_table.py .../model_benchmark --write docs/checkpointing.md \\
        --torch build/torch/bin/python

Prints a table of the CPU time for forward and backward, and of the peak memory of tensors during
them, without parameters and gradients. With --write the table replaces the one in that file, and
the memory over one step of a GPT is drawn next to it, as checkpointing.svg. With --torch, a Python
that has PyTorch, the table of compare_with_torch.py --checkpoint is replaced as well.

All kinds of a model take turns, a step each. For a budget the program also finds the fastest
number of segments of checkpoint_sequential within the bytes that the plan took.
"""

import argparse
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "test" / "benchmark"))
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
    """A model with a kind of checkpointing, in a process of its own; or, for a budget that is too
    small for any plan, the least number of bytes that suffices.
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
    """Measures the kinds of a model, and for each budget those of checkpoint_sequential."""
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


def picture(ways):
    """Memory over one step, as SVG."""
    width, height, left, bottom, top, right = 760, 330, 56, 40, 16, 16
    colours = ("#555555", "#c0504d", "#1f77b4", "#2ca02c")
    longest = max(way.memory["trace"][-1][0] for way in ways)
    most = max(way.bytes for way in ways) / MIB

    def x(seconds):
        return left + (width - left - right) * seconds / longest

    def y(mebibytes):
        return height - bottom - (height - bottom - top) * mebibytes / most

    def text(at_x, at_y, words, anchor="middle", colour="#333333"):
        return (
            f'<text x="{at_x:.0f}" y="{at_y:.0f}" text-anchor="{anchor}" '
            f'fill="{colour}">{words}</text>'
        )

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for i in range(5):
        value = most * i / 4
        parts.append(
            f'<line x1="{left}" y1="{y(value):.1f}" x2="{width - right}" y2="{y(value):.1f}" '
            'stroke="#dddddd"/>'
        )
        parts.append(text(left - 6, y(value) + 4, f"{value:.0f}", "end"))
        parts.append(text(x(longest * i / 4), height - 22, f"{longest * i / 4 * 1e3:.0f} ms"))
    parts.append(text(left - 6, top - 4, "MiB", "end"))
    for i, (way, colour) in enumerate(zip(ways, colours)):
        points = " ".join(f"{x(s):.1f},{y(b / MIB):.1f}" for s, b in thinned(way.memory["trace"]))
        parts.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.5"/>'
        )
        label = f"{way.name}: {way.bytes / MIB:.0f} MiB"
        parts.append(text(left + 12, top + 16 + 16 * i, label, "start", colour))
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


def thinned(trace, count=500):
    """The largest and the smallest value of each of `count` intervals, in their order."""
    step = trace[-1][0] / count
    intervals = {}
    for point in trace:
        intervals.setdefault(int(point[0] / step), []).append(point)
    for points in intervals.values():
        extremes = [max(points, key=lambda p: p[1]), min(points, key=lambda p: p[1])]
        yield from sorted(extremes, key=lambda p: p[0])


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
            drawn = [way for way in ways if way.name in DRAWN]
            options.write.with_name("checkpointing.svg").write_text(picture(drawn))
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
