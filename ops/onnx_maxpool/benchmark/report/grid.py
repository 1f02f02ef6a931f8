"""The grid as lines for a log, as tables on a terminal, and as a page: of one run, or of several with other seeds."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from rich.console import Group
from rich.table import Table
from rich.text import Text

from onnx_maxpool.benchmark.grid.race import group_of_result
from onnx_maxpool.benchmark.grid.summary import (
    Distribution,
    clearly_lost,
    distributions,
    lost,
    out_of_reach,
    ratio,
    rows_by_processor,
    worst,
)
from onnx_maxpool.benchmark.peers import OURS, PEERS, SESSION
from onnx_maxpool.benchmark.report.tables import NOTHING, digits, factor, literal, place, refusals, table
from onnx_maxpool.benchmark.results import Results, RowResult
from onnx_maxpool.benchmark.rows import count_of

WORST = 10
"""Rows that are shown by name, of each group and number of threads."""
ABOUT = (
    "Rows are drawn at random from the ranges that users have: channels from 1 to 2048, maps from 7x7 to 512x512 and "
    "volumes, 1 to 10,000 ROIs from one cell to the whole map, 1 to 28 bins a side, windows of 1 to 16 with strides "
    "and paddings, adaptive sizes from 1 to 100, every type that a peer supports. Each row is timed in all runtimes in "
    "turns, and for longer where the ratio is below 2. The ratio is the median, over the rounds, of the fastest peer's "
    "time over ours: below 1 the row is lost. The quotient of two medians may be another, where the machine's speed "
    "changed from round to round; older runs, which did not keep the rounds' ratios, are compared by it. A lost row is "
    "noise where the ratio's upper quartile is 1 or more; the others are clearly lost. Session alone is a run of ONNX "
    "Runtime with the same inputs and a node that does next to nothing. A row is out of reach where another runtime "
    "than ONNX Runtime takes no longer than that: then no operator of ONNX Runtime can win it. The figures include all "
    "these rows."
)


def grid_line(result: RowResult, done: int, wanted: int) -> str:
    """A row as one line of text, for a log that says how far it is."""
    value, times = ratio(result), (f"{name} {micro(median)}" for name, median in result.medians.items())
    mark = " LOST" if value is not None and value < 1 else ""
    refusal = result.entries[OURS].refusal
    return f"[{done}/{wanted}] {factor(value)}{mark}  {result.place}: {refusal or ', '.join(times) + ' us'}"


def micro(seconds: float) -> str:
    """In microseconds."""
    return digits(seconds * 1e6)


def micro_of(result: RowResult, name: str) -> str:
    """An entry's median in microseconds, if it was timed."""
    return micro(result.medians[name]) if name in result.medians else NOTHING


def grid_report(runs: Sequence[Results]) -> Group:
    """For each processor the rows that are lost, the table of distributions, then each group's worst rows."""
    parts: list[Table | Text | str] = [Text(line) for run in runs for line in run_lines(run)]
    processors = rows_by_processor(runs)
    for processor, rows in processors.items():
        found = distributions(rows)
        header, *lines = lost_lines(rows)
        parts += ["", Text(processor, style="bold")] if len(processors) > 1 else []
        parts += ["", rich_table("Rows that are lost", [header, *lines]) if lines else Text("No row is lost.")]
        parts += ["", rich_table("Fastest peer / ours", list(summary_lines(found)))]
        for each in found:
            parts += ["", rich_table(f"The worst rows of {each.title}", list(worst_lines(rows, each)))]
    parts += [Text(note) for note in notes(runs)]
    return Group(*parts)


def run_lines(run: Results) -> Iterator[str]:
    """What was drawn and when, and on what it was timed."""
    rows = count_of(len({result.row.name for result in run.rows}), "row")
    yield f"Seed {run.settings['seed']}, {rows}, {run.machine['date'][:10]}"
    yield from place(run)


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
    yield ["operator", "rows", "least", "5th percentile", "median", "rows lost", "clearly lost", "out of reach"]
    for each in found:
        figures = [f"{value:.2f}" for value in each.figures]
        yield [
            each.title,
            str(len(each.ratios)),
            *figures,
            str(each.lost),
            str(each.clearly_lost),
            str(each.out_of_reach),
        ]


