#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs random programs with horovodpp and with PyTorch, and compares.

    run.py --interpreter build/dev/test/differential/differential_interpreter \\
        --count 100000 --seed 1

Exits with 0 if every difference is known (known_differences.py), with 77 without
PyTorch. Prints each unknown difference with its seed and the shrunk program, in
Python and in C++. With --regions each program also runs with its statements in
checkpointed regions, in four forms, and must end with the same bits: see checkpoints.py.
With --alone PyTorch is not used, and only crashes are found.
"""

import argparse
import collections
import json
import math
import sys
import time

import checkpoints
import dialects
import generate
import regions
from interpreter import Interpreter

SKIPPED = 77
BATCH = 100  # Programs per call of the interpreter.
NEARER = "horovodpp is as near to the result in float64 as PyTorch, or nearer"
KEPT = "PyTorch needs a tensor that was written since; with copies it has the same gradients"
MODIFIED = "modified by an inplace operation"
UNCLEAR = "PyTorch differs from itself as much if it rounds otherwise"
LONG = 50_000  # After this many programs, an entry that never matched is out of date.


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interpreter", required=True)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1, help="of the first program")
    parser.add_argument("--alone", action="store_true", help="without PyTorch: for crashes")
    parser.add_argument("--regions", action="store_true", help="also in checkpointed regions")
    parser.add_argument("--program", help="one program, as JSON, instead of random ones")
    parser.add_argument("--most", type=int, default=10, help="differences to show, then stop")
    return parser.parse_args()


class Run:
    def __init__(self, options):
        self.interpreter = Interpreter([options.interpreter])
        self.options = options
        self.found = []  # (program, difference)
        self.known = collections.Counter()
        self.roundings = collections.Counter()
        self.statements = collections.Counter()
        self.refused = collections.Counter()

    def batches(self):
        if self.options.program:
            yield [json.loads(self.options.program)]
            return
        first, last = self.options.seed, self.options.seed + self.options.count
        for seed in range(first, last, BATCH):
            yield [generate.generate(s) for s in range(seed, min(seed + BATCH, last))]

    def count(self):
        """The number of differences found."""
        return len(self.found)

    def check_batch(self, programs):
        ours = self.interpreter.start(programs)
        theirs = self.references_of(programs)
        for program, a, b in zip(programs, ours.result(), theirs):
            if len(self.found) < self.options.most:
                self.check(program, a, b)


class Alone(Run):
    """Finds only crashes."""

    def references_of(self, programs):
        return [None] * len(programs)

    def check(self, program, ours, _):
        if "crash" in ours:
            self.found.append((program, ours["crash"]))
            print(f"crash\n{dialects.program_text(program)}\n{ours['crash']}", flush=True)


class Compared(Run):
    def __init__(self, options):
        super().__init__(options)
        import compare
        import known_differences
        import reference
        self.compare, self.reference, self.table = compare, reference, known_differences
        self.regions = checkpoints.Run(options) if options.regions else None

    def check_batch(self, programs):
        super().check_batch(programs)
        if self.regions:
            self.regions.check_batch([regions.noticeable(p) for p in programs])

    def count(self):
        return super().count() + (self.regions.found if self.regions else 0)

    def references_of(self, programs):
        return self.reference.run_apart(programs)

    def difference(self, program, ours):
        (theirs,) = self.references_of([program])
        return None if "crash" in theirs else self.compare.difference(program, ours, theirs)

    def check(self, program, ours, theirs):
        if "crash" in theirs:
            self.known["PyTorch ends with a signal"] += 1
            return
        for statement, outcome in zip(program["statements"], theirs):
            self.statements[statement["do"]] += 1
            self.refused[statement["do"]] += "error" in outcome
        difference = self.compare.difference(program, ours, theirs)
        if difference is None:
            return
        entry = self.table.known(program, difference)
        if entry:
            self.known[entry.reason] += 1
            return
        rounding = self.rounding(program, difference, ours, theirs)
        if rounding:
            self.roundings[rounding] += 1
        elif self.kept(program, difference, ours):
            self.known[KEPT] += 1
        else:
            self.report(program, difference)

    def kept(self, program, difference, ours):
        """Whether PyTorch refuses a backward because a needed tensor was written, and, if
        PyTorch keeps copies, ends like horovodpp."""
        if difference.kind != "accepted" or MODIFIED not in difference.theirs:
            return False
        (theirs,) = self.reference.run_apart([program], copying=True)
        if "crash" in theirs:
            return False
        again = self.compare.difference(program, ours, theirs)
        return (again is None or self.table.known(program, again) is not None
                or self.rounding(program, again, ours, theirs) is not None)

    def rounding(self, program, difference, ours, theirs):
        """A counter's name for a difference that roundings explain, else None."""
        counts = difference.kind == "sizes" and difference.operation == "nonzero"
        if not counts and not difference.kind.endswith(
                ("values", "presence", "refused", "accepted")):
            return None
        (nudged,) = self.reference.run_apart([program], nudge=True)
        (exact,) = self.references_of([dialects.in_float64(program)])
        if "crash" in nudged or "crash" in exact:
            return None
        if difference.kind in ("refused", "accepted"):
            differs = ("error" in nudged[difference.at]) != ("error" in theirs[difference.at])
            return UNCLEAR if differs else None
        a, b, c, d = (described(outcomes, difference)
                      for outcomes in (ours, theirs, nudged, exact))
        if counts:
            if None in (a, b, c, d):
                return None
            return NEARER if a[1] == d[1] else UNCLEAR if b[1] != c[1] else None
        distance = self.compare.distance
        if math.isfinite(distance(a, d)) and distance(a, d) <= distance(b, d):
            return NEARER
        if None in (a, b, c) or a[0] != b[0]:
            return None
        off = distance(b, d)
        explained = distance(a, b) <= 100 * distance(b, c) or (
            math.isfinite(off) and distance(a, b) <= 10 * off)
        return UNCLEAR if explained else None

    def report(self, program, difference):
        def differs(candidate):
            (ours,) = self.interpreter.run([candidate])
            found = self.difference(candidate, ours)
            return (found is not None and found.kind == difference.kind
                    and found.operation == difference.operation
                    and not self.table.known(candidate, found)
                    and not self.kept(candidate, found, ours))

        import shrink
        small = shrink.shrunk(program, differs)
        found = self.difference(small, *self.interpreter.run([small])) or difference
        self.found.append((small, found))
        print(f"\n=== {found.text()}\n{dialects.program_text(small)}", flush=True)

    def summary(self):
        for reason, count in self.known.most_common():
            print(f"known: {count:6} {reason}")
        if self.options.count >= LONG:
            for entry in self.table.KNOWN:
                if not self.known[entry.reason]:
                    print(f"out of date: {entry.reason}")
        for name in (NEARER, UNCLEAR):
            print(f"rounding: {self.roundings[name]:3} {name}")
        if self.regions:
            self.regions.summary()


def described(outcomes, difference):
    """The part of an outcome about the tensor that differs, or about its gradient."""
    description = outcomes[difference.at].get("tensors", {}).get(difference.name)
    if description and difference.kind.startswith("gradient"):
        return description[6] if len(description) > 6 else None
    return description


def main():
    options = arguments()
    try:
        run = (Alone if options.alone else Compared)(options)
    except ImportError as error:
        print(f"skipped: this Python has no PyTorch ({error}). To run it, see CONTRIBUTING.md.")
        return SKIPPED
    start, done = time.time(), 0
    for programs in run.batches():
        run.check_batch(programs)
        done += len(programs)
        if run.count() >= options.most:
            print(f"stopped after {options.most} differences")
            break
    if not options.alone:
        run.summary()
    print(f"{done} programs from seed {options.seed} in {time.time() - start:.0f} s: "
          f"{run.count()} differences")
    return 1 if run.count() else 0


if __name__ == "__main__":
    sys.exit(main())
