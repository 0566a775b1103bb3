# SPDX-License-Identifier: Apache-2.0
"""Diagrams of boxes, arrows and words, in points from the upper left corner."""

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from theme import LIGHT, WIDTH, new_figure


class Drawing:
    def __init__(self, height):
        self.figure = new_figure(height)
        self.axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set(xlim=(0, WIDTH), ylim=(height, 0))
        self.axes.axis("off")

    def text(self, x, y, words, color="ink", align="left", **options):
        options = {"size": 9, "va": "center", **options}
        return self.axes.text(x, y, words, color=LIGHT[color], ha=align, **options)

    def box(self, x, y, width, height, fill="panel", edge="grid", title="", lines=(), **options):
        """A box with a bold title and smaller lines, centered; all must fit into it."""
        self.axes.add_patch(FancyBboxPatch(
            (x, y), width, height, boxstyle="round,pad=0,rounding_size=4",
            facecolor=LIGHT[fill], edgecolor=LIGHT[edge], linewidth=1, **options))
        rows = ([(title, {"weight": "bold"})] if title else []) + [
            (line, {"size": 8.5, "color": "faint" if title else "ink"}) for line in lines]
        step = 13
        top = y + height / 2 - step * (len(rows) - 1) / 2
        for row, (words, style) in enumerate(rows):
            text = self.text(x + width / 2, top + step * row, words, align="center", **style)
            if text.get_window_extent().width > width - 4:
                raise ValueError(f"'{words}' is wider than its box")

    def arrow(self, start, end, color="faint", style="-|>", **options):
        self.axes.add_patch(FancyArrowPatch(
            start, end, arrowstyle=style, mutation_scale=9, color=LIGHT[color], linewidth=1.2,
            shrinkA=0, shrinkB=0, **options))

    def line(self, points, color="grid", width=1, **options):
        self.axes.plot(*zip(*points), color=LIGHT[color], linewidth=width, **options)
