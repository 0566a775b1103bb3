# SPDX-License-Identifier: Apache-2.0
"""Checks that the tests cite the autograd contract and that the contract is tested.

    contract.py <root of the repository>

Tests cite the items of docs/autograd_contract.md that they check, in comments: `// Item 91.`, `//
Items 71, 91.`. The page has every number once, in order. A test must cite each item, unless the
item begins with *Not built.* or *By type.* No test may cite an item that begins with *Not built.*
Prints each violation as file:line, and fails if any exist.
"""

import pathlib
import re
import sys

PAGE = "docs/autograd_contract.md"
ITEM = re.compile(r"^(\d+)\.\s+(\*(?:Not built|By type)\.\*)?")
NUMBERS = r"(\d+(?:(?:, and |, | and )\d+)*)"
CITATION = re.compile(r"//.*?\bItems? " + NUMBERS)
SUFFIXES = {".h", ".cc", ".cu"}


def items_of(page):
    """(line, number, mark) of every item; the mark is *Not built.*, *By type.* or None."""
    for line, text in enumerate(page.splitlines(), 1):
        match = ITEM.match(text)
        if match:
            yield line, int(match.group(1)), match.group(2)


def citations_in(source):
    """(line, number) of every item that the comments of a source cite."""
    for line, text in enumerate(source.splitlines(), 1):
        for citation in CITATION.finditer(text):
            for number in re.findall(r"\d+", citation.group(1)):
                yield line, int(number)


def violations(root):
    """Every violation in the repository at `root`, as printable lines."""
    root = pathlib.Path(root)
    items = list(items_of((root / PAGE).read_text()))
    if not items:
        yield f"{PAGE}: has no item"
    for wanted, (line, number, _) in enumerate(items, 1):
        if number != wanted:
            yield f"{PAGE}:{line}: item {number} stands where {wanted} belongs"
            return
    marks = {number: mark for _, number, mark in items}
    cited = set()
    for file in sorted((root / "test").rglob("*")):
        if file.suffix not in SUFFIXES:
            continue
        for line, number in citations_in(file.read_text()):
            cited.add(number)
            where = f"{file.relative_to(root).as_posix()}:{line}"
            if number not in marks:
                yield f"{where}: cites item {number}, which {PAGE} does not have"
            elif marks[number] == "*Not built.*":
                yield f"{where}: cites item {number}, which is not built according to {PAGE}"
    for line, number, mark in items:
        if mark is None and number not in cited:
            yield f"{PAGE}:{line}: no test cites item {number}"


def main():
    found = list(violations(sys.argv[1]))
    print("\n".join(found) or "tests and contract agree")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
