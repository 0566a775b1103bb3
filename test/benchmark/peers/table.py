# SPDX-License-Identifier: Apache-2.0
"""The table of compare_with_peers.py: medians and quartiles of the rounds, and whether the
targets are met."""

import statistics

from rows import SETTINGS, in_words

BEGIN = "<!-- peers table: begin; written by scripts/compare_with_peers.py -->"
END = "<!-- peers table: end -->"


def numbers(values):
    return [value for value in values if not isinstance(value, str)]


def quartiles(values):
    if len(values) == 1:
        return values * 3
    return statistics.quantiles(values, n=4, method="inclusive")


class Results:
    """Measurements by contender and row, or by reference work. Each has a value in µs per
    round, or a reason why it has none."""

    def __init__(self, contenders):
        self.contenders = contenders  # Names, our own first.
        self.values = {}

    def add(self, contender, found):
        for key, value in found.items():
            self.values.setdefault((contender, key), []).append(value)

    def of(self, contender, key):
        return self.values.get((contender, key), [])

    def best(self, key):
        """The rounds of the MPI with the lower median."""
        columns = [self.of(name, key) for name in self.contenders if name.startswith("MPI")]
        columns = [values for values in columns if values and len(numbers(values)) == len(values)]
        return min(columns, key=statistics.median, default=[])

    def reference(self, row):
        if row.target and row.target.reference == "memcpy":
            return self.best(row.memcpy)
        if row.target and row.target.reference == "wire":
            return [row.wire_us] * len(self.of(self.contenders[0], row))
        return self.best(row)

    def ratios(self, row):
        own, reference = self.of(self.contenders[0], row), self.reference(row)
        return [ours / other for ours, other in zip(own, reference)
                if not isinstance(ours, str)]

    def holds(self, row):
        """Whether the target is met; None if unknown."""
        own = self.of(self.contenders[0], row)
        if not row.target or not own:
            return None
        if numbers(own) != own:
            return False
        if not row.target.reference:
            return statistics.median(own) <= row.target.limit(None)
        reference = self.reference(row)
        if not reference:
            return None
        return statistics.median(ours / row.target.limit(other)
                                 for ours, other in zip(own, reference)) <= 1


def cell(values, notes):
    """Median and quartiles; or a dash, with a note on the reason."""
    found = numbers(values)
    if len(found) < len(values) or not values:
        why = next((value for value in values if isinstance(value, str)), "not measured")
        return f"— [{notes.setdefault(why, len(notes) + 1)}]"
    first, median, third = quartiles(found)
    if len(found) == 1:
        return in_words(median)
    return f"{in_words(median)} ({short(first, median)}–{short(third, median)})"


def short(us, like):
    """Like in_words(), without the unit if it equals that of `like`."""
    words, unit = in_words(us).split()
    return words if unit == in_words(like).split()[1] else f"{words} {unit}"


def line(row, results, notes):
    columns = [cell(results.of(name, row), notes) for name in results.contenders]
    ratios = results.ratios(row)
    ratio = f"{statistics.median(ratios):.2f}" if ratios else ""
    holds = results.holds(row)
    held = {None: "", True: "yes", False: "no"}[holds]
    if holds is False and row.reason():
        held += f" [{notes.setdefault(row.reason(), len(notes) + 1)}]"
    target = str(row.target) if row.target else ""
    return f"| {row.name} | " + " | ".join([*columns, ratio, target, held]) + " |"


def table(rows, results, cores, missing):
    """`missing`: the reasons why contenders were not measured at all, by name."""
    shown = [name for name in results.contenders if name not in missing]
    visible = Results(shown)
    visible.values = results.values
    notes = {}
    parts = []
    for key, setting in SETTINGS.items():
        of_setting = [row for row in rows if row.setting == key]
        if not of_setting:
            continue
        title = setting.title.format(cores=f"{cores} core{'s' * (cores != 1)}")
        parts.append("\n".join([
            f"| {title} | " + " | ".join(shown) + " | ratio | to reach | holds |",
            "|---|" + "---:|" * len(shown) + "---:|---|---|",
            *(line(row, visible, notes) for row in of_setting)]))
    if notes:
        rows_of_notes = [f"| [{number}] | {why} |" for why, number in notes.items()]
        parts.append("\n".join(["| note | reason |", "|---|---|", *rows_of_notes]))
    parts += [f"{name} was not measured: {why}." for name, why in missing.items()]
    return "\n\n".join(parts)


def write(path, text):
    """Replaces the table in the file."""
    old = path.read_text()
    if old.count(BEGIN) != 1 or old.count(END) != 1:
        raise SystemExit(f"{path} does not say once where the table is: {BEGIN} … {END}")
    before, rest = old.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")
