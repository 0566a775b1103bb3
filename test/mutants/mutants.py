# SPDX-License-Identifier: Apache-2.0
"""The list of mutants, and sources that hold all mutants of a file.

Such a source selects at run time, by the number in HVD_MUTANT, between the original and one
mutant. One build therefore serves all mutants.
"""

import dataclasses
import pathlib
import re

LIST = pathlib.Path(__file__).resolve().with_name("mutants.txt")
VARIABLE = "HVD_MUTANT"
HEADER = "horovodpp/hvd_mutant.h"
HEADER_TEXT = f"""\
#pragma once
#include <cstdlib>

inline bool hvd_mutant(int number) {{
  static const int chosen = [] {{
    const char* text = std::getenv("{VARIABLE}");
    return text == nullptr ? 0 : std::atoi(text);
  }}();
  return chosen == number;
}}
"""


class ListError(Exception):
    """The list is malformed, or does not fit a source."""


@dataclasses.dataclass
class Mutant:
    number: int
    name: str
    file: str = ""
    program: str = ""
    cases: str = ""
    original: str = ""
    mutated: str = ""

    @property
    def is_statement(self):
        return self.original.endswith((";", "}"))

    def both(self):
        """The text that takes the original's place."""
        chosen = f"hvd_mutant({self.number})"
        if self.is_statement:
            return f"{{ if ({chosen}) {{ {self.mutated} }} else {{ {self.original} }} }}"
        return f"({chosen} ? ({self.mutated}) : ({self.original}))"


def parse(text):
    """The mutants of a list."""
    mutants = []
    for at, line in enumerate(text.splitlines(), 1):
        found = re.fullmatch(r"\[(.+)\]|(file|test|-|\+) (.+)", line)
        if not line or line.startswith("#"):
            continue
        if not found or not (found[1] or mutants):
            raise ListError(f"line {at} is none of a list of mutants: {line}")
        if found[1]:
            mutants.append(Mutant(len(mutants) + 1, found[1]))
        elif found[2] == "file":
            mutants[-1].file = found[3]
        elif found[2] == "test":
            mutants[-1].program, _, mutants[-1].cases = found[3].partition(" ")
        else:
            field = "original" if found[2] == "-" else "mutated"
            before = getattr(mutants[-1], field)
            setattr(mutants[-1], field, f"{before}\n{found[3]}" if before else found[3])
    for mutant in mutants:
        if not (mutant.file and mutant.cases and mutant.original):
            raise ListError(f"[{mutant.name}] lacks its file, its test or its original text")
        if not (mutant.mutated or mutant.is_statement):
            raise ListError(f"[{mutant.name}] has an expression and nothing in its place")
    if len({mutant.name for mutant in mutants}) < len(mutants):
        raise ListError("two mutants have one name")
    return mutants


def rewritten(source, mutants):
    """`source` with all of these mutants in it."""
    spans = []
    for mutant in mutants:
        count = source.count(mutant.original)
        if count != 1:
            raise ListError(f"[{mutant.name}] {mutant.file} holds its original text "
                            f"{count} times, not once:\n{mutant.original}")
        begin = source.index(mutant.original)
        spans.append((begin, begin + len(mutant.original), mutant))
    spans.sort(key=lambda span: span[:2])
    for one, next_one in zip(spans, spans[1:]):
        if one[1] > next_one[0]:
            raise ListError(f"[{one[2].name}] and [{next_one[2].name}] overlap")
    for begin, end, mutant in reversed(spans):
        source = source[:begin] + mutant.both() + source[end:]
    return f'#include "{HEADER}"\n{source}'


def rewritten_sources(root, mutants):
    """The text of each file that has mutants, by its path below `root`."""
    texts = {}
    for file in sorted({mutant.file for mutant in mutants}):
        path = pathlib.Path(root) / file
        if not path.is_file():
            raise ListError(f"there is no {file}")
        texts[file] = rewritten(path.read_text(), [one for one in mutants if one.file == file])
    return texts
