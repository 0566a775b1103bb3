# SPDX-License-Identifier: Apache-2.0
"""Checks the files of the project that hosting sites and tools read: CITATION.cff, the public CI,
and the templates of issues and pull requests.

    papers.py <root>
"""

import pathlib
import re
import sys

FILES = ("CITATION.cff", ".github/workflows/test.yml", ".github/ISSUE_TEMPLATE/bug.yml",
         ".github/ISSUE_TEMPLATE/feature.yml", ".github/ISSUE_TEMPLATE/config.yml",
         ".github/pull_request_template.md")
OF_CITATION = ("cff-version", "message", "title", "authors", "version", "license")
OF_TEMPLATE = ("name", "description", "body")


def keys(text):
    """The keys of the outermost mapping."""
    return set(re.findall(r"^([\w-]+):", text, re.MULTILINE))


def targets(makefile):
    return set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))


def mistakes(root):
    missing = [name for name in FILES if not (root / name).is_file()]
    yield from (f"{name} is missing" for name in missing)
    if missing:
        return
    texts = {name: (root / name).read_text() for name in FILES}
    for name, needed in (("CITATION.cff", OF_CITATION), (FILES[2], OF_TEMPLATE),
                         (FILES[3], OF_TEMPLATE), (FILES[1], ("name", "on", "jobs"))):
        for key in sorted(set(needed) - keys(texts[name])):
            yield f"{name} has no {key}"
    for name, text in texts.items():
        if "\t" in text:
            yield f"{name} has a tab, which YAML refuses"
    build = (root / "CMakeLists.txt").read_text()
    version = re.search(r"project\(horovodpp VERSION ([0-9.]+)", build)[1]
    if not re.search(rf"^version: {re.escape(version)}$", texts["CITATION.cff"], re.MULTILINE):
        yield f"CITATION.cff is not of version {version}"
    makefile = (root / "Makefile").read_text()
    workflow = texts[".github/workflows/test.yml"]
    for name in re.findall(r"'(test[a-z-]*)'", workflow) + re.findall(r"`make ([a-z-]+)`", workflow):
        if name not in targets(makefile):
            yield f"the workflow makes {name}, which is no target of the Makefile"
    builds = re.search(r"^BUILDS := (.+)$", makefile, re.MULTILINE)[1].split()
    matrix = re.search(r"build: \[([^]]+)\]", workflow)[1].split(", ")
    if builds != matrix:
        yield f"the workflow tests {matrix}; make test tests {builds}"
    for target in re.findall(r"`make ([a-z-]+)`", texts[".github/pull_request_template.md"]):
        if target not in targets(makefile):
            yield f"the template names make {target}, which is no target"


def main():
    found = list(mistakes(pathlib.Path(sys.argv[1])))
    print("\n".join(found))
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
