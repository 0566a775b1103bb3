# SPDX-License-Identifier: Apache-2.0
"""Runs step 5 of the tutorial, and compares its output with the page.

    tutorial_output.py <root> --prefix P --work FOLDER --compiler CXX

The program of step 3 is compiled with the library in the prefix. Two ranks train until one of them
is killed.
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pages


def output_on(page):
    """The page's only block of output."""
    block, = re.findall(r"```text\n(.*?)```", page.read_text(), re.DOTALL)
    return block.splitlines()


def build(root, prefix, work, compiler):
    """The program of step 3, with no end."""
    step, = (block for block in pages.snippets(root, "cpp") if block.name == "tutorial_all_ranks")
    longer = step.code.replace("epoch < 10;", ";")
    assert longer != step.code, "the loop over epochs is another one"
    (work / "train.cc").write_text(longer)
    flags = subprocess.run([prefix / "bin/horovodpp-config", "--cflags", "--libs", "--rpath"],
                           check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    subprocess.run([compiler, "-O0", "train.cc", "-o", "train", *flags], cwd=work, check=True)


def process_of_rank(rank, program):
    """The process that runs it."""
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            runs_it = (process / "exe").resolve() == program
            variables = (process / "environ").read_bytes().split(b"\0") if runs_it else []
        except OSError:
            continue  # It has ended, or is another user's.
        if f"HOROVOD_RANK={rank}".encode() in variables:
            return int(process.name)
    raise RuntimeError(f"there is no rank {rank}")


def output_of(prefix, work):
    """The lines of standard error, and the exit code."""
    job = subprocess.Popen(
        [prefix / "bin/horovodrun", "--no-mpi", "-np", "2", "./train"], cwd=work, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ, OMP_NUM_THREADS="1"))
    try:
        line = job.stdout.readline()
        assert line.startswith("epoch 0: loss"), line
        os.kill(process_of_rank(1, work / "train"), signal.SIGKILL)
        _, errors = job.communicate(timeout=60)
    finally:
        job.terminate()  # Also ends its ranks; no effect once it has ended.
    return errors.splitlines(), job.returncode


def comparable(line):
    """Without the parts that differ between runs: hosts, processes, the awaited gradient."""
    line = re.sub(r"host '[^']*'", "host", line)
    line = re.sub(r"pid \d+", "pid", line)
    # The moment of the kill varies.
    line = re.sub(r"(horovodrun: rank 1) (was in|had|waited) .*", r"\1 did", line)
    return re.sub(r"gradient of '[^']*'", "gradient", line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--prefix", type=pathlib.Path, required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", required=True)
    args = parser.parse_args()
    work = args.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    build(args.root, args.prefix, work, args.compiler)
    printed, code = output_of(args.prefix, work)
    page = output_on(args.root / "docs/tutorial.md")
    print("printed:", *printed, f"exit code {code}", sep="\n")
    if list(map(comparable, printed)) == list(map(comparable, page)) and code == 137:
        return 0
    print("on the page:", *page, "exit code 137", sep="\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
