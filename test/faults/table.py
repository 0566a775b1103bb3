# SPDX-License-Identifier: Apache-2.0
"""The table of docs/testing.md: the faults, their number and their outcomes."""

import math

from judge import WRONGS

HEAD = ("| fault | count | median | p99 | longest | not told | wrong culprits | hangs "
        "| leftovers | late | `horovodrun` after the last rank |\n"
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")


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
    """`results`: cases with their outcomes and judgments. `order`: the names of the kinds."""
    by_kind = {name: [judgement for case, _, judgement in results if case.kind == name]
               for name in order}
    rows = [row(name, found) for name, found in by_kind.items() if found]
    return "\n".join([HEAD, *rows, row("**all**", [one for _, _, one in results])])


def write(path, text, name="faults"):
    """Replaces the text between the markers with this name."""
    begin = f"<!-- {name}: begin; written by test/faults/run.py -->"
    end = f"<!-- {name}: end -->"
    with open(path) as document:
        before, found_begin, rest = document.read().partition(begin)
        _, found_end, after = rest.partition(end)
    if not found_begin or not found_end:
        raise RuntimeError(f"{path} has no lines '{begin}' and '{end}'")
    with open(path, "w") as document:
        document.write(f"{before}{begin}\n{text}\n{end}{after}")
