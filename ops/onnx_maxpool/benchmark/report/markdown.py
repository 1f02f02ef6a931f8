"""A benchmark's results as a page of Markdown, to be kept."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from onnx_maxpool.benchmark.report.terminal import (
    TEXT_COLUMNS,
    about,
    note_lines,
    overhead_lines,
    place,
    row_lines,
    table_title,
)
from onnx_maxpool.benchmark.results import Results


def write_page(results: Results, path: Path, pictures: Sequence[Path] = ()) -> None:
    """Write the tables of the report, and links to the pictures."""
    path.write_text(
        "\n\n".join(paragraphs(results, [os.path.relpath(picture, path.parent) for picture in pictures])) + "\n"
    )


def paragraphs(results: Results, pictures: Iterable[str]) -> Iterator[str]:
    """What stands between empty lines."""
    yield "# Benchmark"
    yield f"Measured on {results.machine['date'][:10]}, and written by `onnx-maxpool bench --markdown`; do not edit."
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
