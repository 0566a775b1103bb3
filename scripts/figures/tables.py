# SPDX-License-Identifier: Apache-2.0
"""Reads the tables of pages, so that a figure cannot differ from its table."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNITS = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


def table(page, first_column):
    """The rows of the page's first table whose header begins with these columns, as dicts."""
    lines = (ROOT / page).read_text().splitlines()
    begin = next((n for n, line in enumerate(lines) if line.startswith(f"| {first_column} |")), None)
    if begin is None:
        raise ValueError(f"{page} has no table that begins with the column '{first_column}'")
    header = cells(lines[begin])
    rows = []
    for line in lines[begin + 2:]:
        if not line.startswith("|"):
            break
        rows.append(dict(zip(header, cells(line))))
    return rows


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def seconds(cell):
    """The first time in a cell, such as '41.8 µs (39.4–44.2)'; None where it has none."""
    found = re.match(r"([\d.,]+) (ns|µs|ms|s)\b", cell)
    return float(found[1].replace(",", "")) * UNITS[found[2]] if found else None


def numbers(cell):
    """The numbers of a cell, such as '0.40 to 0.62'."""
    return [float(number) for number in re.findall(r"[-+]?\d+(?:\.\d+)?", cell)]
