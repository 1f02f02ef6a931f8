"""Pictures of a benchmark's results as SVG, which a phone can read.

Ratios to ours as dots, growth curves, and for the grid every row's ratio in ascending order, so that lost rows come
first.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, groupby
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import ticker
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from onnx_maxpool.benchmark.grid.summary import Distribution, distributions, rows_by_processor
from onnx_maxpool.benchmark.peers import INEXACT, OURS, TRAFFIC
from onnx_maxpool.benchmark.report.tables import GRAPH, NO_BOUND, WINDOWS, digits
from onnx_maxpool.benchmark.results import Results, RowResult
from onnx_maxpool.benchmark.rows import GraphCase, RoiCase, SlidingCase, count_of
from onnx_maxpool.operators.registry import snake_case

COLORS = {
    OURS: "#d1495b",
    "ONNX Runtime": "#3d85d0",
    "OpenVINO": "#8a63d2",
    "torch": "#e07b1a",
    "Paddle": "#2e9e5b",
    "MNN": "#a9743b",
    TRAFFIC: "#808891",
}
"""They are legible on both backgrounds."""
MARKERS = {OURS: "o", "ONNX Runtime": "s", "OpenVINO": "^", "torch": "D", "Paddle": "v", "MNN": "P", TRAFFIC: "|"}
INK, FAINT, LINE, PAPER = "#24292f", "#57606a", "#d8dee4", "#fefefe"
DARK = {INK: "#e6edf3", FAINT: "#9da7b3", LINE: "#343b44", PAPER: "#0d1117"}
"""What each of these colors becomes on a dark screen."""
WIDTH = 5.0
"""The width of a picture in inches: 480 pixels in a browser, which a phone shrinks only by a quarter."""
LABEL = 23
"""Characters that a row's label has on one line."""
CAPTION = 82
"""Characters of a line of small print."""
RATIOS = (
    "The axis is logarithmic. Dots are medians, and lines join their quartiles. Rows that no other runtime supports "
    "are only in the tables."
)
DIFFERING = "A hollow mark: some cells differ from ours."
STYLE: Any = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.edgecolor": LINE,
    "axes.facecolor": "none",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.facecolor": PAPER,
    "svg.fonttype": "none",  # text that can be searched and selected
    "svg.hashsalt": "onnx-maxpool",  # the same picture from the same results
}


def write_plots(results: Results, folder: Path) -> list[Path]:
    """A picture per operator on the most threads, and one of growth curves: those that there are rows of."""
    timed = [result for result in results.rows if OURS in result.medians]
    most = max((result.threads for result in timed), default=1)
    compared = [
        result for result in timed if result.row.curve is None and result.threads == most and result.fastest_peer
    ]
    written = []
    with mpl.rc_context(STYLE):
        for operator, rows in groupby(compared, key=lambda result: result.row.case.operator):
            figure = ratio_figure(list(rows), f"{operator}, {count_of(most, 'thread')}", caption(results))
            written.append(save(figure, folder / f"{file_name(operator)}.svg"))
        if panels := growth_panels(timed):
            written.append(save(growth_figure(panels, caption(results)), folder / "growth.svg"))
    return written


def file_name(operator: str) -> str:
    """`conv_max_roi_pool_mat_mul` of `Conv, MaxRoiPool, MatMul`."""
    return re.sub(r"\W+", "_", snake_case(operator))


def save(figure: Figure, path: Path) -> Path:
    """Write a figure as SVG whose colors follow the screen's scheme; the path."""
    stream = io.StringIO()
    FigureCanvasSVG(figure)
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    rules = (
        f'[style*="{kind}: {light}"] {{ {kind}: {dark} !important }}'
        for light, dark in DARK.items()
        for kind in ("fill", "stroke")
    )
    style = f"<style>@media (prefers-color-scheme: dark) {{ {' '.join(rules)} }}</style>"
    text = re.sub(r"font: ([^;\"]*?)'DejaVu Sans'[^;\"]*", r"font: \1system-ui, sans-serif", stream.getvalue())
    path.write_text(text.replace("<defs>", f"{style}\n <defs>", 1), encoding="utf-8")
    return path


