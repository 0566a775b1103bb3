#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes each mutant of mutants.txt and reports the assertion that notices it.

  run.py                      all, in a copy of the tree at build/mutants
  run.py --only board: hosts: mutants whose names contain one of these words
  run.py --check              only checks that the list fits the sources
  run.py --write              also writes the result into docs/testing.md

One build contains all mutants, and an environment variable selects one. A test kills a mutant if
an assertion fails within --limit seconds; a crash, an exception or a hang does not count. The exit
code is 0 if all mutants were killed.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import selectors
import signal
import statistics
import subprocess
import sys
import time

import mutants

ROOT = pathlib.Path(__file__).resolve().parents[2]
BEGIN = "<!-- mutants: begin; written by test/mutants/run.py -->"
END = "<!-- mutants: end -->"
OUTCOMES = ("killed", "survived", "crashed", "hung")

#   /somewhere/test/core/core_test.cc:12: Failure
FAILURE = re.compile(r"(?:.*/)?(test/\S+:\d+): Failure$")
CASE = re.compile(r"\[ RUN      \] (\S+)")


@dataclasses.dataclass
class Result:
    outcome: str
    by: str  # The test and the line of the assertion that failed.
    seconds: float


def sources_of(root):
    """The tracked files, and untracked files that git does not ignore."""
    listed = subprocess.run(["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=root,
                            check=True, capture_output=True, text=True).stdout
    return [path for path in listed.split("\0") if path and (root / path).is_file()]


def put(path, content, like=None):
    """Writes the file unless it has this content, so that unchanged files are not rebuilt."""
    if path.is_file() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if like is not None:
        stat = like.stat()
        path.chmod(stat.st_mode)
        os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


def copy_tree(work, all_mutants):
    """Makes `work` a copy of the tree that holds the mutants."""
    texts = mutants.rewritten_sources(ROOT, all_mutants)
    texts[mutants.HEADER] = mutants.HEADER_TEXT
    for path in sources_of(ROOT):
        if path not in texts:
            put(work / path, (ROOT / path).read_bytes(), like=ROOT / path)
    for path, text in texts.items():
        put(work / path, text.encode())


def build(work, options, programs):
    subprocess.run(["cmake", "--preset", options.preset, "--log-level=WARNING",
                    *options.configure], cwd=work, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", f"build/{options.preset}", "-j", str(options.jobs),
                    "-t", *programs], cwd=work, check=True)


def find_program(folder, name):
    found = [path for path in folder.glob(f"**/{name}") if path.is_file()]
    if len(found) != 1:
        raise mutants.ListError(f"{folder} has {len(found)} programs {name}")
    return found[0]


class Watched:
    """A test program under way, read until its first assertion fails, its end or the limit."""

    def __init__(self, command, environment, limit):
        self.begin = time.monotonic()
        self.limit = limit
        self.case = ""
        self.last = []
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                                        start_new_session=True)

    def lines(self):
        """The program's lines; None at the limit. Stops when the program ends, even if its
        children still hold its output."""
        pending = b""
        with selectors.DefaultSelector() as selector:
            selector.register(self.process.stdout, selectors.EVENT_READ)
            while True:
                if time.monotonic() - self.begin > self.limit:
                    yield None
                    return
                has_ended = self.process.poll() is not None
                if selector.select(0 if has_ended else 0.1):
                    piece = os.read(self.process.stdout.fileno(), 1 << 16)
                    *whole, pending = (pending + piece).split(b"\n")
                    yield from (line.decode(errors="replace") for line in whole)
                    if piece:
                        continue
                    self.process.wait()
                    return
                if has_ended:
                    return

    def outcome(self):
        for line in self.lines():
            if line is None:
                return "hung", f"in {self.case}"
            if found := CASE.search(line):
                self.case = found[1]
            if found := FAILURE.match(line):
                return "killed", f"{self.case} ({found[1]})"
            self.last = [*self.last[-20:], line]
        code = self.process.wait()
        if code == 0:
            return "survived", ""
        how = f"signal {-code}" if code < 0 else f"code {code}"
        return "crashed", f"{how}, last in {self.case}"

    def result(self):
        try:
            outcome, by = self.outcome()
        finally:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            self.process.wait()
            self.process.stdout.close()
        return Result(outcome, by, time.monotonic() - self.begin)