def lost_lines(rows: Sequence[RowResult]) -> Iterator[list[str]]:
    """The header, then a line for each row that is lost, the worst first."""
    yield ["row", "ratio", "fastest peer", OURS, "the peer", SESSION]
    for result in lost(rows):
        peer = result.fastest_peer
        assert peer is not None
        times = [micro_of(result, name) for name in (OURS, peer, SESSION)]
        yield [result.place, ratio_cell(result), peer, *times]


def worst_lines(rows: Sequence[RowResult], group: Distribution) -> Iterator[list[str]]:
    """The header, then a line for each of the worst rows: medians in microseconds."""
    names = [name for name in PEERS if any(name in result.medians for result in in_group(rows, group))]
    yield ["row", "ratio", OURS, *names, SESSION]
    for result in worst(rows, group.group, group.threads, WORST):
        times = [micro_of(result, name) for name in (OURS, *names, SESSION)]
        yield [f"{result.row.case}, {result.row.type}", ratio_cell(result), *times]


def in_group(rows: Iterable[RowResult], group: Distribution) -> Iterator[RowResult]:
    """The rows that a distribution is of."""
    return (result for result in rows if group_of_result(result) == (group.group, group.threads))


def ratio_cell(result: RowResult) -> str:
    """`0.98 (noise)` where the upper quartile is 1 or more, `0.98 (out of reach)` where no operator can win."""
    value = ratio(result)
    assert value is not None
    if value >= 1:
        return f"{value:.2f}"
    why = ", ".join(["noise"] * (not clearly_lost(result)) + ["out of reach"] * out_of_reach(result))
    return f"{value:.2f} ({why})" if why else f"{value:.2f}"


def notes(runs: Sequence[Results]) -> Iterator[str]:
    """Who is absent or does not support rows, and what differs."""
    for name, reason in {name: reason for run in runs for name, reason in run.absent.items()}.items():
        yield f"{name} takes no part: {reason}"
    counts: dict[str, int] = {}
    for run in runs:
        for (name, _), count in refusals(run).items():
            counts[name] = counts.get(name, 0) + count
    for name, count in counts.items():
        yield f"{name} does not support {count_of(count, 'row')}."
    for run in runs:
        yield from run.failures


def write_grid_page(runs: Sequence[Results], path: Path, commands: Sequence[str], picture: Path | None) -> None:
    """Write the page: the lost rows, the distributions, the picture, the worst rows, and how to repeat it."""
    shown = os.path.relpath(picture, path.parent) if picture else None
    path.write_text("\n\n".join(paragraphs(runs, commands, shown)) + "\n", encoding="utf-8")


def paragraphs(runs: Sequence[Results], commands: Sequence[str], picture: str | None) -> Iterator[str]:
    """What stands between empty lines."""
    yield "# Random shapes"
    yield "Written by `onnx-maxpool bench --grid --markdown`; do not edit."
    yield ABOUT
    processors = rows_by_processor(runs)
    for processor, rows in processors.items():
        if len(processors) > 1:
            yield f"## {processor}"
        yield from summary_paragraphs(rows, "###" if len(processors) > 1 else "##")
    if picture is not None:
        yield f"![Ratios of all rows in ascending order, lost ones first]({Path(picture).as_posix()})"
    for processor, rows in processors.items():
        beside = f" on {processor}" if len(processors) > 1 else ""
        for each in distributions(rows):
            yield f"## The worst rows of {each.title}{beside}"
            yield table(worst_lines(rows, each), 1)
    yield "## How the rows were drawn"
    yield "\n".join(["```text", *commands, "```"])
    seeds: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        seed, *machine = run_lines(run)
        seeds.setdefault(tuple(machine), []).append(seed)
    for machine_lines, drawn in seeds.items():
        yield "\n".join(f"- {literal(line)}" for line in (*drawn, *machine_lines))
    for note in notes(runs):
        yield literal(note)


def summary_paragraphs(rows: Sequence[RowResult], heading: str) -> Iterator[str]:
    """The lost rows and the distributions of one processor."""
    header, *lines = lost_lines(rows)
    yield f"{heading} Rows that are lost"
    yield f"{len(lines)} of {sum(ratio(result) is not None for result in rows)}. Medians in microseconds."
    if lines:
        yield table([header, *lines], 1)
    yield f"{heading} Fastest peer / ours"
    yield table(summary_lines(distributions(rows)), 1)