def caption(results: Results) -> str:
    """What the numbers were taken on."""
    versions = ", ".join(f"{name} {version}" for name, version in sorted(results.versions.items()))
    cpu, cpus, date = (results.machine[key] for key in ("cpu", "cpus", "date"))
    return f"{cpu}, {count_of(cpus, 'CPU')}, {date[:10]}; {versions}"


def ratio_figure(rows: Sequence[RowResult], title: str, caption: str) -> Figure:
    """A panel per element type, a line per row, a dot per runtime, all on one logarithmic scale of ratios to ours."""
    panels = [(type_, list(group)) for type_, group in groupby(rows, key=lambda result: result.row.type)]
    names = [name for name in COLORS if any(name in result.medians for result in rows)]
    print_ = small_print(rows, RATIOS, caption)
    heads, foot = 0.75 + 0.2 * -(-len(names) // 4), 0.55 + 0.145 * len(print_)
    figure = Figure(figsize=(WIDTH, heads + foot + sum(0.62 + 0.36 * len(group) for _, group in panels)))
    height = figure.get_figheight()
    all_axes = figure.subplots(
        len(panels),
        1,
        sharex=True,
        squeeze=False,
        gridspec_kw={
            "height_ratios": [len(group) for _, group in panels],
            "left": 0.345,
            "right": 0.95,
            "top": 1 - (heads + 0.15) / height,
            "bottom": (foot + 0.3) / height,
            "hspace": 0.62 * len(panels) / (0.36 * len(rows)),
        },
    )[:, 0]
    for axes, (type_, group) in zip(all_axes, panels, strict=True):
        draw_ratios(axes, type_, group)
    all_axes[-1].set_xlabel("time / ours")
    head(figure, title, "time / ours: left of 1 is faster than onnx-maxpool, right of it slower", handles(names, dot))
    foot_text(figure, print_)
    return figure


def draw_ratios(axes: Any, type_: str, rows: Sequence[RowResult]) -> None:
    """A line per row: a dot for each runtime's median and a line between its quartiles, as multiples of our median."""
    for name in COLORS:
        entries = [(i, result.entries[name]) for i, result in enumerate(rows) if name in result.medians]
        found = [(i, timing, entry.differing > 0) for i, entry in entries if (timing := entry.timing) is not None]
        for i, timing, _ in found:
            ours = rows[i].medians[OURS]
            axes.plot([timing.lower / ours, timing.upper / ours], [i, i], color=COLORS[name], linewidth=1)
        for hollow in (False, True):
            dots = [(timing.median / rows[i].medians[OURS], i) for i, timing, differs in found if differs == hollow]
            if dots:
                axes.plot(*zip(*dots, strict=True), zorder=3, **dot(name, hollow=hollow))
    axes.set_yticks(range(len(rows)), [label(str(result.row.case)) for result in rows], fontsize=7.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_title(type_, loc="left", x=-0.537)
    logarithmic(axes.xaxis, axes.set_xscale, "×")
    axes.axvline(1, color=FAINT, linewidth=1, zorder=1)
    axes.tick_params(length=0, labelbottom=True)


def label(case: str) -> str:
    """A case, with the rest below its shape where it is long."""
    return case if len(case) <= LABEL else case.replace(" ", "\n", 1)


def dot(name: str, *, hollow: bool = False) -> dict[str, Any]:
    """A runtime's marker, hollow where cells differ."""
    size = 9 if name == TRAFFIC else 5.5
    style = {"marker": MARKERS[name], "color": COLORS[name], "markersize": size, "linestyle": "none"}
    return {**style, "markerfacecolor": PAPER, "markeredgewidth": 1.3} if hollow else style


def handles(names: Iterable[str], style: Callable[[str], dict[str, Any]]) -> list[Line2D]:
    """The legend's marks."""
    return [Line2D([], [], label=name, **style(name)) for name in names]


def head(figure: Figure, title: str, below: str, shown: Sequence[Line2D], *, columns: int = 4) -> None:
    """The title, what the axis is, and the legend."""
    height = figure.get_figheight()
    figure.text(0.02, 1 - 0.1 / height, title, fontsize=12, weight="bold", va="top")
    figure.text(0.02, 1 - 0.34 / height, below, color=FAINT, va="top")
    figure.legend(
        handles=list(shown),
        loc="upper left",
        bbox_to_anchor=(0, 1 - 0.5 / height),
        ncols=columns,
        columnspacing=1.2,
        handletextpad=0.2,
        fontsize=8.5,
    )


def small_print(rows: Sequence[RowResult], about: str, caption: str, *, are_ratios: bool = True) -> list[str]:
    """The lines below the panels: what the marks and the labels mean, and what the numbers were taken on.

    In curves no mark is hollow.
    """
    marks = [about]
    if any(TRAFFIC in result.medians for result in rows):
        marks.append(f"Memory traffic: to read every input byte and write every output byte once. {NO_BOUND}")
    if any(entry.differing for result in rows for entry in result.entries.values()) and are_ratios:
        marks.append(DIFFERING)
    for name, (reason, _) in INEXACT.items():
        if any(result.entries[name].differing for result in rows if name in result.entries):
            marks.append(f"{name} {reason}, so some of its cells differ.")
    if any(isinstance(result.row.case, SlidingCase) for result in rows):
        marks.append(WINDOWS)
    if any(isinstance(result.row.case, GraphCase) for result in rows):
        marks.append(GRAPH)
    return wrapped([" ".join(marks), caption])


def wrapped(paragraphs: Iterable[str]) -> list[str]:
    """Lines of small print."""
    return [line for paragraph in paragraphs for line in textwrap.wrap(paragraph, CAPTION)]


def foot_text(figure: Figure, lines: Sequence[str]) -> None:
    """The small print, which stands below everything: each line by itself, so that it can be searched."""
    for i, line in enumerate(reversed(lines)):
        at = (0.1 + 0.145 * i) / figure.get_figheight()
        figure.text(0.02, at, line, fontsize=7.5, color=FAINT)


def logarithmic(axis: Any, set_scale: Any, unit: str = "") -> None:
    """A logarithmic axis with plain numbers and light lines."""
    set_scale("log")
    axis.set_major_formatter(
        ticker.FuncFormatter(lambda value, _: f"{digits(value) if value < 1e4 else f'{value / 1e3:g}k'}{unit}")
    )
    low, high = axis.axes.get_xlim() if axis.axis_name == "x" else axis.axes.get_ylim()
    axis.set_major_locator(ticker.LogLocator(subs=(1, 3) if high < 1000 * low else (1,), numticks=20))
    axis.set_minor_locator(ticker.NullLocator())
    axis.grid(color=LINE, linewidth=0.6)
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
        title = f"{points[0][1].row.case.operator}, {count_of(most, 'thread')}:\n{grows([row for _, row in points])}"
        panels.append(Panel(title, curve, points))
    first = [(float(result.threads), result) for result in timed if result.row == timed[0].row]
    if len(first) > 1:
        panels.append(Panel(timed[0].row.name, "threads", sorted(first, key=lambda point: point[0])))
    return panels


def grows(results: Sequence[RowResult]) -> str:
    """`64x200x304, 100 ROIs to 7x7, from 1 cell to the whole map`: what is the same in all rows, and what grows."""
    cases = [case for result in results if isinstance(case := result.row.case, RoiCase)]
    first, last = cases[0], cases[-1]
    shape, bins = f"{last.channels}x{last.height}x{last.width}", f"to {last.pooled}x{last.pooled}"
    if first.cells is None or last.cells is None:
        return f"{shape}, {first.rois:,} to {last.rois:,} ROIs {bins}"
    whole = last.cells == (last.height, last.width)
    largest = "the whole map" if whole else count_of(math.prod(last.cells), "cell")
    return f"{shape}, {count_of(last.rois, 'ROI')} {bins}, from {count_of(math.prod(first.cells), 'cell')} to {largest}"


def growth_figure(panels: Sequence[Panel], caption: str) -> Figure:
    """The panels, one below another."""
    rows = [result for panel in panels for _, result in panel.points]
    names = [name for name in COLORS if any(name in result.medians for result in rows)]
    lines = small_print(rows, "Medians.", caption, are_ratios=False)
    heads, foot = 0.75 + 0.2 * -(-len(names) // 4), 0.35 + 0.145 * len(lines)
    figure = Figure(figsize=(WIDTH, heads + foot + 3 * len(panels)))
    height = figure.get_figheight()
    sides = {"left": 0.16, "right": 0.95, "top": 1 - (heads + 0.3) / height, "bottom": (foot + 0.45) / height}
    all_axes = figure.subplots(len(panels), 1, squeeze=False, gridspec_kw={**sides, "hspace": 0.5})[:, 0]
    for axes, panel in zip(all_axes, panels, strict=True):
        draw_curves(axes, panel)
    head(figure, "Growth", "time per run; the axes are logarithmic", handles(names, curve))
    foot_text(figure, lines)
    return figure


def draw_curves(axes: Any, panel: Panel) -> None:
    """A line per runtime."""
    for name in COLORS:
        points = [(at, 1e3 * result.medians[name]) for at, result in panel.points if name in result.medians]
        if points:
            axes.plot(*zip(*points, strict=True), **curve(name))
    logarithmic(axes.xaxis, axes.set_xscale)
    logarithmic(axes.yaxis, axes.set_yscale)
    if panel.label == "threads":
        axes.set_xticks([at for at, _ in panel.points])
    axes.tick_params(length=0)
    axes.set_xlabel(panel.label)
    axes.set_ylabel("milliseconds per run")
    axes.set_title(panel.title, loc="left", x=-0.15)


def curve(name: str) -> dict[str, Any]:
    """A runtime's line, that of memory traffic dashed."""
    line = {"linestyle": (0, (4, 2))} if name == TRAFFIC else {"marker": MARKERS[name], "markersize": 4}
    return {"color": COLORS[name], "linewidth": 1.2, **line}


LOST, WON = "#d1495b", "#3d85d0"
PROCESSOR_MARKERS = ("o", "x", "^", "s")


def write_grid_plot(runs: Sequence[Results], path: Path) -> Path:
    """Write the picture of the grid, of one seed or of several, as SVG; its path."""
    found = {processor: distributions(rows) for processor, rows in rows_by_processor(runs).items()}
    seeds = ", ".join(str(run.settings["seed"]) for run in runs)
    captions = dict.fromkeys(caption(run) for run in runs)
    with mpl.rc_context(STYLE):
        return save(grid_figure(found, [f"Seeds {seeds}.", *captions]), path)


def grid_figure(found: Mapping[str, Sequence[Distribution]], captions: Sequence[str]) -> Figure:
    """A panel for each group and number of threads, one below another; in it the distribution of each processor."""
    about = "Rows in ascending order. Below 1, in red, the fastest peer is faster. The page's table has the figures."
    lines = wrapped([about, *captions])
    titles = list(dict.fromkeys(each.title for all_of_one in found.values() for each in all_of_one))
    marks = dict(zip(found, cycle(PROCESSOR_MARKERS), strict=False))
    names = list(marks) if len(marks) > 1 else []
    above, foot = 0.9 + 0.2 * len(names), 0.75 + 0.145 * len(lines)
    figure = Figure(figsize=(WIDTH, above + foot + 2.4 * len(titles)))
    height = figure.get_figheight()
    spaces = {"left": 0.14, "right": 0.97, "top": 1 - above / height, "bottom": foot / height, "hspace": 0.5}
    all_axes = figure.subplots(max(1, len(titles)), 1, sharey=True, squeeze=False, gridspec_kw=spaces)
    for axes, title in zip(all_axes[:, 0], titles, strict=False):
        each_of = {name: each for name, all_of_one in found.items() for each in all_of_one if each.title == title}
        draw_in_order(axes, title, each_of, marks)
    shown = [Line2D([], [], color=FAINT, linestyle="none", marker=marks[name], label=name) for name in names]
    head(figure, "Random shapes", "time of the fastest peer / ours, on a logarithmic axis", shown, columns=1)
    foot_text(figure, lines)
    return figure


def draw_in_order(axes: mpl.axes.Axes, title: str, found: Mapping[str, Distribution], marks: Mapping[str, str]) -> None:
    """A point for each row, with the mark of its processor."""
    for processor, each in found.items():
        at = [100 * (i + 0.5) / len(each.ratios) for i in range(len(each.ratios))]
        colors = [LOST if value < 1 else WON for value in each.ratios]
        axes.scatter(at, each.ratios, s=9, linewidths=0.7, c=colors, marker=marks[processor])
    axes.axhline(1, color=FAINT, linewidth=1)
    logarithmic(axes.yaxis, axes.set_yscale)
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of rows")
    axes.set_ylabel("fastest peer / ours")
    axes.set_title(title, loc="left", x=-0.13)
