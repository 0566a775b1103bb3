# SPDX-License-Identifier: Apache-2.0
"""Checks the exceptions and the headers that horovodpp/ shows to its users.

    boundary.py <root> [--mend]

The library throws only hvd::Error, so that one `catch` is enough, and std::bad_alloc, which the
system's allocators throw as well.

The users' headers are listed in cmake/PublicHeaders.cmake, with the headers that these include.
Only users' headers open their namespaces with HVD_EXPORT, which --mend writes. (So do sources that
instantiate templates for users.) Users' headers include no other library. collectives.h includes no
standard header that is slow to compile.
"""

import argparse
import pathlib
import re
import sys

COMMENT = re.compile(r"//.*")
THROW = re.compile(r"\bthrow(?:_with_nested\(|\s)\s*([^\s(;{]+)")
# ReplayIsComplete ends the second run of a checkpointed function; the library catches it.
OURS = re.compile(r"(?:hvd::)?(?:\w+::)*(?:InvalidArgument|\w*Error|HostsUpdatedInterrupt|ReplayIsComplete)")


INCLUDE = re.compile(r'^#include "(horovodpp/[^"]+)"', re.MULTILINE)
FOREIGN = re.compile(r'^#include [<"]((?:absl|spdlog|fmt|nlohmann|hwy|mpi|CLI|zlib|oneapi|cblas)\b.*)[>"]',
                     re.MULTILINE)
SLOW = re.compile(r"^#include <(algorithm|atomic|chrono|condition_variable|functional|future|"
                  r"iostream|map|mutex|ranges|span|sstream|thread|unordered_map)>", re.MULTILINE)
NAMESPACE = re.compile(r"^namespace hvd(?:::(?P<inner>[\w:]+))? {$", re.MULTILINE)
EXPORT = "HVD_EXPORT hvd {"

# A caller within the library catches these.
CAUGHT_INSIDE = {"ReplayIsComplete"}


def closure(root, headers):
    """`headers` and all headers of horovodpp/ that they include."""
    waiting, found = list(headers), set()
    while waiting:
        header = waiting.pop()
        if header not in found and (root / header).exists():
            found.add(header)
            waiting += INCLUDE.findall((root / header).read_text())
    return sorted(found)


def public_headers(root):
    listed = (root / "cmake" / "PublicHeaders.cmake").read_text()
    return closure(root, re.findall(r"^  (horovodpp/\S+\.h)", listed, re.MULTILINE))


def mended(text):
    """`text` with HVD_EXPORT at every namespace that lacks it."""
    while found := NAMESPACE.search(text):
        inner = found["inner"]
        opening = "namespace HVD_EXPORT hvd {" + (f"\nnamespace {inner} {{" if inner else "")
        end = f"}}  // namespace hvd{'::' + inner if inner else ''}\n"
        closing = (f"}}  // namespace {inner}\n" if inner else "") + "}  // namespace hvd\n"
        head, tail = text[: found.start()], text[found.end() :]
        text = head + opening + tail.replace(end, closing, 1)
    if EXPORT in text and '/core/export.h"' not in text:
        last = list(re.finditer(r"^#include .*\n", text, re.MULTILINE))
        include = '#include "horovodpp/core/export.h"\n'
        own = [m for m in last if m.group().startswith('#include "horovodpp/')
               and "needs_cxx" not in m.group()]
        later = [m for m in own if m.group() > include]
        if later:
            at = later[0].start()
        elif own:
            at = own[-1].end()
        else:
            at = last[-1].end() if last else text.index("#pragma once\n") + len("#pragma once\n")
            include = "\n" + include
        text = text[:at] + include + text[at:]
    return text


def sources(root):
    for path in sorted((root / "horovodpp").rglob("*")):
        if path.suffix in (".h", ".cc"):
            yield path


def foreign_throws(path):
    """(line, class) of thrown exceptions that are no hvd::Error."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for thrown in THROW.findall(COMMENT.sub("", line)):
            is_ours = OURS.fullmatch(thrown) and not thrown.startswith("std::")
            if not is_ours and thrown not in CAUGHT_INSIDE | {"std::bad_alloc"}:
                yield number, thrown


def faults(root):
    for path in sources(root):
        for line, thrown in foreign_throws(path):
            yield f"{path.relative_to(root)}:{line}: throws {thrown}, which is no hvd::Error"
    public = public_headers(root)
    for header in public:
        text = (root / header).read_text()
        if NAMESPACE.search(text):
            yield f"{header}: is installed, and opens its namespace without HVD_EXPORT"
        for included in FOREIGN.findall(text):
            yield f"{header}: is installed, and includes {included}"
    for path in sources(root):
        name = str(path.relative_to(root))
        if name not in public and EXPORT in path.read_text() and name.endswith(".h") \
                and not name.endswith("/export.h"):
            yield f"{name}: is not installed, and opens its namespace with HVD_EXPORT"
    for header in closure(root, ["horovodpp/collectives.h"]):
        for included in SLOW.findall((root / header).read_text()):
            yield f"{header}: is included by collectives.h, and reads <{included}>"


def mend(root):
    for header in public_headers(root):
        if header.endswith("/export.h"):
            continue
        path = root / header
        text = path.read_text()
        if mended(text) != text:
            path.write_text(mended(text))
            print(f"{header}: mended")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("--mend", action="store_true")
    args = parser.parse_args()
    if args.mend:
        mend(args.root)
    found = list(faults(args.root))
    print("\n".join(found) or "the boundary holds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
