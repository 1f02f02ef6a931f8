"""Pictures of a benchmark's results: bars per row, and growth curves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import ticker
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from onnx_maxpool.benchmark.peers import LIMIT, OURS
from onnx_maxpool.benchmark.report.terminal import digits, factor
from onnx_maxpool.benchmark.results import Results, RowResult
from onnx_maxpool.benchmark.rows import count_of
from onnx_maxpool.operators.registry import snake_case

COLUMNS = 3
COLORS = {
    OURS: "#d1495b",
    "ONNX Runtime": "#4c78a8",
    "OpenVINO": "#6a51a3",
    "torch": "#e39130",
    "Paddle": "#4e9f50",
    "MNN": "#8c6d4f",
    LIMIT: "#555555",
}
INK, GRID = "#333333", "#dddddd"
STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.edgecolor": "#aaaaaa",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.facecolor": "white",
}


def write_plots(results: Results, folder: Path) -> list[Path]:
    """A picture of bars per operator and number of threads, and one of growth curves; those that there are rows for."""
    timed = [result for result in results.rows if OURS in result.medians]
    bars = [result for result in timed if result.row.curve is None]
    written = []
    with mpl.rc_context(STYLE):
        for (threads, operator), rows in groupby(bars, key=lambda r: (r.threads, r.row.case.operator)):
            figure = bar_figure(list(rows), f"{operator}, {count_of(threads, 'thread')}", caption(results))
            written.append(save(figure, folder / f"{snake_case(operator)}_{threads}.png"))
        if panels := growth_panels(timed):
            written.append(save(growth_figure(panels, caption(results)), folder / "growth.png"))
    return written


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as PNG; the path."""
    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=130)
    return path


def caption(results: Results) -> str:
    """What the numbers were taken on."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(results.versions.items()))
    cpu, cpus, date = (results.machine[key] for key in ("cpu", "cpus", "date"))
    return f"{cpu}, {count_of(cpus, 'CPU')}, {date[:10]}; {versions}"


def bar_figure(rows: Sequence[RowResult], title: str, caption: str) -> Figure:
    """A panel per row, all on one logarithmic scale."""
    columns = min(COLUMNS, len(rows))
    lines = math.ceil(len(rows) / columns)
    bars = max(len(result.medians.keys() - {LIMIT}) for result in rows)
    figure = Figure(figsize=(4.6 * columns, 1 + (0.7 + 0.2 * bars) * lines), layout="constrained")
    figure.suptitle(f"{title}: milliseconds per run, and how many times ours", x=0.01, ha="left", weight="bold")
    all_axes = figure.subplots(lines, columns, sharex=True, squeeze=False).ravel()
    for axes, result in zip(all_axes, rows, strict=False):
        draw_bars(axes, result, bars)
    for axes in all_axes[len(rows) :]:
        axes.set_axis_off()
    medians = [1e3 * median for result in rows for median in result.medians.values()]
    all_axes[0].set_xlim(min(medians) / 2, max(medians) * 60)  # room for the numbers
    figure.supxlabel(f"Dashed: the machine's limit. {caption}", fontsize=7, x=0.01, ha="left")
    return figure


def draw_bars(axes: Any, result: RowResult, bars: int) -> None:
    """A bar per runtime with its median and its quartiles, in room for so many; the machine's limit as a line."""
    entries = {name: entry for name, entry in result.entries.items() if entry.timing is not None and name != LIMIT}
    for i, (name, entry) in enumerate(entries.items()):
        assert entry.timing is not None
        axes.barh(i, 1e3 * entry.timing.median, height=0.72, color=COLORS[name])
        axes.plot([1e3 * entry.timing.lower, 1e3 * entry.timing.upper], [i, i], color=INK, linewidth=1)
        text = digits(1e3 * entry.timing.median)
        if name != OURS:
            text += f"   {factor(result.ratio(name, OURS))}{'*' if entry.differing else ''}"
        axes.annotate(text, (1e3 * entry.timing.upper, i), (4, 0), textcoords="offset points", va="center")
    if LIMIT in result.medians:
        axes.axvline(1e3 * result.medians[LIMIT], color=COLORS[LIMIT], linestyle=(0, (4, 2)), linewidth=1)
    axes.set_yticks(range(len(entries)), list(entries))
    axes.set_ylim(bars - 0.5, -0.5)
    axes.set_title(f"{result.row.case}, {result.row.type}", loc="left")
    logarithmic(axes.xaxis, axes.set_xscale)
    axes.tick_params(length=0, labelbottom=True)


def logarithmic(axis: Any, set_scale: Any) -> None:
    """A logarithmic axis with plain numbers and light lines."""
    set_scale("log")
    axis.set_major_formatter(
        ticker.FuncFormatter(lambda value, _: f"{value:g}" if value < 1e4 else f"{value / 1e3:g}k")
    )
    axis.set_minor_locator(ticker.NullLocator())
    axis.grid(color=GRID, linewidth=0.6)
    axis.axes.set_axisbelow(True)


@dataclass(frozen=True)
class Panel:
    """A growth curve."""

    title: str
    label: str
    """Of the horizontal axis."""
    points: list[tuple[float, RowResult]]


def growth_panels(timed: Sequence[RowResult]) -> list[Panel]:
    """The growth curves on the most threads, and the first row's time over threads where there are several."""
    most = max((result.threads for result in timed), default=1)
    curves = [result for result in timed if result.row.curve is not None and result.threads == most]
    panels = []
    for curve, group in groupby(curves, key=lambda result: str(result.row.curve)):
        points = [(result.row.at, result) for result in group]
        largest = points[-1][1].row.case
        panels.append(Panel(f"{largest.operator} up to {largest}, {count_of(most, 'thread')}", curve, points))
    first = [(float(result.threads), result) for result in timed if result.row == timed[0].row]
    if len(first) > 1:
        panels.append(Panel(timed[0].row.name, "threads", sorted(first, key=lambda point: point[0])))
    return panels


def growth_figure(panels: Sequence[Panel], caption: str) -> Figure:
    """The panels side by side."""
    figure = Figure(figsize=(5.2 * len(panels) + 1, 4.2), layout="constrained")
    all_axes = figure.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(all_axes, panels, strict=True):
        draw_curves(axes, panel)
    all_axes[0].set_ylabel("milliseconds per run")
    lines = {line.get_label(): line for axes in all_axes for line in axes.get_lines()}
    figure.legend(list(lines.values()), list(lines), loc="outside right center")
    figure.supxlabel(caption, fontsize=7, x=0.01, ha="left")
    return figure


def draw_curves(axes: Any, panel: Panel) -> None:
    """A line per runtime, the machine's limit dashed."""
    for name, color in COLORS.items():
        points = [(at, 1e3 * result.medians[name]) for at, result in panel.points if name in result.medians]
        if points:
            style = {"linestyle": (0, (4, 2)), "linewidth": 1} if name == LIMIT else {"marker": "o", "markersize": 3}
            axes.plot(*zip(*points, strict=True), color=color, label=name, **style)
    logarithmic(axes.xaxis, axes.set_xscale)
    logarithmic(axes.yaxis, axes.set_yscale)
    if panel.label == "threads":
        axes.set_xticks([at for at, _ in panel.points])
    axes.set_xlabel(panel.label)
    axes.set_title(panel.title, loc="left")
