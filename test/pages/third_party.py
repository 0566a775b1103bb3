# SPDX-License-Identifier: Apache-2.0
"""Checks that THIRD_PARTY.md lists the packages of the build.

    third_party.py <root>
"""

import pathlib
import re
import sys

# Packages of the system, of CMake and of this project.
NOT_LISTED = {"Threads", "PkgConfig", "Python", "Python3", "horovodpp"}


def looked_for(root):
    """{name: file} of the packages that find_package() looks for."""
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
