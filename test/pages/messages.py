# SPDX-License-Identifier: Apache-2.0
"""Checks that the sources have the messages of docs/troubleshooting.md and the settings of the
pages.

    messages.py <root>

A heading `### `message`` quotes a message. Each piece between `…` must occur in a string of one
source. A source must read each variable HOROVODPP_… that a page names.
"""

import pathlib
import re
import sys

import pages

HEADING = re.compile(r"^### `(.*)`$", re.MULTILINE)
LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
SOURCES = ("horovodpp", "horovodrun", "bindings")
FOLDERS_OF_SETTINGS = (*SOURCES, "cmake", "test")
LEAST = 12  # Characters of the longest piece of a message: shorter ones occur by chance.


def files(root, folders):
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cc", ".h", ".py", ".cmake"):
                yield path


def strings(text):
    """The string literals of a source, those side by side put together."""
    found, end = [], None
    for literal in LITERAL.finditer(text):
        between = text[end:literal.start()] if end is not None else ","
        if re.fullmatch(r"[\s\\f]*", between) and found:
            found[-1] += literal[1]
        else:
            found.append(literal[1])
        end = literal.end()
    return [each.replace('\\"', '"') for each in found]


def pieces(message):
    return [piece for piece in re.split(r"\s*…\s*", message) if piece]


def has(literals, message):
    return all(any(piece in literal for literal in literals) for piece in pieces(message))


def mistakes(root):
    page = root / "docs" / "troubleshooting.md"
    messages = HEADING.findall(page.read_text())
    if not messages:
        yield f"{page} quotes no message"
    sources = [strings(path.read_text()) for path in files(root, SOURCES)]
    for message in messages:
        if max(map(len, pieces(message)), default=0) < LEAST:
            yield f"'{message}' says too little to be looked for"
        elif not any(has(literals, message) for literals in sources):
            yield f"no source says '{message}'"
    known = set()
    for path in files(root, FOLDERS_OF_SETTINGS):
        known.update(re.findall(r"HOROVODPP_[A-Z_]+", path.read_text()))
    for path in pages.pages(root):
        for name in sorted(set(re.findall(r"\bHOROVODPP_[A-Z_]*[A-Z]", path.read_text()))):
            if name not in known:
                yield f"{path.relative_to(root)}: nothing reads {name}"


def main():
    root = pathlib.Path(sys.argv[1])
    wrong = list(mistakes(root))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    count = len(HEADING.findall((root / "docs" / "troubleshooting.md").read_text()))
    print(f"{count} messages, {len(wrong)} mistakes")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
