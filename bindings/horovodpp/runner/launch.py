# SPDX-License-Identifier: Apache-2.0
"""The launcher, called from Python."""
import os
import sys

from horovodpp.runner import launcher


def run_commandline():
    """Becomes horovodrun, with this program's arguments. RuntimeError: there is no horovodrun."""
    program = launcher()
    os.execv(program, [program, *sys.argv[1:]])


if __name__ == "__main__":
    run_commandline()
