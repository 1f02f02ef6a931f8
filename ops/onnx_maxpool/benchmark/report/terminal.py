"""A benchmark's results as tables on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from onnx_maxpool.benchmark.peers import FORMS, HELD_TO, INEXACT, LIMIT, OURS, PEERS
from onnx_maxpool.benchmark.results import Entry, Overhead, Results, RowResult
from onnx_maxpool.benchmark.rows import count_of
from onnx_maxpool.benchmark.statistics import Timing

NOTHING = "-"
TEXT_COLUMNS = 2
"""The first of a row's columns; the others are numbers."""
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
        yield f"Held to {machine['target']}: {OURS}, OpenVINO and torch. The others cannot be told."


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
    ratios = ("fastest peer / ours", "ours / limit", *(f"{name} / ours" for name in variants))
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
    yield factor(result.ratio(OURS, LIMIT))
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
        yield [overhead.what, f"{overhead.cost * 1e3:.2f}", timing_cell(overhead.with_us), without]


def notes(results: Results) -> Iterator[Text]:
    """What the tables mean, who is absent and why, and what was refused."""
    yield Text(
        "Times are medians in milliseconds, ± half the distance between the quartiles. The limit is every input byte "
        "read once and every output byte written once, by as many threads. 1 thread / ours, float / ours: our library "
        "on one thread and in float, timed in the same turns as the row."
    )
    for name, reason in results.absent.items():
        yield Text(f"{name} takes no part: {reason}", style="yellow")
    for (name, reason), count in refusals(results).items():
        yield Text(f"{name} does not take {count_of(count, 'row')}: {reason}")
    yield from (Text(line) for line in dict.fromkeys(entry_notes(results)))
    for failure in results.failures:
        yield Text(failure, style="red")


def entry_notes(results: Results) -> Iterator[str]:
    """Of cells that differ as they are known to, and of runtimes that were too slow for every sample."""
    for result in results.rows:
        for name, entry in result.entries.items():
            if entry.differing and name in INEXACT:
                cells = f"{entry.differing:,} of {entry.cells:,} cells"
                yield f"* {name} differs in {cells} of {result.row.name}: it {INEXACT[name]}"
            if entry.timing is not None and entry.timing.samples < results.settings["samples"]:
                yield f"{name} is slow: {count_of(entry.timing.samples, 'sample')} of {result.place}"


def refusals(results: Results) -> dict[tuple[str, str], int]:
    """How many rows each peer refused, by its name and reason."""
    counts: dict[tuple[str, str], int] = {}
    for result in results.rows:
        for name, entry in result.entries.items():
            if entry.refusal is not None and name != OURS and name not in results.absent:
                counts[name, entry.refusal] = counts.get((name, entry.refusal), 0) + 1
    return counts
