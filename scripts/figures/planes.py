# SPDX-License-Identifier: Apache-2.0
"""The plane that reduces a tensor, by the places of its ranks and of its memory."""

from drawing import Drawing
from theme import LIGHT, WIDTH

TITLE = "Six places of ranks and tensors, each with the plane that reduces there"
COLUMN, GAP, LEFT = 172, 8, 14
PANELS = [
    ("one node", "shm", [("node", 2)],
     ["small: every rank adds all", "large: each rank adds a slice", "in the arena: no copy"]),
    ("nodes with several ranks", "hierarchical", [("node", 2), ("node", 2)],
     ["up to 4 KiB: log2(nodes) messages", "large: each rank adds a share,", "in blocks of 4 MiB"]),
    ("nodes with one rank each", "ring", [("node", 1), ("node", 1)],
     ["short: one step to all others", "large: each rank adds a segment", "for all others"]),
    ("a GPU for each rank, NCCL", "nccl", [("GPU", 1), ("GPU", 1)],
     ["NCCL moves and adds", "the host does not wait"]),
    ("GPUs of a node, no NCCL", "ipc", [("GPU", 1), ("GPU", 1)],
     ["each GPU adds a slice, in windows", "that the others open"]),
    ("GPUs, all else", "staged", [("GPU", 1), ("host", 1)],
     ["copied to the host, reduced by", "a plane above, and copied back"]),
]


def picture(drawing, x, y, places):
    """Nodes or GPUs with their ranks, joined by a link."""
    width = 66
    begin = x + COLUMN / 2 - (width * len(places) + 22 * (len(places) - 1)) / 2
    for number, (kind, ranks) in enumerate(places):
        left = begin + number * (width + 22)
        on_gpu = kind == "GPU"
        drawing.box(left, y, width, 34, "light_green" if on_gpu else "light_blue",
                    "green" if on_gpu else "blue")
        drawing.text(left + width / 2, y + 26, kind, "green" if on_gpu else "blue", "center", size=8)
        for rank in range(ranks):
            at = left + width / 2 + (rank - (ranks - 1) / 2) * 22
            drawing.axes.plot(at, y + 12, "o", markersize=10, color=LIGHT["faint"])
        if ranks == 2:
            drawing.line([(left + width / 2 - 6, y + 12), (left + width / 2 + 6, y + 12)], "faint", 1.5)
        if number:
            drawing.arrow((left - 21, y + 17), (left - 1, y + 17), "orange", "<|-|>")


def draw():
    drawing = Drawing(height=344)
    drawing.text(LEFT, 15, "tensors in the CPU's memory", "faint")
    drawing.text(LEFT, 187, "tensors on GPUs", "faint")
    for number, (where, plane, places, lines) in enumerate(PANELS):
        x = LEFT + number % 3 * (COLUMN + GAP)
        y = 26 if number < 3 else 198
        drawing.box(x, y, COLUMN, 138 if number < 3 else 134)
        drawing.text(x + COLUMN / 2, y + 13, where, align="center")
        picture(drawing, x, y + 25, places)
        drawing.text(x + COLUMN / 2, y + 75, plane, "violet", "center", weight="bold", size=10)
        for row, line in enumerate(lines):
            drawing.text(x + COLUMN / 2, y + 93 + 13 * row, line, align="center", size=8.5)
    return drawing.figure
