# SPDX-License-Identifier: Apache-2.0
"""One training step of rank 0, as docs/figures/step.json has recorded it."""

from records import read
from theme import LIGHT, new_figure

TITLE = "Timeline of a step: reductions begin during backward"
PHASES = {"forward": "blue", "backward": "violet", "step": "green"}


def draw():
    recorded = read("step")
    reductions = recorded["reductions"]
    figure = new_figure(66 + 17 * (len(reductions) + 1))
    axes = figure.add_axes((0.16, 0.14, 0.82, 0.84))
    for name, begin, end in recorded["phases"]:
        axes.barh(0, end - begin, 0.8, left=begin, color=LIGHT[PHASES[name]])
        if end - begin > 6:
            axes.text((begin + end) / 2, 0, name, ha="center", va="center", size=8.5,
                      color=LIGHT["paper"], weight="bold")
        else:
            axes.text(end + 0.6, 0, name, va="center", size=8.5, color=LIGHT[PHASES[name]])
    for place, (name, begin, end) in enumerate(reductions, start=1):
        axes.barh(place, max(end - begin, 0.25), 0.7, left=begin, color=LIGHT["orange"])
    axes.set_yticks(range(len(reductions) + 1),
                    ["training loop"] + [name for name, _, _ in reductions])
    axes.tick_params(axis="y", length=0)
    axes.set(xlabel="milliseconds since the step began", xlim=(0, None))
    axes.invert_yaxis()
    axes.grid(axis="x")
    return figure
