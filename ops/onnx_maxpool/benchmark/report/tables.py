"""A benchmark's results as tables: on a terminal, and as a page of Markdown that is kept."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from onnx_maxpool.benchmark.peers import FORMS, HELD_TO, INEXACT, OURS, PEERS, TRAFFIC
from onnx_maxpool.benchmark.results import Entry, Overhead, Results, RowResult, Timing
from onnx_maxpool.benchmark.rows import GraphCase, SlidingCase, count_of

NOTHING = "-"
TEXT_COLUMNS = 2
"""The first of a row's columns; the others are numbers."""
NO_BOUND = (
    "It is there to compare with, and is no lower limit. A row can be faster: ROIs may leave out most of a map, data "
    "may stay in the caches, and our code may read ahead or store past the caches, where plain reading and writing "
    "does not."
)
WINDOWS = "k3 s1 p1: windows of 3 cells along every axis, stride 1, padding 1. indices: with the second output."
GRAPH = (
    "Conv, MaxRoiPool, MatMul: a graph. A convolution of 1x1 writes the map just before it is pooled, and a matrix "
    "product reads the output next. So the caches contain the map and the output, as in a whole model. All numbers are "
    "small integers, and all sums exact."
)
VARIANTS = ("1 thread", "float")
"""Ways in which ours is timed again beside a row."""


def report(results: Results) -> Group:
    """Everything, in the order in which it was timed."""
    return Group(*parts(results))


def parts(results: Results) -> Iterator[RenderableType]:
    """The tables with their notes."""
    yield from (Text(line) for line in place(results))
    yield ""
    for title, rows in groupby(results.rows, key=table_title):
        yield row_table(title, list(rows))
        yield ""
    if results.overheads:
        yield overhead_table(results.overheads)
        yield ""
    yield from notes(results)


def place(results: Results) -> Iterator[str]:
    """The machine, and the versions of what ran."""
    machine = results.machine
    yield f"{machine['cpu']}, {machine['cpus']} CPUs, {machine['system']}, Python {machine['python']}"
    yield ", ".join(f"{name} {version}" for name, version in sorted(results.versions.items()))
    if machine["target"] in HELD_TO:
        yield f"Limited to {machine['target']}: {OURS}, OpenVINO and torch. The others have no such setting."


def table_title(result: RowResult) -> str:
    """Of the table in which a row stands."""
    growth = f" over {result.row.curve}" if result.row.curve else ""
    return f"{result.row.case.operator}{growth}, {count_of(result.threads, 'thread')}"


def row_table(title: str, rows: list[RowResult]) -> Table:
    """A line per row."""
    table = Table(box=None, pad_edge=False, title=title, title_justify="left", title_style="bold")
    header, *lines = row_lines(rows)
    for i, column in enumerate(header):
        table.add_column(column, justify="left" if i < TEXT_COLUMNS else "right")
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def row_lines(rows: list[RowResult]) -> Iterator[list[str]]:
    """The cells of the header, then of each row: with a column for every peer that was timed."""
    names = [name for name in (*PEERS, *FORMS) if any(name in result.medians for result in rows)]
    variants = [variant for variant in VARIANTS if any(variant in result.ours for result in rows)]
    ratios = ("fastest peer / ours", "ours / memory traffic", *(f"{name} / ours" for name in variants))
    yield ["case", "type", OURS, *names, *ratios]
    for result in rows:
        yield list(cells(result, names, variants))


def cells(result: RowResult, names: Iterable[str], variants: Iterable[str]) -> Iterator[str]:
    """A line of the table."""
    ours = result.entries[OURS]
    yield str(result.row.case)
    yield result.row.type
    yield entry_cell(ours)
    for name in names:
        yield entry_cell(result.entries.get(name, Entry()))
    yield factor(result.ratio(result.fastest_peer, OURS))
    yield factor(result.ratio(OURS, TRAFFIC))
    for variant in variants:
        yield factor(relative(result.ours.get(variant), ours))


