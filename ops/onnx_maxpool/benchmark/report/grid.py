"""The grid as lines for a log, as a table on a terminal, and as a page."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from onnx_maxpool.benchmark.grid.summary import Distribution, clearly_lost, distributions, ratio, worst
from onnx_maxpool.benchmark.peers import OURS, PEERS
from onnx_maxpool.benchmark.report.tables import NOTHING, digits, factor, literal, place, refusals, table
from onnx_maxpool.benchmark.results import Results, RowResult
from onnx_maxpool.benchmark.rows import count_of

WORST = 10
"""Rows that are shown by name, of each group and number of threads."""
ABOUT = (
    "Rows are drawn at random from the ranges that users have: channels from 1 to 2048, maps from 7x7 to 512x512 and "
    "volumes, 1 to 10,000 ROIs from one cell to the whole map, 1 to 28 bins a side, windows of 1 to 16 with strides "
    "and paddings, adaptive sizes from 1 to 100, every type that a peer takes. Each row is timed in all runtimes in "
    "turns. The ratio is the fastest peer's median over ours: below 1 the row is lost. It is clearly lost where the "
    "quartiles of the samples do not overlap."
)


def grid_line(result: RowResult) -> str:
    """A row as one line of text, for a log."""
    value, times = ratio(result), (f"{name} {micro(median)}" for name, median in result.medians.items())
    mark = " LOST" if value is not None and value < 1 else ""
    refusal = result.entries[OURS].refusal
    return f"{factor(value)}{mark}  {result.place}: {refusal or ', '.join(times) + ' us'}"


def micro(seconds: float) -> str:
    """In microseconds."""
    return digits(seconds * 1e6)


def grid_report(results: Results) -> Group:
    """The table of distributions, then each group's worst rows."""
    parts: list[Table | Text | str] = [Text(line) for line in place(results)]
    found = distributions(results.rows)
    parts += ["", rich_table("Fastest peer / ours", list(summary_lines(found)))]
    for each in found:
        parts += ["", rich_table(f"The worst rows of {each.title}", list(worst_lines(results, each)))]
    parts += [Text(note) for note in notes(results)]
    return Group(*parts)


def rich_table(title: str, lines: list[list[str]]) -> Table:
    """A table whose first column is words."""
    shown = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
    for i, column in enumerate(lines[0]):
        shown.add_column(column, justify="right" if i else "left")
    for line in lines[1:]:
        shown.add_row(*map(Text, line))
    return shown


def summary_lines(found: list[Distribution]) -> Iterator[list[str]]:
    """The header, then a line for each distribution."""
    yield ["rows", "how many", "least", "5th percentile", "median", "lost", "clearly lost"]
    for each in found:
        figures = [f"{value:.2f}" for value in each.figures]
        yield [each.title, str(len(each.ratios)), *figures, str(each.lost), str(each.clearly_lost)]


def worst_lines(results: Results, group: Distribution) -> Iterator[list[str]]:
    """The header, then a line for each of the worst rows: medians in microseconds."""
    yield ["row", "ratio", OURS, *PEERS]
    for result in worst(results.rows, group.group, group.threads, WORST):
        medians = result.medians
        times = [micro(medians[name]) if name in medians else NOTHING for name in (OURS, *PEERS)]
        value = ratio(result)
        assert value is not None
        noise = "" if value >= 1 or clearly_lost(result) else " (noise)"
        yield [f"{result.row.case}, {result.row.type}", f"{value:.2f}{noise}", *times]


def notes(results: Results) -> Iterator[str]:
    """Who is absent or refused rows, and what differs."""
    for name, reason in results.absent.items():
        yield f"{name} takes no part: {reason}"
    counts: dict[str, int] = {}
    for (name, _), count in refusals(results).items():
        counts[name] = counts.get(name, 0) + count
    for name, count in counts.items():
        yield f"{name} does not support {count_of(count, 'row')}."
    yield from results.failures


def write_grid_page(results: Results, path: Path, command: str, picture: Path | None) -> None:
    """Write the page: how to repeat it, the picture, the distributions, the worst rows."""
    shown = os.path.relpath(picture, path.parent) if picture else None
    path.write_text("\n\n".join(paragraphs(results, command, shown)) + "\n")


def paragraphs(results: Results, command: str, picture: str | None) -> Iterator[str]:
    """What stands between empty lines."""
    yield "# Shapes that nobody chose"
    yield f"Written by `{command}` on {results.machine['date'][:10]}; do not edit."
    yield from place(results)
    yield ABOUT
    found = distributions(results.rows)
    yield table(summary_lines(found), 1)
    if picture is not None:
        yield f"![Ratios of all rows in ascending order, lost ones first]({Path(picture).as_posix()})"
    yield "## The worst rows"
    yield "Medians in microseconds."
    for each in found:
        yield f"### {each.title}"
        yield table(worst_lines(results, each), 1)
    yield from (literal(note) for note in notes(results))
