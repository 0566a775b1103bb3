# SPDX-License-Identifier: Apache-2.0
"""Memory against recomputation: from the table of docs/checkpointing.md, and over one step."""

from records import read
from tables import numbers, table
from theme import LIGHT, new_figure

PLANS_TITLE = "Memory of a step against its extra time, for four models and seven ways to checkpoint"
MEMORY_TITLE = "Bytes that tensors hold over one step of gpt12, with four ways to checkpoint"
LINES = {
    "budget": ("blue", "o", "planned for a budget"),
    "online": ("orange", "s", "budget without a plan"),
}
POINTS = {
    "none": ("faint", "x", "nothing recomputed"),
    "block": ("violet", "^", "each block"),
    "sqrt": ("green", "D", "√n segments"),
}


def draw_plans():
    rows = table("docs/checkpointing.md", "model | `--checkpoint`")
    models = list(dict.fromkeys(row["model"] for row in rows))
    figure = new_figure(380)
    for number, model in enumerate(models):
        left, bottom = 0.09 + 0.48 * (number % 2), 0.53 - 0.43 * (number // 2)
        axes = figure.add_axes((left, bottom, 0.42, 0.31))
        points = {row["`--checkpoint`"].strip("`"): (numbers(row["of all"])[0], numbers(row["costs"])[0])
                  for row in rows if row["model"] == model}
        for kind, (color, marker, label) in LINES.items():
            ordered = [points["none"]] + [at for name, at in points.items() if name.startswith(kind)]
            axes.plot(*zip(*ordered), color=LIGHT[color], linewidth=1.2, marker=marker, markersize=5,
                      label=label if number == 0 else None)
        for name, (color, marker, label) in POINTS.items():
            axes.plot(*points[name], marker, color=LIGHT[color], markersize=6, zorder=3,
                      label=label if number == 0 else None)
        axes.set(xlim=(0, 106), ylim=(-3, 48), title=model.strip("`"))
        axes.set_xticks(range(0, 101, 25), [f"{tick} %" for tick in range(0, 101, 25)])
        axes.set_yticks(range(0, 41, 10), ["0 %"] + [f"+{tick} %" for tick in range(10, 41, 10)],
                        color=LIGHT["faint"], size=8.5)
        axes.grid()
    figure.legend(loc="upper left", ncols=3, frameon=False, fontsize=9, bbox_to_anchor=(0.07, 1.0))
    figure.text(0.51, 0.01, "bytes that the tensors of a step hold, of those without recomputation",
                ha="center", size=8.5, color=LIGHT["faint"])
    figure.text(0.012, 0.5, "extra time of a step", rotation="vertical", va="center", size=8.5,
                color=LIGHT["faint"])
    return figure


def draw_memory():
    recorded = read("checkpoint_memory")
    figure = new_figure(230)
    axes = figure.add_axes((0.09, 0.16, 0.89, 0.68))
    for (way, trace), color in zip(recorded["ways"].items(), ("faint", "violet", "orange", "blue")):
        peak = max(mib for _, mib in trace)
        axes.plot(*zip(*trace), color=LIGHT[color], linewidth=1.3, label=f"{way}: {peak:.0f} MiB")
    axes.set(xlabel="milliseconds since the step began", xlim=(0, None), ylim=(0, None))
    axes.text(-0.07, 1.02, "MiB", transform=axes.transAxes, color=LIGHT["faint"], size=8.5)
    axes.tick_params(axis="y", labelcolor=LIGHT["faint"], labelsize=8.5)
    axes.grid()
    figure.legend(loc="upper left", ncols=4, frameon=False, fontsize=9, bbox_to_anchor=(0.12, 1.0))
    return figure