def row_line(result: RowResult) -> str:
    """A row as one line of text, for a log."""
    peer = result.fastest_peer
    against = f", {factor(result.ratio(peer, OURS))} as fast as {peer}" if peer and OURS in result.medians else ""
    return f"{result.place}: {entry_cell(result.entries[OURS])} ms{against}"


def relative(entry: Entry | None, ours: Entry) -> float | None:
    """How many times as long an entry took as ours, if both were timed."""
    if entry is None or entry.timing is None or ours.timing is None:
        return None
    return entry.timing.median / ours.timing.median


def entry_cell(entry: Entry) -> str:
    """`5.31 ±4%`, with a `*` where cells differ."""
    if entry.timing is None:
        return NOTHING
    return f"{timing_cell(entry.timing)}{'*' if entry.differing else ''}"


def timing_cell(timing: Timing) -> str:
    """`5.31 ±4%`: the median in milliseconds and half the distance between the quartiles."""
    return f"{digits(timing.median * 1e3)} ±{timing.spread:.0%}"


def factor(ratio: float | None) -> str:
    """`4.2×`."""
    return NOTHING if ratio is None else f"{digits(ratio)}×"


def digits(value: float) -> str:
    """Three significant digits, or all that stand before the point."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def overhead_table(overheads: Iterable[Overhead]) -> Table:
    """Import and sessions."""
    table = Table(box=None, pad_edge=False, title="Overheads", title_justify="left", title_style="bold")
    (what, *columns), *lines = overhead_lines(overheads)
    table.add_column(what, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right")
    for line in lines:
        table.add_row(*map(Text, line))
    return table


def overhead_lines(overheads: Iterable[Overhead]) -> Iterator[list[str]]:
    """The cells of the header, then of each overhead."""
    yield ["what", "cost, ms", "with, ms", "without, ms"]
    for overhead in overheads:
        without = timing_cell(overhead.without) if overhead.without else NOTHING
        cost = overhead.cost * 1e3
        yield [overhead.what, f"{cost:.{'2f' if abs(cost) >= 0.1 else '2g'}}", timing_cell(overhead.with_us), without]


def notes(results: Results) -> Iterator[RenderableType]:
    """What the tables mean, then which runtimes are not in every row and why."""
    yield from map(Text, about(results))
    header, *lines = note_lines(results)
    if lines:
        table = Table(box=None, pad_edge=False, title="Notes", title_justify="left", title_style="bold")
        for column in header:
            table.add_column(column, overflow="fold")
        for line in lines:
            table.add_row(*map(Text, line))
        yield ""
        yield table
    for failure in results.failures:
        yield Text(failure, style="red")


def about(results: Results) -> Iterator[str]:
    """What the columns mean, a paragraph each."""
    yield "Times are medians in milliseconds, ± half the distance between the quartiles."
    yield "* after a time: some cells of the output differ from ours. The notes say why."
    ratios = [ratio for result in results.rows if (ratio := result.ratio(OURS, TRAFFIC)) is not None]
    if ratios:
        yield (
            "Memory traffic: to read every input byte once and write every output byte once, on as many threads, with "
            f"NumPy and libc. {NO_BOUND} It is so in {sum(ratio < 1 for ratio in ratios)} of {len(ratios)} rows."
        )
    yield "1 thread / ours, float / ours: our library on one thread and in float, timed in the same turns as the row."
    if any(isinstance(result.row.case, SlidingCase) for result in results.rows):
        yield WINDOWS
    if any(isinstance(result.row.case, GraphCase) for result in results.rows):
        yield GRAPH


def note_lines(results: Results) -> Iterator[list[str]]:
    """The cells of the header, then of each note."""
    yield ["runtime", "rows", "note"]
    for name, reason in results.absent.items():
        yield [name, "all", f"not timed: {reason}"]
    for (name, reason), count in refusals(results).items():
        yield [name, str(count), f"not timed: {reason}"]
    for name, (reason, _) in INEXACT.items():
        if parts := [part for result in results.rows if (part := differing_part(result.entries.get(name)))]:
            yield [name, str(len(parts)), f"* {min(parts):.2%} to {max(parts):.2%} of the cells differ: it {reason}"]
    for name in (*PEERS, *FORMS):
        timings = [result.entries[name].timing for result in results.rows if name in result.entries]
        samples = [timing.samples for timing in timings if timing and timing.samples < results.settings["samples"]]
        if samples:
            fewer = f"{min(samples)} to {max(samples)}" if len(set(samples)) > 1 else str(samples[0])
            yield [name, str(len(samples)), f"slow: {fewer} samples, not {results.settings['samples']}"]


def differing_part(entry: Entry | None) -> float:
    """How many of the cells differ, in parts of all."""
    return entry.differing / entry.cells if entry is not None and entry.cells else 0.0


def refusals(results: Results) -> dict[tuple[str, str], int]:
    """How many rows each peer refused, by its name and reason."""
    counts: dict[tuple[str, str], int] = {}
    for result in results.rows:
        for name, entry in result.entries.items():
            if entry.refusal is not None and name != OURS and name not in results.absent:
                counts[name, entry.refusal] = counts.get((name, entry.refusal), 0) + 1
    return counts


def write_page(results: Results, path: Path, pictures: Sequence[Path] = ()) -> None:
    """Write the tables of the report, and links to the pictures and to the pages beside it."""
    shown = [os.path.relpath(picture, path.parent) for picture in pictures]
    path.write_text("\n\n".join(paragraphs(results, shown, links(path))) + "\n", encoding="utf-8")


def links(path: Path) -> list[str]:
    """A link to every other page in the folder, by its title."""
    others = sorted(page for page in path.parent.glob("*.md") if page.name != path.name and page.is_file())
    titles = (
        page.read_text(encoding="utf-8", errors="replace").partition("\n")[0].removeprefix("# ") for page in others
    )
    return [f"[{title}]({page.name})" for title, page in zip(titles, others, strict=True)]


def paragraphs(results: Results, pictures: Iterable[str], others: Sequence[str]) -> Iterator[str]:
    """What stands between empty lines."""
    yield "# Benchmark"
    yield f"Measured on {results.machine['date'][:10]}, and written by `onnx-maxpool bench --markdown`; do not edit."
    if others:
        yield f"Other pages: {', '.join(others)}."
    yield from place(results)
    yield "\n".join(f"- {literal(line)}" for line in about(results))
    for picture in pictures:
        yield f"![{alternative(Path(picture).stem)}]({Path(picture).as_posix()})"
    for title, rows in groupby(results.rows, key=table_title):
        yield f"## {title}"
        yield table(row_lines(list(rows)), TEXT_COLUMNS)
    if results.overheads:
        yield "## Overheads"
        yield table(overhead_lines(results.overheads), 1)
    header, *lines = note_lines(results)
    if lines:
        yield "## Notes"
        yield table([header, *lines], len(header))
    yield from map(literal, results.failures)


def alternative(picture: str) -> str:
    """The text in place of a picture, which is named by an operator or `growth`."""
    what = "Times as inputs grow" if picture == "growth" else f"Times of other runtimes over ours, {picture}"
    return f"{what}; the tables below have these numbers"


def table(lines: Iterable[list[str]], texts: int) -> str:
    """The lines, of which the first is the header; the first `texts` columns are words, the others numbers."""
    header, *rows = lines
    rule = ["---" if i < texts else "---:" for i in range(len(header))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *(map(literal, row) for row in rows)))


def literal(text: str) -> str:
    """Text in which no character has a meaning of Markdown's."""
    return re.sub(r"([\\*_|<`])", r"\\\1", text)
