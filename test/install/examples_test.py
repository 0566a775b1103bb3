#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Builds the examples of existing training programs against an installed library, by their
Makefiles or by CMake. Compares their losses with the losses of the programs before their change to
data parallelism.

    examples_test.py --prefix P --libdir LIB --horovodrun H --work W [--option OPTION]
                     [--also FOLDER] [--define NAME=VALUE] [--again PROGRAM] FOLDER MOST

Removes the lines of the README's block ```diff from the program. The block has at most MOST lines.
Two ranks with half the batch compute the same as one rank with the whole batch.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

TOLERANCE = 1e-5
BATCH, STEPS = 32, 20


def changes(readme):
    """[(removed lines, added lines)] of the block, in order, without '-' and '+'."""
    block = re.search(r"^```diff\n--- [^\n]*\n\+\+\+ [^\n]*\n(.*?)^```$", readme, re.M | re.S)[1]
    found = []
    for line in block.splitlines():
        sign, text = line[0], line[1:]
        if sign == "-" or not found or not found[-1][0] or found[-1][1]:
            found.append(([], []))
        found[-1][0 if sign == "-" else 1].append(text)
    return found


def before(program, made):
    """The program before the changes."""
    lines, at = program.splitlines(), 0
    for taken_out, put_in in made:
        for number, line in enumerate(put_in):
            at = lines.index(line, at)  # Each follows the previous one.
            lines[at : at + 1] = taken_out if number == 0 else []
    return "\n".join(lines) + "\n"


def run(command, environment, **options):
    result = subprocess.run(command, env=environment, text=True, capture_output=True,
                            timeout=300, **options)
    if result.returncode:
        sys.exit(f"{command} ended with {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def losses(text):
    """{step: loss}; ranks that print the same step must agree."""
    found = {}
    for step, loss in re.findall(r"step (\d+): loss ([\d.]+)", text):
        if found.setdefault(int(step), float(loss)) != float(loss):
            sys.exit(f"ranks have different losses in step {step}:\n{text}")
    return found


def compared_again(program, args, environment, two):
    """Adds the losses of a second program, which has no form without horovodpp, in two ranks to
    `two`; returns the losses of one rank with the whole batch. The steps are negative."""
    runs = [losses(run([args.horovodrun, args.option, "-np", str(ranks), str(program),
                        str(BATCH // ranks), str(STEPS)], environment)) for ranks in (1, 2)]
    if any(len(found) != STEPS for found in runs):
        sys.exit(f"{program.name} has the steps {[sorted(found) for found in runs]}")
    one, parallel = ({-1 - step: loss for step, loss in found.items()} for found in runs)
    two.update(parallel)
    return one


def built(folder, work, environment, program, args, parallel):
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(folder, work)
    source, text = program
    (work / source).write_text(text)
    if (work / "CMakeLists.txt").exists():
        run(["cmake", "-S", str(work), "-B", str(work), "-Wno-dev", "-D" + args.compiler,
             "-DCMAKE_PREFIX_PATH=" + ";".join([args.prefix, *args.also]), *("-D" + each for each in args.define)],
            environment)
        targets = [source.rpartition(".")[0], *filter(None, [args.again if parallel else None])]
        run(["cmake", "--build", str(work), "--target", *targets], environment)
    else:
        run(["make", "-s", "-C", str(work), args.compiler], environment)
    return work / source.rpartition(".")[0]


def main():
    parser = argparse.ArgumentParser()
    for name in ("prefix", "libdir", "horovodrun", "work", "compiler"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--option", default="--no-mpi")
    parser.add_argument("--also", action="append", default=[],
                        help="where CMake looks besides the prefix")
    parser.add_argument("--define", action="append", default=[], help="what CMake is told")
    parser.add_argument("--again", help="a second program of the folder, compared with itself")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("most", type=int)
    args = parser.parse_args()

    libraries = f"{args.prefix}/{args.libdir}"
    environment = {**os.environ, "PKG_CONFIG_PATH": f"{libraries}/pkgconfig",
                   "LD_LIBRARY_PATH": libraries}
    readme = (args.folder / "README.md").read_text()
    made = changes(readme)
    count = sum(max(map(len, change)) for change in made)
    if count > args.most:
        sys.exit(f"{count} lines were changed, more than {args.most}")
    makefile = args.folder / "Makefile"
    if makefile.exists() and sum(map(bool, makefile.read_text().splitlines())) > 5:
        sys.exit("the Makefile has more than five lines")

    source = re.search(r"^--- (\S+)$", readme, re.M)[1]
    text = (args.folder / source).read_text()
    alone = before(text, made)
    if re.search(r"hvd|include <horovodpp", alone):
        sys.exit("what was there before knows of horovodpp")
    work = pathlib.Path(args.work) / args.folder.name
    parallel = built(args.folder, work / "parallel", environment, (source, text), args, True)
    single = built(args.folder, work / "alone", environment, (source, alone), args, False)

    one = losses(run([single, str(BATCH), str(STEPS)], environment))
    two = losses(run([args.horovodrun, args.option, "-np", "2", str(parallel), str(BATCH // 2),
                      str(STEPS)], environment))
    if len(one) != STEPS or set(one) != set(two):
        sys.exit(f"one rank has the steps {sorted(one)}, two have {sorted(two)}")
    if args.again:
        one.update(compared_again(parallel.parent / args.again, args, environment, two))
    worst = max(abs(one[step] - two[step]) for step in one)
    print(f"{count} lines; {STEPS} losses from {one[0]} to {one[STEPS - 1]} "
          f"differ by {worst:.1e} at most")
    return worst > TOLERANCE


if __name__ == "__main__":
    sys.exit(main())
