# SPDX-License-Identifier: Apache-2.0
"""The table of docs/testing.md: the faults, their number and their outcomes."""

import math

from judge import WRONGS

HEAD = ("| fault | count | median | p99 | longest | not told | wrong culprits | hangs "
        "| leftovers | late | `horovodrun` after the last rank |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
BEGIN = "<!-- faults: begin; written by test/faults/run.py -->"
END = "<!-- faults: end -->"


def milliseconds(seconds):
    return "–" if seconds is None else f"{1000 * seconds:.0f} ms"


def at(fraction, values):
    """The smallest value that is not below this fraction of the values."""
    if not values:
        return None
    return sorted(values)[max(0, math.ceil(fraction * len(values)) - 1)]


def row(name, judgements):
    times = [one.until_told for one in judgements if one.until_told is not None]
    after = [one.launcher_after for one in judgements if one.launcher_after is not None]
    counts = [sum(bool(getattr(one, wrong)) for one in judgements) for wrong in WRONGS]
    cells = [name, len(judgements), *(milliseconds(at(f, times)) for f in (0.5, 0.99, 1)),
             *counts, milliseconds(max(after, default=None))]
    return "| " + " | ".join(map(str, cells)) + " |"


def table(order, results):
    """`results`: cases with their judgments. `order`: the names of the kinds."""
    by_kind = {name: [judgement for case, judgement in results if case.kind == name]
               for name in order}
    rows = [row(name, found) for name, found in by_kind.items() if found]
    return "\n".join([HEAD, *rows, row("**all**", [one for _, one in results])])


def write(path, text):
    """Replaces the text between the markers of the document."""
    with open(path) as document:
        before, begin, rest = document.read().partition(BEGIN)
        _, end, after = rest.partition(END)
    if not begin or not end:
        raise RuntimeError(f"{path} has no lines '{BEGIN}' and '{END}'")
    with open(path, "w") as document:
        document.write(f"{before}{BEGIN}\n{text}\n{END}{after}")
