# SPDX-License-Identifier: Apache-2.0
"""Runs the pages' snippets in Python, in every rank of the job that it is part of.

    horovodrun -np 2 python python_snippets.py <root>

The function of a snippet's name in python_context.py returns a dictionary of the names that the
snippet uses.
"""

import importlib.util
import pathlib
import sys

import pages

SKIPPED = 77
if importlib.util.find_spec("torch") is None:
    print(f"SKIPPED: {sys.executable} has no torch: scripts/install_dependencies.sh test")
    sys.exit(SKIPPED)

import horovodpp.torch as hvd  # noqa: E402

import python_context  # noqa: E402


def run(root, block):
    # Lines of the code keep the numbers that they have in the page.
    code = compile("\n" * (block.line - 1) + block.code, root / block.page, "exec")
    if "hvd.init()" not in block.code:
        hvd.init()
    names = {"hvd": hvd, "__name__": "__main__"}
    names.update(getattr(python_context, block.name, dict)())
    exec(code, names)
    hvd.shutdown()


def main():
    root = pathlib.Path(sys.argv[1])
    found = pages.snippets(root, "python")
    for block in found:
        print(f"{block.place} {block.name}", file=sys.stderr, flush=True)
        run(root, block)
    print(f"{len(found)} snippets ran", file=sys.stderr)
    return 0 if found else 1


if __name__ == "__main__":
    sys.exit(main())
