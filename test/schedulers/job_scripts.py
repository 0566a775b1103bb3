# SPDX-License-Identifier: Apache-2.0
"""Common parts of the tests of jobs within schedulers: arguments, output, scripts of the pages."""

import argparse
import os
import pathlib
import sys

sys.path.append(os.path.join(os.path.dirname(__file__), os.pardir, "pages"))
import pages  # noqa: E402


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("root", type=pathlib.Path)
    for option in ("--horovodrun", "--hello", "--job-program"):
        parser.add_argument(option, required=True)
    given, given_rest = parser.parse_known_args()
    given.rest = given_rest
    return given


def sums(ranks):
    """The sorted lines of hello_allreduce in a job of this many ranks."""
    return [f"rank {rank} of {ranks}: the sum is {ranks * (ranks + 1) // 2}"
            for rank in range(ranks)]


def blocks(root, scheduler):
    """The pages' blocks that run in jobs of the scheduler."""
    return pages.snippets(root, "sh", scheduler)


def place(folder, horovodrun, hello):
    """Puts `horovodrun` and `./train`, as the pages' commands name them, into the folder."""
    for name, program in (("horovodrun", horovodrun), ("train", hello)):
        link = pathlib.Path(folder) / name
        if not link.exists():
            link.symlink_to(program)
