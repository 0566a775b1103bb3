# SPDX-License-Identifier: Apache-2.0
"""Bars from the tables of docs/benchmarks.md."""

from tables import numbers, seconds, table
from theme import LIGHT, new_figure

PAGE = "docs/benchmarks.md"
PEERS_TITLE = "Times of six collectives with horovodpp, MPI and gloo, two ranks on two cores"
STEPS_TITLE = "Time and memory of a training step of seven models, relative to PyTorch"
CALLS = {  # Rows of the peers' table, and their labels.
    "allreduce 4 B": "allreduce, 4 B",
    "allreduce 1 MiB": "allreduce, 1 MiB",
    "allreduce 64 MiB": "allreduce, 64 MiB",
    "allreduce 64 MiB, arena": "allreduce, 64 MiB,\nin the arena",
    "allgather 1 MiB": "allgather, 1 MiB",
    "1,000 x 1 KiB by name (peers: fused)": "1,000 × 1 KiB by name;\npeers: one call",
}
CONTENDERS = {"horovodpp": "blue", "MPI": "orange", "gloo": "faint"}
START = 0.1  # Microseconds; bars on a logarithmic axis need one.


def draw_peers():
    rows = {row["2 ranks"]: row for row in table(PAGE, "2 ranks")}
    figure = new_figure(340)
    axes = figure.add_axes((0.25, 0.11, 0.62, 0.79))
    thickness = 0.26
    for place, call in enumerate(CALLS):
        for number, (contender, color) in enumerate(CONTENDERS.items()):
            time = time_of(rows[call], contender)
            y = place + (number - 1) * thickness
            axes.barh(y, time * 1e6 - START, thickness * 0.9, left=START, color=LIGHT[color],
                      label=contender_label(contender) if place == 0 else None)
            axes.text(time * 1e6 * 1.12, y, words(time), va="center", size=8, color=LIGHT["ink"])
    axes.set_xscale("log")
    axes.set_xlim(START, 2e5)
    axes.set_xticks([0.1, 1, 10, 100, 1e3, 1e4, 1e5],
                    ["0.1 µs", "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms"])
    axes.minorticks_off()
    axes.set_yticks(range(len(CALLS)), CALLS.values())
    axes.invert_yaxis()
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_xlabel("time of a call, logarithmic; shorter is faster")
    figure.legend(loc="upper left", ncols=3, frameon=False, fontsize=9, bbox_to_anchor=(0.24, 1.0))
    return figure


def contender_label(contender):
    return "MPI, the better setting" if contender == "MPI" else contender


def time_of(row, contender):
    if contender == "MPI":
        return min(seconds(row["MPI"]), seconds(row["MPI, CMA"]))
    return seconds(row[contender])


def words(time):
    value, unit = (time * 1e3, "ms") if time >= 1e-3 else (time * 1e6, "µs")
    return f"{value:.3g} {unit}"


def draw_steps():
    rows = table(PAGE, "model | horovodpp | PyTorch | time | memory")
    figure = new_figure(250)
    axes = figure.add_axes((0.13, 0.16, 0.83, 0.72))
    thickness = 0.36
    for place, row in enumerate(rows):
        for number, (column, color) in enumerate({"time": "blue", "memory": "violet"}.items()):
            low, high = min(numbers(row[column])), max(numbers(row[column]))
            y = place + (number - 0.5) * thickness
            axes.barh(y, high, thickness * 0.9, color=LIGHT[color],
                      label=column if place == 0 else None)
            label = f"{high:.2f}" if low == high else f"{low:.2f} to {high:.2f}"
            inside = high > 0.8  # Where PyTorch's line leaves no room outside.
            axes.text(high - 0.01 if inside else high + 0.01, y, label, va="center", size=8,
                      ha="right" if inside else "left", color=LIGHT["paper" if inside else "ink"])
    axes.axvline(1, color=LIGHT["orange"], linewidth=1.5, label="PyTorch")
    axes.set_xlim(0, 1.12)
    axes.set_yticks(range(len(rows)), [row["model"].strip("`") for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.set_xlabel("horovodpp divided by PyTorch, one training step; shorter is better")
    axes.grid(axis="x")
    figure.legend(loc="upper left", ncols=3, frameon=False, fontsize=9, bbox_to_anchor=(0.12, 1.0))
    return figure
