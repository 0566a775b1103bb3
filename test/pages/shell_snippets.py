# SPDX-License-Identifier: Apache-2.0
"""Runs the pages' snippets of shell with the library that is installed in a prefix.

    shell_snippets.py <root> --prefix P --libdir LIB --work FOLDER

Each snippet runs in its own folder. A copy of train.c is the user's program, and ./train is the
compiled program.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

import pages

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ("train.c",)


def environment(prefix, libdir):
    found = dict(os.environ)
    found["PATH"] = f"{prefix / 'bin'}{os.pathsep}{found['PATH']}"
    found["PKG_CONFIG_PATH"] = str(prefix / libdir / "pkgconfig")
    found["LD_LIBRARY_PATH"] = str(prefix / libdir)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--prefix", type=pathlib.Path, required=True)
    parser.add_argument("--libdir", required=True)
    parser.add_argument("--work", type=pathlib.Path, required=True)
    args = parser.parse_args()
    surroundings = environment(args.prefix, args.libdir)
    shutil.rmtree(args.work, ignore_errors=True)
    args.work.mkdir(parents=True)
    for program in PROGRAMS:
        shutil.copy(HERE / program, args.work)
    subprocess.run("cc train.c -o train $(horovodpp-config --c --cflags --libs)", shell=True,
                   cwd=args.work, env=surroundings, check=True)
    found = pages.snippets(args.root, "sh")
    failed = []
    for block in found:
        folder = args.work / block.name
        folder.mkdir()
        for program in (*PROGRAMS, "train"):
            shutil.copy(args.work / program, folder)
        print(f"{block.place} {block.name}", flush=True)
        result = subprocess.run(["sh", "-eu", "-c", block.code], cwd=folder, env=surroundings,
                                timeout=120)
        if result.returncode:
            failed.append(f"{block.place} {block.name}: exit code {result.returncode}")
    print(*failed, f"{len(found)} snippets, {len(failed)} failed", sep="\n")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
