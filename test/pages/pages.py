# SPDX-License-Identifier: Apache-2.0
"""The blocks of code in README.md, docs/ and the READMEs of the examples.

A line before each block of a language that tests can run names the block, or has the reason why
no test runs it. A block of shell may need more than one machine; a test of its own starts that:

    <!-- snippet: shortest_program -->
    <!-- snippet on hosts: two_hosts -->
    <!-- not run: needs a cluster's modules -->

    pages.py <root>      fails if a block has neither, or if two blocks have one name
"""

import collections
import dataclasses
import pathlib
import re
import sys

BLOCK = re.compile(r"^(?:<!-- (snippet|not run)(?: on (\w+))?: ([^\n]*) -->\n)?```([\w+]*)[^\n]*\n(.*?)^```$",
                   re.MULTILINE | re.DOTALL)
NAME = re.compile(r"[a-z][a-z0-9_]*")
OTHER_NAMES = {"c++": "cpp", "cc": "cpp", "cxx": "cpp", "py": "python", "bash": "sh", "console": "sh",
               "shell": "sh"}
# The tests of blocks that need more than one machine.
TESTS = {"hosts": "test/horovodrun/hosts/pages_test.py",
         "slurm": "test/schedulers/slurm_test.py",
         "pbs": "test/schedulers/found_hosts_test.py",
         "lsf": "test/schedulers/found_hosts_test.py"}
MUST_BE_NAMED = {"c", "cmake", "cpp", "python", "sh"}


@dataclasses.dataclass
class Block:
    page: pathlib.Path  # Relative to the root.
    line: int  # Of its first line of code.
    language: str
    code: str
    name: str  # Empty if it has none.
    reason: str  # Why it is not run.
    where: str  # Its machines, if not this machine alone: a key of TESTS.

    @property
    def place(self):
        return f"{self.page}:{self.line}"


def pages(root):
    return [root / "README.md", *sorted((root / "docs").glob("*.md")),
            *sorted((root / "examples").glob("*/README.md"))]


def blocks(root):
    for page in pages(root):
        text = page.read_text()
        for found in BLOCK.finditer(text):
            kind, where, said, language, code = found.groups()
            language = OTHER_NAMES.get(language, language)
            yield Block(page.relative_to(root), text.count("\n", 0, found.start(5)) + 1, language,
                        code, said if kind == "snippet" else "",
                        said if kind == "not run" else "", where or "")


def snippets(root, language, where=""):
    """The blocks of a language that run at `where`.

    Blocks with libtorch have names that begin with "libtorch_", and count as another language than
    C++.
    """
    def language_of(block):
        is_libtorch = block.language == "cpp" and block.name.startswith("libtorch_")
        return "libtorch" if is_libtorch else block.language

    return [block for block in blocks(root)
            if block.name and block.where == where and language_of(block) == language]


def mistakes(root):
    names = collections.defaultdict(list)
    for block in blocks(root):
        if block.name:
            names[block.name].append(block.place)
            if not NAME.fullmatch(block.name):
                yield f"{block.place}: '{block.name}' is no name of a function"
            if block.where and (block.where not in TESTS or block.language != "sh"):
                yield (f"{block.place}: no test runs a block of {block.language} on "
                       f"'{block.where}'; tests run shell on {', '.join(TESTS)}")
        elif block.language in MUST_BE_NAMED and not block.reason.strip():
            yield (f"{block.place}: a block of {block.language} is run by a test, under a name "
                   "(<!-- snippet: NAME -->), or says why not (<!-- not run: REASON -->)")
    for name, places in names.items():
        if len(places) > 1:
            yield f"'{name}' is the name of {' and '.join(places)}"


def main():
    root = pathlib.Path(sys.argv[1])
    found = list(blocks(root))
    wrong = list(mistakes(root))
    print(*wrong, sep="\n", end="\n" if wrong else "")
    named = sum(bool(block.name) for block in found)
    print(f"{len(found)} blocks, {named} of them run")
    return 1 if wrong or not named else 0


if __name__ == "__main__":
    sys.exit(main())
