# SPDX-License-Identifier: Apache-2.0
"""python -m horovodpp.run_as_horovod SCRIPT [ARGUMENTS]: runs a Horovod script unchanged."""
import os
import runpy
import sys

from horovodpp.alias import install_as_horovod


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: python -m horovodpp.run_as_horovod SCRIPT [ARGUMENTS]")
    script = sys.argv[1]
    if not os.path.exists(script):
        sys.exit(f"horovodpp.run_as_horovod: file '{script}' does not exist")
    install_as_horovod()
    sys.argv = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
