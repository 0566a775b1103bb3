# SPDX-License-Identifier: Apache-2.0
"""Three ranks of one node submit three tensors in different orders; drawn, not measured."""

from drawing import Drawing
from theme import LIGHT, WIDTH

TITLE = "Timeline of three ranks that submit three tensors, and of the two batches that follow"
TENSORS = {"A": "violet", "B": "orange", "C": "green"}
SUBMITTED = [  # By rank: tensor and time.
    [("A", 0.6), ("B", 2.1), ("C", 3.0)],
    [("B", 1.1), ("A", 2.3), ("C", 3.5)],
    [("A", 1.6), ("C", 2.9), ("B", 4.4)],
]
BATCHES = [(["A"], 2.4, 4.55), (["C", "B"], 4.75, 6.6)]
END = 7.0
LEFT, RIGHT, TOP, LANE = 66, WIDTH - 16, 34, 40


def draw():
    drawing = Drawing(height=292)

    def x(time):
        return LEFT + (RIGHT - LEFT) * time / END

    def y(lane):
        return TOP + lane * LANE + LANE / 2

    bottom = TOP + 3 * LANE
    for number, (tensors, begin, end) in enumerate(BATCHES):
        drawing.box(x(begin), TOP + 2, x(end) - x(begin), 3 * LANE - 4, "light_blue", "blue")
        middle = (x(begin) + x(end)) / 2
        drawing.text(middle, 14, f"batch {number + 1}: {' and '.join(tensors)}", "blue", "center",
                     weight="bold")
        drawing.text(middle, 26, "all ranks reduce", "blue", "center", size=8.5)
    for rank, submitted in enumerate(SUBMITTED):
        drawing.line([(LEFT, y(rank)), (RIGHT, y(rank))], "grid", zorder=3)
        drawing.text(LEFT - 8, y(rank), f"rank {rank}", align="right")
        for tensor, time in submitted:
            drawing.axes.plot(x(time), y(rank), "o", color=LIGHT[TENSORS[tensor]],
                              markersize=15, zorder=4)
            drawing.text(x(time), y(rank) + 0.4, tensor, "paper", "center", weight="bold", zorder=5)
    drawing.text(LEFT - 8, bottom + 26, "complete", align="right")
    drawing.line([(LEFT, bottom + 26), (RIGHT, bottom + 26)], "grid")
    for tensor, color in TENSORS.items():
        rank, time = last_submission(tensor)
        drawing.line([(x(time), y(rank) + 9), (x(time), bottom + 17)], color, 1.2, linestyle=":",
                     zorder=3)
        drawing.axes.plot(x(time), bottom + 26, "s", color=LIGHT[color], markersize=14)
        drawing.text(x(time), bottom + 26.4, tensor, "paper", "center", weight="bold")
    drawing.arrow((LEFT, bottom + 52), (RIGHT, bottom + 52), "faint")
    drawing.text(RIGHT, bottom + 64, "time", "faint", "right", size=8.5)
    notes = [
        "A circle is a submission. A tensor is complete when its last rank has submitted it.",
        "A is complete first, so it begins at once. C and B become complete meanwhile: one batch.",
        "No rank waits for a clock, and each rank may submit in an order of its own.",
    ]
    for row, note in enumerate(notes):
        drawing.text(LEFT, bottom + 84 + 15 * row, note, "ink", size=8.5)
    return drawing.figure


def last_submission(tensor):
    times = [(time, rank) for rank, row in enumerate(SUBMITTED) for name, time in row
             if name == tensor]
    time, rank = max(times)
    return rank, time
