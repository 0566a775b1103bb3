#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the figures of the pages into docs/figures, as SVG.

    build/tools/site/bin/python scripts/figures             draws all
    build/tools/site/bin/python scripts/figures planes      draws some
    build/tools/site/bin/python scripts/figures --check     fails where a file is out of date

It needs the packages of scripts/site/requirements.txt. Figures come from the tables of the pages,
from records in docs/figures/*.json, or are drawn.
"""

import argparse
import pathlib
import sys

import architecture
import benchmarks
import checkpoints
import negotiation
import planes
import step
from tables import ROOT
from theme import to_svg

FIGURES = {
    "architecture": (architecture.draw, architecture.TITLE),
    "negotiation": (negotiation.draw, negotiation.TITLE),
    "planes": (planes.draw, planes.TITLE),
    "step": (step.draw, step.TITLE),
    "peers": (benchmarks.draw_peers, benchmarks.PEERS_TITLE),
    "training_steps": (benchmarks.draw_steps, benchmarks.STEPS_TITLE),
    "checkpoint_plans": (checkpoints.draw_plans, checkpoints.PLANS_TITLE),
    "checkpoint_memory": (checkpoints.draw_memory, checkpoints.MEMORY_TITLE),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[[], *FIGURES], metavar="NAME")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--folder", type=pathlib.Path, default=ROOT / "docs" / "figures")
    options = parser.parse_args()
    wrong = []
    for name in options.names or FIGURES:
        draw, title = FIGURES[name]
        file = options.folder / f"{name}.svg"
        svg = to_svg(draw(), title)
        if not options.check:
            file.write_text(svg)
        elif not file.exists() or file.read_text() != svg:
            wrong.append(f"{file.name} is out of date: draw it by scripts/figures {name}")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
