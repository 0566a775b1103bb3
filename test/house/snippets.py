# SPDX-License-Identifier: Apache-2.0
"""Compiles the C++ of README.md and docs/*.md, all of it as one source.

    snippets.py <root> --compiler c++ [--include FOLDER[:FOLDER...]] [--context HEADER]

A block that begins with ```cpp is a program, if it has a main, or statements of
a function. What these take from the text around them stands in the context. The
compiler names file and line of the page.
"""

import argparse
import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```cpp\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INCLUDE = re.compile(r"^#include .*$", re.MULTILINE)


def pages(root):
    return [root / "README.md", *sorted((root / "docs").glob("*.md"))]


def snippets(root):
    """(page, number of its first line, code) of every block."""
    for page in pages(root):
        text = page.read_text()
        for block in BLOCK.finditer(text):
            line = text.count("\n", 0, block.start(1)) + 1
            yield page.relative_to(root), line, block.group(1)


def source(found, context):
    """One source of all snippets."""
    includes, bodies = [], []
    for number, (page, line, code) in enumerate(found):
        includes += INCLUDE.findall(code)
        code = INCLUDE.sub("", code)
        kind = "namespace" if re.search(r"\bint main\(", code) else "void"
        name = f"snippet_{number}" if kind == "namespace" else f"snippet_{number}()"
        bodies.append(f'#line {line} "{page}"\n{kind} {name} {{ {code}}}\n')
    context_include = [f'#include "{context}"'] if context else []
    return "\n".join([*dict.fromkeys(includes), *context_include, *bodies])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--include", default="")
    parser.add_argument("--context", default="")
    args = parser.parse_args()
    found = list(snippets(args.root))
    if not found:
        print(f"{args.root}: no page has a block of C++")
        return 1
    folders = [f"-I{folder}" for folder in args.include.split(":") if folder]
    command = [args.compiler, "-std=c++20", "-w", "-fsyntax-only", *folders, "-x", "c++", "-"]
    result = subprocess.run(command, input=source(found, args.context), text=True)
    print(f"{len(found)} snippets: {'they compile' if result.returncode == 0 else 'see above'}")
    return result.returncode


if __name__ == "__main__":
    sys.exit(main())
