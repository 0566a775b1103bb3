# SPDX-License-Identifier: Apache-2.0
"""One training step of three ranks, from gradients to their mean."""

from drawing import Drawing
from theme import WIDTH

TITLE = "Three ranks hand gradients to the coordinator and get their means from the planes"
LEFT, RIGHT = 14, WIDTH - 14
COLUMN = (RIGHT - LEFT - 2 * 16) / 3


def draw():
    drawing = Drawing(height=312)
    for rank in range(3):
        x = LEFT + rank * (COLUMN + 16)
        middle = x + COLUMN / 2
        drawing.box(x, 12, COLUMN, 92, title=f"rank {rank}",
                    lines=["its share of the data", "forward, backward", "the same optimizer step"])
        drawing.arrow((middle - 44, 104), (middle - 44, 146), "blue")
        drawing.text(middle - 38, 119, "gradients,", "blue", size=8.5)
        drawing.text(middle - 38, 131, "by name", "blue", size=8.5)
        drawing.arrow((middle + 44, 146), (middle + 44, 104), "green")
        drawing.text(middle + 50, 125, "means", "green", size=8.5)
    drawing.box(LEFT, 147, RIGHT - LEFT, 50, "light_blue", "blue", "coordinator: agrees on one order", [
        "starts a tensor once all ranks have submitted it; fuses small tensors into a batch"])
    drawing.arrow((WIDTH / 2, 197), (WIDTH / 2, 223), "blue")
    drawing.text(WIDTH / 2 + 8, 209, "a batch", "blue", size=8.5)
    drawing.box(LEFT, 224, RIGHT - LEFT, 76, "light_green", "green")
    drawing.text(WIDTH / 2, 236, "planes: reduce the batch", align="center", weight="bold")
    planes = [("shared memory", "ranks of one node"), ("MPI", "between nodes"),
              ("NCCL, CUDA IPC", "tensors on GPUs")]
    for place, (name, used_for) in enumerate(planes):
        drawing.box(LEFT + 8 + place * (COLUMN + 10), 246, COLUMN - 4, 46, "paper", "grid", name,
                    [used_for])
    return drawing.figure
