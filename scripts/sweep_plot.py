"""Pictures of what `sweep.py` found: time over each size, steps marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from onnx_maxpool.benchmark.report.plots import FAINT, STYLE, WIDTH, foot_text, logarithmic, save, wrapped

STEP = "#d1495b"
LINES = ("#3d85d0", "#2e9e5b", "#8a63d2", "#e07b1a", "#a9743b", "#0a9396", "#808891")
DASHES = ("-", (0, (3, 1.5)))
"""Of one thread, and of more."""
Record = Mapping[str, Any]


def write_pictures(points: Sequence[Record], folder: Path) -> list[Path]:
    """A picture for each operator; their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with mpl.rc_context(STYLE):
        for group in dict.fromkeys(point["group"] for point in points):
            own = [point for point in points if point["group"] == group]
            name = f"sweep_{group.lower().replace(' ', '_')}.svg"
            written.append(save(figure_of(group, own), folder / name))
    return written


def figure_of(group: str, points: Sequence[Record]) -> Figure:
    """A panel for each dimension."""
    panels = list(dict.fromkeys(point["dimension"] for point in points))
    bases = list(dict.fromkeys(point["base"] for point in points))
    steps = sum(point["step"] for point in points)
    colors = {base: LINES[i % len(LINES)] for i, base in enumerate(bases)}
    about = (
        f"{len(points)} points, {steps} steps (red): there time grows by more than 1.3 times as much as the work does, "
        "or falls by more than a tenth. Dashed: more than one thread."
    )
    lines = wrapped([about])
    heads, foot = 0.7 + 0.16 * len(bases), 0.4 + 0.145 * len(lines)
    figure = Figure(figsize=(WIDTH, heads + foot + 2.3 * len(panels)))
    height = figure.get_figheight()
    sides = {"left": 0.12, "right": 0.95, "top": 1 - (heads + 0.1) / height, "bottom": (foot + 0.4) / height}
    all_axes = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={**sides, "hspace": 0.5})[:, 0]
    for axes, dimension in zip(all_axes, panels, strict=True):
        draw(axes, dimension, [point for point in points if point["dimension"] == dimension], colors)
    figure.text(0.02, 1 - 0.1 / height, f"Sweeps of {group}", fontsize=12, weight="bold", va="top")
    figure.text(0.02, 1 - 0.34 / height, "microseconds per run, both axes logarithmic", color=FAINT, va="top")
    for i, base in enumerate(bases):
        figure.text(0.02, 1 - (0.56 + 0.16 * i) / height, base, fontsize=8, color=colors[base], va="top")
    foot_text(figure, lines)
    return figure


def draw(axes: Any, dimension: str, points: Sequence[Record], colors: Mapping[str, str]) -> None:
    """A line for each sweep."""
    threads = {"threads": 0}.get(dimension)

    def sweep(point: Record) -> tuple[str, int]:
        return point["base"], point["threads"] if threads is None else threads

    for (base, count), group in groupby(points, key=sweep):
        found = list(group)
        at, times = [point["at"] for point in found], [point["microseconds"][1] for point in found]
        axes.plot(at, times, color=colors[base], linewidth=1, linestyle=DASHES[count > 1], marker=".", markersize=3)
        rings = [(x, y) for x, y, point in zip(at, times, found, strict=True) if point["step"]]
        if rings:
            style = {"marker": "o", "markersize": 7, "markerfacecolor": "none", "markeredgecolor": STEP}
            axes.plot(*zip(*rings, strict=True), linestyle="none", **style)
    if min(point["at"] for point in points) > 0:  # a padding may be 0
        logarithmic(axes.xaxis, axes.set_xscale)
    logarithmic(axes.yaxis, axes.set_yscale)
    axes.tick_params(length=0)
    axes.set_title(dimension, loc="left", x=-0.1)
