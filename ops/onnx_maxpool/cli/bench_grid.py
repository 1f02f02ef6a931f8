"""`onnx-maxpool bench --grid`: rows that are drawn, timed and summed up."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from onnx_maxpool.benchmark.grid.race import grid_rows, race
from onnx_maxpool.benchmark.grid.shapes import GROUPS
from onnx_maxpool.benchmark.grid.summary import from_record, record
from onnx_maxpool.benchmark.report.grid import grid_line, grid_report, write_grid_page
from onnx_maxpool.benchmark.results import Results, RowResult
from onnx_maxpool.benchmark.rows import Row
from onnx_maxpool.cli.outputs import prepare_files, prepare_folders
from onnx_maxpool.errors import InputError
from onnx_maxpool.machine import machine

ROWS_PER_GROUP = 300
TABLE_WIDTH = 170


@dataclass(frozen=True)
class GridOptions:
    """What to draw, and where results go."""

    seed: int
    count: int
    """Rows of each group."""
    groups: Sequence[str]
    patterns: Sequence[str]
    threads: Sequence[int]
    peers: Sequence[str]
    seconds: float | None
    resume: bool
    """Whether rows that the JSON has are not timed again."""

    @property
    def command(self) -> str:
        """The command that repeats it."""
        parts = [f"onnx-maxpool bench --grid --seed {self.seed} --draws {self.count}"]
        if len(self.groups) < len(GROUPS):
            parts += [f'--operator "{group}"' for group in self.groups]
        return " ".join(parts)


def known_groups(names: Sequence[str]) -> list[str]:
    """The groups whose name contains one of these, whatever the case; all of them without any."""
    for name in names:
        if not any(name.casefold() in group.casefold() for group in GROUPS):
            raise InputError(f"--operator {name}: expected a part of {', '.join(GROUPS)}")
    return [group for group in GROUPS if not names or any(name.casefold() in group.casefold() for name in names)]


def bench_grid(options: GridOptions, as_json: Path | None, plot: Path | None, markdown: Path | None) -> Results:
    """Time the rows, a line on standard error for each; print the report, and write the files that are wanted.

    Raises InputError where no row fits.
    """
    rows = grid_rows(options.groups, options.seed, options.count, options.patterns)
    if not rows:
        raise InputError(f"--rows {' '.join(options.patterns)}: no row has that in its name")
    prepare_files(as_json, markdown)
    prepare_folders(plot)
    results = Results(machine(), {"threads": options.threads, "peers": options.peers, "seed": options.seed})
    if options.resume:
        results.rows = earlier(as_json, rows, results)
    log = Console(stderr=True, highlight=False)

    def timed(result: RowResult) -> None:
        log.print(grid_line(result), markup=False, soft_wrap=True)

    race(results, rows, options.threads, timed, options.seconds)
    if as_json is not None:
        write_lines(results, as_json)
    console = Console(highlight=False)
    console.width = max(console.width, TABLE_WIDTH)
    console.print(grid_report(results))
    picture = None
    if plot is not None:
        from onnx_maxpool.benchmark.report.plots import write_grid_plot  # matplotlib, which is an extra's

        picture = write_grid_plot(results, plot / "grid.svg")
    if markdown is not None:
        write_grid_page(results, markdown, options.command, picture)
    for path in filter(None, (as_json, picture, markdown)):
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
    if results.failures:
        raise typer.Exit(1)
    return results


def earlier(path: Path | None, rows: Sequence[Row], results: Results) -> list[RowResult]:
    """The results that a file has of these rows, whose versions are then known; none where there is no such file."""
    if path is None:
        raise InputError("--resume: expected --json FILE beside it")
    if not path.exists():
        return []
    by_name = {row.name: row for row in rows}
    run, *records = map(json.loads, path.read_text().splitlines())
    results.versions.update(run["versions"])
    return [from_record(found, by_name[found["name"]]) for found in records if found["name"] in by_name]


def write_lines(results: Results, path: Path) -> None:
    """The run, then a line for each row: all of them or what was there before."""
    run = {"record": "run", "machine": results.machine, "settings": results.settings, "versions": results.versions}
    part = path.with_name(f"{path.name}.part")
    part.write_text("".join(f"{json.dumps(line)}\n" for line in (run, *map(record, results.rows))))
    part.replace(path)
