#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares our operations with PyTorch's on the samples of PyTorch's operator database.

    run.py --interpreter build/dev/test/differential/differential_interpreter --all

Exits with 0 if every difference is in known.py and known.py is up to date, with 77 without
PyTorch. See README.md.
"""

import argparse
import collections
import pathlib
import re
import sys
import time
import warnings

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parent / "differential"))
SKIPPED = 77
FEW = (4, 1)  # Samples of float32, and of each other dtype.
MOST_SHOWN = 3  # Differences that are shown of each entry and kind.


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--interpreter", help="differential_interpreter")
    parser.add_argument("--all", action="store_true", help="all samples, instead of a few")
    parser.add_argument("--only", default="", help="a regular expression for entries' names")
    parser.add_argument("--table", action="store_true",
                        help="print the table of functions for docs/operators.md, and stop")
    parser.add_argument("--check", metavar="PAGE", help="fail if the page has another table")
    return parser.parse_args()


def name_of(entry):
    variant = entry.variant_test_name
    return f"{entry.name}/{variant}" if variant else entry.name


class Run:
    def __init__(self, options):
        import compare
        import known
        import lines
        import samples
        from interpreter import Interpreter
        self.compare, self.samples, self.lines = compare, samples, lines
        self.known = known.KNOWN
        self.interpreter = Interpreter([options.interpreter])
        self.counts = (None, None) if options.all else FEW
        self.is_part = bool(options.only)  # Other entries may have the known differences.
        self.names = []
        self.compared = self.errors = 0
        self.failures = collections.Counter()  # By entry and kind.
        self.matched = collections.Counter()  # By place in known.KNOWN.
        self.skips = collections.Counter()  # By entry and reason.

    def prepared(self, entry, line):
        """The cases whose programs are to run."""
        for make, prepare in ((self.samples.cases_of, self.samples.prepare),
                              (self.samples.errors_of, self.samples.prepare_error)):
            for case in make(entry, self.counts):
                try:
                    prepare(case, line)
                except self.lines.Without as reason:
                    self.skips[name_of(entry), str(reason)] += 1
                except (RuntimeError, TypeError, ValueError, IndexError) as error:
                    reason = str(error).splitlines()[0][:60]
                    self.skips[name_of(entry), f"PyTorch refuses it: {reason}"] += 1
                else:
                    yield case

    def check_entry(self, entry, line):
        self.names.append(name_of(entry))
        cases = list(self.prepared(entry, line))
        for case, outcomes in zip(cases, self.interpreter.run([c.program for c in cases])):
            self.compared += case.theirs is not None
            self.errors += case.theirs is None
            found = self.compare.difference(case, outcomes)
            if found:
                self.note(case, found)

    def note(self, case, found):
        name = name_of(case.entry)
        for i, entry in enumerate(self.known):
            if entry.matches(name, case, found):
                self.matched[i] += 1
                return
        self.failures[name, found.kind] += 1
        if self.failures[name, found.kind] <= MOST_SHOWN:
            given, args, kwargs = case.arguments
            print(f"\n{name}, {case.dtype}, {case.label}: {found.text()}\n"
                  f"  arguments {self.shape(given)} {self.shape(args)} {self.shape(kwargs)}",
                  flush=True)

    def shape(self, value):
        import torch
        from torch.utils._pytree import tree_map
        return self.compare.short(tree_map(
            lambda v: f"{str(v.dtype)[6:]}{list(v.shape)}" if isinstance(v, torch.Tensor) else v,
            value))

    def vanished(self):
        return [entry for i, entry in enumerate(self.known)
                if not self.matched[i] and not self.is_part
                and (self.counts[0] is None or not entry.rare)]

    def summary(self):
        by_reason = collections.defaultdict(list)
        for (name, reason), count in self.skips.items():
            by_reason[reason].append((name, count))
        for reason, names in sorted(by_reason.items()):
            print(f"skipped: {sum(n for _, n in names):5} {reason} "
                  f"({', '.join(sorted(name for name, _ in names)[:6])}"
                  f"{', …' if len(names) > 6 else ''})")
        for i, entry in enumerate(self.known):
            if self.matched[i]:
                print(f"known: {self.matched[i]:5} {entry.reason}")
        for entry in self.vanished():
            print(f"vanished, so delete it from known.py: {entry.reason} ({entry.entries})")
        for (name, kind), count in sorted(self.failures.items()):
            print(f"failed: {count:5} {name}: {kind}")
        print(f"{len(self.names)} entries, {self.compared} samples compared, {self.errors} error "
              f"inputs, {sum(self.skips.values())} skipped, {sum(self.matched.values())} known "
              f"differences, {sum(self.failures.values())} failures")


def run(options, database):
    made = Run(options)
    start = time.time()
    for entry in database:
        line = made.lines.line_of(entry)
        if line is not None and re.search(options.only, name_of(entry)):
            made.check_entry(entry, line)
    made.summary()
    print(f"{time.time() - start:.0f} s")
    return 1 if made.failures or made.vanished() or not made.compared else 0


def main():
    options = arguments()
    warnings.simplefilter("ignore")
    try:
        import torch
        from torch.testing._internal.common_methods_invocations import op_db
    except ImportError as error:
        print(f"skipped: this Python lacks PyTorch or a package of its tests ({error}). To run "
              "it, see CONTRIBUTING.md.")
        return SKIPPED
    torch.set_num_threads(1)
    if options.table or options.check:
        import table
        return table.check(options.check, op_db) if options.check else table.show(op_db)
    return run(options, op_db)


if __name__ == "__main__":
    sys.exit(main())