def run_test(work, options, program, cases, number=None):
    environment = dict(os.environ)
    environment.pop(mutants.VARIABLE, None)
    if number is not None:
        environment[mutants.VARIABLE] = str(number)
    path = find_program(work / "build" / options.preset / "test", program)
    # The unchanged program gets more time.
    limit = options.limit if number is not None else 10 * options.limit
    watched = Watched([path, f"--gtest_filter={cases}"], environment, limit)
    result = watched.result()
    if number is None and result.outcome == "survived" and not any(
            re.match(r"\[  PASSED  \] [1-9]", line) for line in watched.last):
        raise mutants.ListError(f"{program} has no cases {cases}")
    return result


def check_unchanged(work, options, chosen):
    """Checks that the tests pass without a mutant: otherwise no failure counts."""
    fine = True
    for program, cases in sorted({(one.program, one.cases) for one in chosen}):
        result = run_test(work, options, program, cases)
        print(f"  {result.seconds:6.1f} s  {program} {cases}", flush=True)
        if result.outcome != "survived":
            print(f"without a mutant: {result.outcome} {result.by}", file=sys.stderr)
            fine = False
    return fine


def table(chosen, results):
    """A row for each folder, for the page."""
    folders = {}
    for mutant, result in zip(chosen, results):
        folder = "/".join(pathlib.PurePath(mutant.file).parts[:-1])
        folders.setdefault(folder.removeprefix("horovodpp/"), []).append(result)
    rows = ["| sources | mutants | " + " | ".join(OUTCOMES) + " | median | longest |",
            "|---|" + "---:|" * (len(OUTCOMES) + 3)]
    for folder, found in [*folders.items(), ("**all**", results)]:
        counts = [sum(one.outcome == outcome for one in found) for outcome in OUTCOMES]
        seconds = [one.seconds for one in found]
        rows.append("| " + " | ".join([
            folder, str(len(found)), *map(str, counts), f"{statistics.median(seconds):.1f} s",
            f"{max(seconds):.1f} s"]) + " |")
    return "\n".join(rows)


def write(path, text):
    """Replaces the text between the markers of the page."""
    before, begin, rest = path.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise mutants.ListError(f"{path} has no lines '{BEGIN}' and '{END}'")
    path.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}")


def run(options):
    all_mutants = mutants.parse(mutants.LIST.read_text())
    if options.check:
        mutants.rewritten_sources(ROOT, all_mutants)
        return True
    chosen = [one for one in all_mutants
              if not options.only or any(word in one.name for word in options.only)]
    if not chosen:
        raise mutants.ListError("no mutant has such a name")
    work = options.work.resolve()
    copy_tree(work, all_mutants)
    build(work, options, sorted({one.program for one in chosen}))
    print("== without a mutant", flush=True)
    if not check_unchanged(work, options, chosen):
        return False
    print(f"== {len(chosen)} mutants", flush=True)
    results = []
    for mutant in chosen:
        result = run_test(work, options, mutant.program, mutant.cases, mutant.number)
        results.append(result)
        print(f"{mutant.number:3} {result.outcome:<8} {result.seconds:5.1f} s  {mutant.name}"
              f"{': ' if result.by else ''}{result.by}", flush=True)
    print(table(chosen, results))
    if options.write and not options.only:
        write(ROOT / "docs" / "testing.md", table(chosen, results))
    return all(result.outcome == "killed" for result in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="WORD")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "mutants")
    parser.add_argument("--preset", default="dev")
    parser.add_argument("--configure", action="append", default=[], metavar="OPTION",
                        help="of cmake, for the copy")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=60, help="seconds for a mutant")
    try:
        return 0 if run(parser.parse_args()) else 1
    except mutants.ListError as error:
        print(f"run.py: {error}", file=sys.stderr)
        return 2
    except subprocess.CalledProcessError as error:
        return error.returncode


if __name__ == "__main__":
    sys.exit(main())
