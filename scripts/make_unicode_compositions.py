# SPDX-License-Identifier: Apache-2.0
"""Writes Unicode's canonical decompositions and combining classes as a C++ source:
python make_unicode_compositions.py > horovodpp/data/tokenizer/unicode_compositions.cc
"""

import sys
import unicodedata


def decompositions(composes):
    """Rows (code, first, second) of one step; second is 0 if there is one code."""
    rows = []
    for code in range(sys.maxunicode + 1):
        parts = unicodedata.decomposition(chr(code)).split()
        if not parts or parts[0].startswith("<"):
            continue
        stays = unicodedata.normalize("NFC", chr(code)) == chr(code)
        if stays == composes:
            rows.append((code, *(int(part, 16) for part in parts), 0)[:3])
    return rows


def classes():
    """Rows (first, last, class) of neighbors with one class that is not 0."""
    rows = []
    for code in range(sys.maxunicode + 1):
        number = unicodedata.combining(chr(code))
        if number and rows and rows[-1][1:] == [code - 1, number]:
            rows[-1][1] = code
        elif number:
            rows.append([code, code, number])
    return rows


def table(kind, name, rows):
    cells = ["{" + ", ".join(f"0x{number:X}" for number in row) + "}," for row in rows]
    lines = "".join("    " + " ".join(cells[i : i + 4]) + "\n" for i in range(0, len(cells), 4))
    return f"constexpr {kind} {name}[] = {{\n{lines}}};\n"


print(
    f"""// SPDX-License-Identifier: Apache-2.0
// scripts/make_unicode_compositions.py writes this file from Unicode {unicodedata.unidata_version}.
#include "horovodpp/data/tokenizer/unicode_compositions.h"

namespace hvd::data {{
namespace {{

// clang-format off
{table("Decomposition", "kCompositions", decompositions(True))}
{table("Decomposition", "kDecompositions", decompositions(False))}
{table("CombiningClass", "kCombiningClasses", classes())}// clang-format on

}}  // namespace

std::span<const Decomposition> compositions() {{ return kCompositions; }}
std::span<const Decomposition> one_way_decompositions() {{
  return kDecompositions;
}}
std::span<const CombiningClass> combining_classes() {{
  return kCombiningClasses;
}}

}}  // namespace hvd::data"""
)
