"""A picture of the grid: every row's ratio, in ascending order, so that lost rows come first."""

from __future__ import annotations

import math
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from onnx_maxpool.benchmark.grid.summary import Distribution, distributions
from onnx_maxpool.benchmark.report.plots import COLORS, INK, STYLE, caption, logarithmic, save
from onnx_maxpool.benchmark.results import Results

LOST, WON = "#d1495b", "#4c78a8"
COLUMNS = 2


def write_grid_plot(results: Results, path: Path) -> Path:
    """Write the picture as PNG; its path."""
    with mpl.rc_context(STYLE):
        return save(grid_figure(distributions(results.rows), caption(results)), path)


def grid_figure(found: list[Distribution], caption: str) -> Figure:
    """A panel for each distribution."""
    lines = max(1, math.ceil(len(found) / COLUMNS))
    figure = Figure(figsize=(5.2 * COLUMNS, 2.6 * lines + 0.6), layout="constrained")
    all_axes = figure.subplots(lines, COLUMNS, sharey=True, squeeze=False).ravel()
    for axes, each in zip(all_axes, found, strict=False):
        draw_ratios(axes, each)
    for axes in all_axes[len(found) :]:
        axes.set_axis_off()
    figure.supylabel("fastest peer / ours", fontsize=9)
    figure.supxlabel(f"Rows in ascending order; below 1 the peer is faster. {caption}", fontsize=7, x=0.01, ha="left")
    return figure


def draw_ratios(axes: mpl.axes.Axes, each: Distribution) -> None:
    """A point for each row; the least, the 5th percentile and the median as numbers."""
    at = [100 * (i + 0.5) / len(each.ratios) for i in range(len(each.ratios))]
    axes.scatter(at, each.ratios, s=6, c=[LOST if value < 1 else WON for value in each.ratios])
    axes.axhline(1, color=COLORS["limit"], linewidth=1)
    logarithmic(axes.yaxis, axes.set_yscale)
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of rows")
    least, low, median = each.figures
    axes.set_title(f"{each.title}: {each.lost} of {len(each.ratios)} lost", loc="left")
    text = f"least {least:.2f}, 5th percentile {low:.2f}, median {median:.2f}"
    axes.annotate(text, (0.02, 0.94), xycoords="axes fraction", va="top", color=INK, fontsize=8)
