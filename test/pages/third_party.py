# SPDX-License-Identifier: Apache-2.0
"""Holds THIRD_PARTY.md to what the build looks for.

    third_party.py <root>
"""

import pathlib
import re
import sys

# Of the system or of CMake, and what is ours.
NOT_LISTED = {"Threads", "PkgConfig", "Python", "Python3", "horovodpp"}


def looked_for(root):
    """{name: file} of what find_package() is asked for."""
    found = {}
    for folder in ("", "bindings", "cmake", "examples", "horovodpp", "horovodrun", "test"):
        paths = (root / folder).rglob("*") if folder else root.glob("*")
        for path in paths:
            if path.name == "CMakeLists.txt" or path.suffix in (".cmake", ".in"):
                for name in re.findall(r"find_(?:package|dependency)\(([\w-]+)", path.read_text()):
                    found.setdefault(name, path.relative_to(root))
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    listed = set(re.findall(r"`([\w-]+)`", (root / "THIRD_PARTY.md").read_text()))
    found = looked_for(root)
    missing = {name: file for name, file in found.items() if name not in listed | NOT_LISTED}
    for name, file in missing.items():
        print(f"{file} looks for {name}, which THIRD_PARTY.md does not list")
    return 1 if missing or not found else 0


if __name__ == "__main__":
    sys.exit(main())
