# SPDX-License-Identifier: Apache-2.0
"""Runs snippets of the pages in an empty folder, where they may leave files.

    run_snippets.py <folder> -- COMMAND...     the command, in that folder
"""

import pathlib
import shutil
import subprocess
import sys


def main():
    folder, separator, *command = sys.argv[1:]
    assert separator == "--", __doc__
    shutil.rmtree(folder, ignore_errors=True)
    pathlib.Path(folder).mkdir(parents=True)
    return subprocess.run(command, cwd=folder).returncode


if __name__ == "__main__":
    sys.exit(main())
