# SPDX-License-Identifier: Apache-2.0
"""Writes the ranges of letters and numbers of Unicode as a C++ source:
python make_unicode_ranges.py > horovodpp/data/tokenizer/unicode_ranges.cc
"""

import sys
import unicodedata


def ranges(category):
    """The [first, last] of the code points whose category begins with `category`."""
    found = []
    for code in range(sys.maxunicode + 1):
        if not unicodedata.category(chr(code)).startswith(category):
            continue
        if found and found[-1][1] == code - 1:
            found[-1][1] = code
        else:
            found.append([code, code])
    return found


def table(name, category):
    cells = [f"{{0x{first:X}, 0x{last:X}}}," for first, last in ranges(category)]
    rows = "".join("    " + " ".join(cells[i : i + 4]) + "\n" for i in range(0, len(cells), 4))
    return f"constexpr CodeRange {name}[] = {{\n{rows}}};\n"


print(
    f"""// SPDX-License-Identifier: Apache-2.0
// scripts/make_unicode_ranges.py writes this file from Unicode {unicodedata.unidata_version}.
#include "horovodpp/data/tokenizer/unicode_ranges.h"

namespace hvd::data {{
namespace {{

// clang-format off
{table("kLetters", "L")}
{table("kNumbers", "N")}// clang-format on

}}  // namespace

std::span<const CodeRange> letter_ranges() {{ return kLetters; }}
std::span<const CodeRange> number_ranges() {{ return kNumbers; }}

}}  // namespace hvd::data"""
)
