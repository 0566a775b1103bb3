# SPDX-License-Identifier: Apache-2.0
"""Colors, fonts and sizes of the figures, and their conversion to SVG.

A figure is drawn in light colors. The SVG gets a style sheet that replaces each of them where the
reader prefers dark pages. The same figure gives the same bytes.
"""

import io
import itertools
import re

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.text import Text  # noqa: E402

# name: (light, dark)
COLORS = {
    "paper": ("#ffffff", "#161b22"),
    "ink": ("#1f2328", "#e6edf3"),
    "faint": ("#636c76", "#9198a1"),
    "grid": ("#d1d9e0", "#3d444d"),
    "panel": ("#f6f8fa", "#21262d"),
    "blue": ("#0969da", "#4493f8"),
    "orange": ("#bc4c00", "#f0883e"),
    "green": ("#1a7f37", "#3fb950"),
    "violet": ("#8250df", "#ab7df8"),
    "light_blue": ("#ddf4ff", "#0b2340"),
    "light_orange": ("#fff1e5", "#3d1300"),
    "light_green": ("#dafbe1", "#04260f"),
    "light_violet": ("#fbefff", "#271052"),
}
LIGHT = {name: light for name, (light, _) in COLORS.items()}
WIDTH = 560  # Points, of every figure.
FONT = "DejaVu Sans"  # Comes with matplotlib; browsers' fonts are narrower.

matplotlib.rcParams.update({
    "svg.fonttype": "none",
    "svg.hashsalt": "horovodpp",
    "font.family": FONT,
    "font.size": 9,
    "text.color": LIGHT["ink"],
    "axes.edgecolor": LIGHT["grid"],
    "axes.facecolor": LIGHT["paper"],
    "axes.labelcolor": LIGHT["faint"],
    "axes.labelsize": 8.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.axisbelow": True,
    "figure.facecolor": LIGHT["paper"],
    "grid.color": LIGHT["grid"],
    "grid.linewidth": 0.6,
    "xtick.color": LIGHT["grid"],
    "ytick.color": LIGHT["grid"],
    "xtick.labelcolor": LIGHT["faint"],
    "ytick.labelcolor": LIGHT["ink"],
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 9,
})


def new_figure(height):
    return plt.figure(figsize=(WIDTH / 72, height / 72), dpi=72)


def dark_style():
    rules = [f'[style*="{kind}: {light}"] {{ {kind}: {dark} !important }}'
             for light, dark in COLORS.values() for kind in ("fill", "stroke")]
    return "<style>@media (prefers-color-scheme: dark) {" + "\n".join(["", *rules, ""]) + "}</style>"


def labels_outside(figure):
    """Labels of ticks beyond the limits of their axis, which are not drawn."""
    found = set()
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks():
            if not low <= tick.get_loc() <= high:
                found |= {tick.label1, tick.label2}
    return found


def check_texts(figure):
    """Refuses a figure whose texts overlap or leave it."""
    figure.canvas.draw()
    outside = labels_outside(figure)
    texts = [text for text in figure.findobj(Text)
             if text.get_visible() and text.get_text().strip() and text not in outside]
    boxes = [(text.get_text(), text.get_window_extent().padded(-0.5)) for text in texts]
    for words, box in boxes:
        if box.x0 < 0 or box.y0 < 0 or box.x1 > figure.bbox.x1 or box.y1 > figure.bbox.y1:
            raise ValueError(f"'{words}' leaves the figure")
    for (words, box), (others, other) in itertools.combinations(boxes, 2):
        if box.overlaps(other):
            raise ValueError(f"'{words}' and '{others}' overlap")


def to_svg(figure, title):
    """The figure as SVG, in both sets of colors. `title` is read aloud by screen readers."""
    check_texts(figure)
    out = io.StringIO()
    figure.savefig(out, format="svg", metadata={"Date": None, "Creator": None, "Format": None,
                                                "Type": None})
    plt.close(figure)
    svg = out.getvalue().replace(f"'{FONT}'", "'DejaVu Sans', Verdana")
    head = f"<title>{title}</title>\n{dark_style()}\n"
    svg = re.sub(r"(<svg [^>]*>\n)", lambda found: found[1] + head, svg, count=1)
    unknown = set(re.findall(r"#[0-9a-f]{6}\b", svg)) - {c for pair in COLORS.values() for c in pair}
    if unknown:
        raise ValueError(f"no dark color for {sorted(unknown)}")
    return "\n".join(line.rstrip() for line in svg.splitlines()) + "\n"
