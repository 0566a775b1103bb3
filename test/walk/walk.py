#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions of a warm, synchronous allreduce on one node, and checks a page.

    walk.py --program build/dev/test/walk/one_allreduce --page docs/design.md

The program makes the call many times between two ranks that are threads. Callgrind counts every
executed line. The shortest call, which did not wait for the other rank, is compared. The page's
section "One allreduce" must name the sources (.cc) that this call enters. They stand in a table of
at most MOST_TOLD rows, and in the paragraph that begins with PASSED. The call enters at most
MOST_SOURCES sources.
"""

import argparse
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

MOST_SOURCES = 20
MOST_TOLD = 12
SKIPPED = 77
RECORDED = "recorded_call"  # By name.
PREPARED = "recorded_prepared"
SECTION = "## One allreduce"
PASSED = "On the way the call passes through"


class Names:
    """Callgrind says a name once, with a number, and then the number."""

    def __init__(self):
        self.known = {}

    def __call__(self, text):
        number, name = re.match(r"\((\d+)\)(?: (.*))?$", text).groups()
        if name:
            self.known[number] = name
        return self.known[number]


class Walk:
    """The executed lines of one recorded call."""

    def __init__(self, lines):
        self.instructions = 0
        self.sources = collections.Counter()  # Instructions, by file.
        self.functions = set()
        self._read(lines)

    def _read(self, lines):
        files, functions = Names(), Names()
        file = function = None
        costs_of_callee = False
        for line in lines:
            field = re.match(r"(fl|fi|fe|fn|cfi|cfl|cfn)=(.*)", line)
            if field:
                kind, text = field.groups()
                if kind in ("fl", "fi", "fe"):
                    file = files(text)
                elif kind in ("cfi", "cfl"):
                    files(text)
                elif kind == "fn":
                    function = functions(text)
                else:
                    functions(text)
            elif line.startswith("calls="):
                costs_of_callee = True
            elif re.match(r"[-+*\d]", line):
                if not costs_of_callee and file:
                    self._count(file, function, int(line.split()[1]))
                costs_of_callee = False

    def _count(self, file, function, cost):
        self.instructions += cost
        if "/horovodpp/" in file and "/test/" not in file:
            self.sources[file.rsplit("/horovodpp/", 1)[1]] += cost
            self.functions.add(function)


def record(valgrind, program, function):
    """The walks of all calls of a function."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "walk")
        run = subprocess.run(
            [valgrind, "--tool=callgrind", "--separate-threads=yes", "--fair-sched=yes",
             "--dump-line=yes", "--collect-atstart=no", f"--toggle-collect={function}",
             f"--dump-after={function}", f"--callgrind-out-file={out}", program],
            env={**os.environ, "LD_BIND_NOW": "1"}, capture_output=True, text=True)
        if run.returncode != 0:
            sys.exit(f"{program} failed under valgrind:\n{run.stdout}{run.stderr}")
        walks = []
        for path in glob.glob(f"{out}*"):
            with open(path, encoding="utf-8", errors="replace") as dump:
                walk = Walk(dump.read().splitlines())
            if walk.sources:
                walks.append(walk)
        return walks


def told(page):
    """The sources that the page names: in the table, and sources that are only passed."""
    section = page.split(SECTION + "\n", 1)[1].split("\n## ", 1)[0]
    rows = [line for line in section.splitlines() if re.match(r"\| *\d+ *\|", line)]
    passed = section.partition(PASSED)[2].split("\n\n", 1)[0]
    return ([re.search(r"`([^`]+\.cc)`", row).group(1) for row in rows],
            re.findall(r"`([^`]+\.cc)`", passed))


def complaints(walk, table, passed):
    """The differences between a walk and the page."""
    entered = {source for source in walk.sources if source.endswith(".cc")}
    names = table + passed
    found = []
    if len(table) > MOST_TOLD:
        found.append(f"the table has {len(table)} rows; {MOST_TOLD} is the most")
    for name in sorted(entered - set(names)):
        found.append(f"{name} is entered, and the page does not say so")
    for name in sorted(set(names) - entered):
        found.append(f"{name} is on the page, and is not entered")
    for name in sorted({name for name in names if names.count(name) > 1}):
        found.append(f"{name} is on the page twice")
    if len(entered) > MOST_SOURCES:
        found.append(f"{len(entered)} sources are entered; {MOST_SOURCES} is the most")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--program", required=True)
    parser.add_argument("--page", required=True)
    parser.add_argument("--valgrind", default="valgrind")
    options = parser.parse_args()
    if not options.valgrind or options.valgrind.endswith("-NOTFOUND"):
        print("valgrind is not installed; scripts/install_dependencies.sh test does that")
        sys.exit(SKIPPED)
    shortest = {}
    for function in (PREPARED, RECORDED):
        walks = record(options.valgrind, options.program, function)
        if not walks:
            sys.exit(f"callgrind has recorded nothing of {function}")
        walk = shortest[function] = min(walks, key=lambda each: each.instructions)
        sources = [name for name in walk.sources if name.endswith(".cc")]
        print(f"{function}: {walk.instructions} instructions, "
              f"{len(walk.functions)} functions, {len(sources)} sources")
    walk = shortest[RECORDED]
    with open(options.page, encoding="utf-8") as page:
        found = complaints(walk, *told(page.read()))
    for complaint in found:
        print(complaint)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
