"""A picture of the grid: every row's ratio, in ascending order, so that lost rows come first."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure

from onnx_maxpool.benchmark.grid.summary import Distribution, distributions
from onnx_maxpool.benchmark.report.plots import FAINT, STYLE, WIDTH, caption, foot_text, logarithmic, save, wrapped
from onnx_maxpool.benchmark.results import Results

LOST, WON = "#d1495b", "#3d85d0"


def write_grid_plot(results: Results, path: Path) -> Path:
    """Write the picture as SVG; its path."""
    with mpl.rc_context(STYLE):
        return save(grid_figure(distributions(results.rows), caption(results)), path)


def grid_figure(found: list[Distribution], caption: str) -> Figure:
    """A panel for each distribution, one below another."""
    lines = wrapped(["Fastest peer / ours, rows in ascending order: below 1, in red, the peer is faster.", caption])
    foot = 0.75 + 0.145 * len(lines)
    figure = Figure(figsize=(WIDTH, 0.55 + foot + 2.4 * len(found)))
    height = figure.get_figheight()
    sides = {"left": 0.12, "right": 0.97, "top": 1 - 0.55 / height, "bottom": foot / height}
    all_axes = figure.subplots(max(1, len(found)), 1, sharey=True, squeeze=False, gridspec_kw={**sides, "hspace": 0.55})
    for axes, each in zip(all_axes[:, 0], found, strict=False):
        draw_ratios(axes, each)
    foot_text(figure, lines)
    return figure


def draw_ratios(axes: mpl.axes.Axes, each: Distribution) -> None:
    """A point for each row; the least, the 5th percentile and the median as numbers."""
    at = [100 * (i + 0.5) / len(each.ratios) for i in range(len(each.ratios))]
    axes.scatter(at, each.ratios, s=6, c=[LOST if value < 1 else WON for value in each.ratios])
    axes.axhline(1, color=FAINT, linewidth=1)
    logarithmic(axes.yaxis, axes.set_yscale)
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of rows")
    least, low, median = each.figures
    text = f"least {least:.2f}, 5th percentile {low:.2f}, median {median:.2f}"
    axes.set_title(f"{each.title}: {each.lost} of {len(each.ratios)} lost\n{text}", loc="left", x=-0.08, fontsize=9)
