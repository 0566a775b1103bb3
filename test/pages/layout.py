# SPDX-License-Identifier: Apache-2.0
"""The layout of the pages.

    layout.py <root>     fails if a line is too long, or if a column of a table has no name

Tables, headings (which quote messages), comments, output and addresses may be longer.
"""

import pathlib
import sys

import pages

LONGEST = 100
NOT_WRAPPED = ("|", "#", "<!--")
ADDRESS = "](https://"
OUTPUT = ("```", "```text", "```output")


def all_pages(root):
    return [*pages.pages(root), *(root / f"{name}.md" for name in
                                  ("CHANGELOG", "CONTRIBUTING", "SECURITY", "THIRD_PARTY"))]


def mistakes(text):
    """(number of the line, mistake)"""
    fence = before = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("```"):
            fence = "" if fence else line
        is_output = bool(fence) and fence in OUTPUT
        may_be_long = is_output or ADDRESS in line or line.lstrip().startswith(NOT_WRAPPED)
        if len(line) > LONGEST and not may_be_long:
            yield number, f"{len(line)} characters; {LONGEST} is the most"
        if line.startswith("|---") and any(not cell.strip() for cell in before.split("|")[1:-1]):
            yield number - 1, "a column of the table has no name"
        before = line


def main():
    root = pathlib.Path(sys.argv[1])
    found = [f"{page.relative_to(root)}:{number}: {mistake}" for page in all_pages(root)
             for number, mistake in mistakes(page.read_text())]
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
