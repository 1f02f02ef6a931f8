"""`onnx-maxpool bench --grid`: rows that are drawn, timed and summed up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console

from onnx_maxpool.benchmark.grid.race import grid_rows, race
from onnx_maxpool.benchmark.grid.records import append, begin, read_grid
from onnx_maxpool.benchmark.grid.shapes import GROUPS
from onnx_maxpool.benchmark.report.grid import grid_line, grid_report, write_grid_page
from onnx_maxpool.benchmark.results import Results, RowResult
from onnx_maxpool.benchmark.rows import Row
from onnx_maxpool.cli.outputs import prepare_files, prepare_folders, prepare_replacement
from onnx_maxpool.errors import InputError, listing
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
        if self.seconds is not None:
            parts.append(f"--seconds {self.seconds:g}")
        return " ".join(parts)


def known_groups(names: Sequence[str]) -> list[str]:
    """The groups whose name contains one of these, whatever the case; all of them without any."""
    for name in names:
        if not any(name.casefold() in group.casefold() for group in GROUPS):
            raise InputError(f"--operator {name}: expected a part of {', '.join(GROUPS)}")
    return [group for group in GROUPS if not names or any(name.casefold() in group.casefold() for name in names)]


def bench_grid(options: GridOptions, as_json: Path | None, plot: Path | None, markdown: Path | None) -> None:
    """Time the rows, a line on standard error for each; print the report, and write the files that are wanted.

    The file of JSON gets each row as soon as it is timed. Raises InputError where no row fits.
    """
    rows = grid_rows(options.groups, options.seed, options.count, options.patterns)
    if not rows:
        raise InputError(f"--rows {' '.join(options.patterns)}: no row has that in its name")
    if options.resume and as_json is None:
        raise InputError("--resume: expected --json FILE beside it")
    json_file = as_json and prepare_replacement(as_json)
    prepare_files(markdown)
    prepare_folders(plot)
    settings = {"threads": options.threads, "peers": options.peers, "seed": options.seed, "command": options.command}
    results = Results(machine(), settings)
    if options.resume and as_json is not None and as_json.exists():
        earlier(read_grid(as_json), as_json, rows, results)
    log = Console(stderr=True, highlight=False)
    if json_file is not None:
        begin(results, json_file)

    def timed(result: RowResult) -> None:
        log.print(grid_line(result, len(results.rows), len(rows) * len(options.threads)), markup=False, soft_wrap=True)
        if json_file is not None:
            append(result, json_file)

    race(results, rows, options.threads, timed, options.seconds)
    if json_file is not None:
        begin(results, json_file)  # with the versions, which are known now
    report_grids([results], as_json, plot, markdown)


def earlier(found: Results, path: Path, rows: Sequence[Row], results: Results) -> None:
    """Begin with what a file has. Raises InputError where this run would not have found the same."""
    for what, theirs, ours in (
        ("seed", found.settings["seed"], results.settings["seed"]),
        ("peers", listing(found.settings["peers"]), listing(results.settings["peers"])),
        ("processor", found.machine["cpu"], results.machine["cpu"]),
        ("target", found.machine.get("target"), results.machine["target"]),
    ):
        if theirs != ours:
            raise InputError(f"--resume {path}: found {what} {theirs}, expected {ours}")
    names = {row.name for row in rows}
    for result in found.rows:
        if result.row.name not in names:
            raise InputError(f"--resume {path}: found {result.row.name}, expected only rows that these options draw")
    threads = dict.fromkeys((*found.settings["threads"], *results.settings["threads"]))
    results.settings = {**results.settings, "threads": list(threads)}
    results.versions.update(found.versions)
    results.rows = list(found.rows)


def report_again(paths: Sequence[Path], plot: Path | None, markdown: Path | None) -> None:
    """Report what files have, of several seeds as one. Raises InputError."""
    runs = [read_grid(path) for path in paths]
    prepare_files(markdown)
    prepare_folders(plot)
    report_grids(runs, None, plot, markdown)


def report_grids(runs: Sequence[Results], as_json: Path | None, plot: Path | None, markdown: Path | None) -> None:
    """Print the report, and write the files that are wanted; ends with 1 if an output differs that should be equal."""
    console = Console(highlight=False)
    console.width = max(console.width, TABLE_WIDTH)
    console.print(grid_report(runs))
    picture = None
    if plot is not None:
        from onnx_maxpool.benchmark.report.plots import write_grid_plot  # matplotlib, which is an extra's

        picture = write_grid_plot(runs, plot / "grid.svg")
    if markdown is not None:
        write_grid_page(runs, markdown, [run.settings["command"] for run in runs], picture)
    for path in filter(None, (as_json, picture, markdown)):
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
    if any(run.failures for run in runs):
        raise typer.Exit(1)
