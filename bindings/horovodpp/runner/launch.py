# SPDX-License-Identifier: Apache-2.0
"""Starts the launcher from Python."""
import os
import sys

from horovodpp.runner import launcher


def run_commandline():
    """Replaces this process by horovodrun, with the same arguments.

    Raises RuntimeError if horovodrun is missing.
    """
    program = launcher()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    run_commandline()
