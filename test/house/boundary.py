"""Holds horovodpp/ to what it promises to those outside.

    boundary.py <root>

Whatever the library throws is an hvd::Error, so that one `catch` is enough; the one exception
is std::bad_alloc, which the system's allocators throw as well.
"""

import argparse
import pathlib
import re
import sys

COMMENT = re.compile(r"//.*")
THROW = re.compile(r"\bthrow(?:_with_nested\(|\s)\s*([^\s(;{]+)")
OURS = re.compile(r"(?:hvd::)?(?:\w+::)*(?:InvalidArgument|\w*Error)")


def sources(root):
    for path in sorted((root / "horovodpp").rglob("*")):
        if path.suffix in (".h", ".cc"):
            yield path


def foreign_throws(path):
    """(line, class) of what is thrown and is no hvd::Error."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for thrown in THROW.findall(COMMENT.sub("", line)):
            is_ours = OURS.fullmatch(thrown) and not thrown.startswith("std::")
            if not is_ours and thrown != "std::bad_alloc":
                yield number, thrown


def faults(root):
    for path in sources(root):
        for line, thrown in foreign_throws(path):
            yield f"{path.relative_to(root)}:{line}: throws {thrown}, which is no hvd::Error"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    found = list(faults(parser.parse_args().root))
    print("\n".join(found) or "the boundary holds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
