"""`onnx-maxpool bench`: choose rows, time them, show what was found."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from onnx_maxpool.benchmark.machine import cpus, machine
from onnx_maxpool.benchmark.measure import measure
from onnx_maxpool.benchmark.overheads import measure_overheads
from onnx_maxpool.benchmark.peers import HELD_TO, PEERS
from onnx_maxpool.benchmark.report.markdown import write_page
from onnx_maxpool.benchmark.report.terminal import report, row_line
from onnx_maxpool.benchmark.results import Results, RowResult
from onnx_maxpool.benchmark.rows import Row, chosen
from onnx_maxpool.cli.bench_grid import ROWS_PER_GROUP, GridOptions, bench_grid, known_groups
from onnx_maxpool.cli.outputs import prepare_files, prepare_folders
from onnx_maxpool.errors import InputError
from onnx_maxpool.processes import MOST_THREADS

OVERHEADS_ROW = "overheads: import and session"
"""What `--rows` is held against for the rows that are no operator's."""
SAMPLES, QUICK_SAMPLES = 9, 3
DEFAULT_THREADS = (2, 1)
TABLE_WIDTH = 170
"""Where the terminal is narrower, lines are wrapped by it: a folded table is harder to read."""


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="A few rows, three samples each.")] = False,
    rows: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Only rows with this in their name, whatever the case.")
    ] = None,
    peers: Annotated[
        list[str] | None, typer.Option("--peer", metavar="NAME", help="Only this peer, as the table calls it.")
    ] = None,
    threads: Annotated[
        list[int] | None, typer.Option(min=1, max=MOST_THREADS, help="Of every runtime; the default is 2, then 1.")
    ] = None,
    samples: Annotated[
        int | None, typer.Option(min=1, help="Timed samples per row and runtime; 9, or 3 with --quick.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help=f"Instruction set to hold ours and some peers to: {', '.join(HELD_TO)}.")
    ] = None,
    as_json: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write what is measured; to FILE.jsonl a row a line."),
    ] = None,
    grid: Annotated[
        bool,
        typer.Option("--grid", help="Rows drawn at random from the ranges that users have, in place of the table's."),
    ] = False,
    seed: Annotated[int, typer.Option(min=0, help="Of the rows of --grid.")] = 0,
    draws: Annotated[
        int, typer.Option(min=1, help="Rows of --grid for each operator, MaxPooling1 with and without indices apart.")
    ] = ROWS_PER_GROUP,
    operators: Annotated[
        list[str] | None,
        typer.Option("--operator", metavar="TEXT", help="Of --grid: only those with this in their name."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(min=0, help="After which --grid begins no other row.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="DIR", help="Write pictures of it.")] = None,
    markdown: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write its tables, and links to the pictures of --plot.")
    ] = None,
) -> None:
    """Time our operators in ONNX Runtime against whatever else is installed that computes the same.

    That is ONNX Runtime itself, OpenVINO, torch, PaddlePaddle and MNN. Outputs are compared before anything is timed;
    the exit code is 1 if any differs that should not.
    """
    if plot is not None and not find_spec("matplotlib"):
        raise InputError('--plot needs matplotlib: pip install "onnx-maxpool[bench]"')
    if target is not None and target not in HELD_TO:
        raise InputError(f"--target {target}: expected one of {', '.join(HELD_TO)}")
    patterns = tuple(rows or ())
    if grid:
        counts = tuple(threads or (count for count in DEFAULT_THREADS if count <= cpus()))
        options = GridOptions(
            seed, draws, known_groups(operators or ()), patterns, counts, known_peers(peers or ()), seconds
        )
        with held_to(target):
            bench_grid(options, as_json, plot, markdown)
        return
    found = chosen(patterns, quick=quick)
    overheads = not patterns or any(pattern.casefold() in OVERHEADS_ROW for pattern in patterns)
    if not found and not overheads:
        raise InputError(f"--rows {' '.join(patterns)}: no row has that in its name")
    samples = samples or (QUICK_SAMPLES if quick else SAMPLES)
    settings = {
        "quick": quick,
        "threads": tuple(threads or (count for count in DEFAULT_THREADS if count <= cpus())),
        "samples": samples,
        "peers": known_peers(peers or ()),
    }
    prepare_files(as_json, markdown)
    prepare_folders(plot)

    console = Console(highlight=False)
    with held_to(target):
        results = Results(machine(), settings)
        time_all(results, found, samples if overheads else 0, Console(stderr=True), as_json)
    console.width = max(console.width, TABLE_WIDTH)
    console.print(report(results))
    for path in write_files(results, as_json, plot, markdown):
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
    if results.failures:
        raise typer.Exit(1)


@contextmanager
def held_to(target: str | None) -> Iterator[None]:
    """Have processes that start meanwhile keep to an instruction set, as far as their runtimes can be told to."""
    before = dict(os.environ)
    os.environ.update(HELD_TO[target] if target else {})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def known_peers(names: Sequence[str]) -> tuple[str, ...]:
    """The peers of these names, whatever their case; all of them without any."""
    by_name = {name.casefold(): name for name in PEERS}
    if unknown := [name for name in names if name.casefold() not in by_name]:
        raise InputError(f"--peer {unknown[0]}: expected one of {', '.join(PEERS)}")
    return tuple(by_name[name.casefold()] for name in names) or PEERS


def time_all(
    results: Results, rows: Sequence[Row], overheads: int, console: Console, as_json: Path | None = None
) -> None:
    """Fill in the results, with a bar that says how far it is; `overheads` is how many samples of those to take.

    Where there is no terminal to draw a bar on, each row is a line.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(rows) * len(results.settings["threads"]) + overheads, completed=-1)

        def tell(what: str) -> None:
            progress.update(task, advance=1, description=what)

        def timed(result: RowResult) -> None:
            if not console.is_terminal:
                console.print(row_line(result), markup=False, soft_wrap=True)
            if as_json is not None:
                write_json(results, as_json)

        measure(results, rows, tell, timed)
        results.overheads = measure_overheads(overheads, tell) if overheads else []
    if as_json is not None:
        write_json(results, as_json)


def write_files(results: Results, as_json: Path | None, plot: Path | None, markdown: Path | None) -> Iterator[Path]:
    """Write the pictures and the page that are wanted; every file's path as it is there, that of the JSON first."""
    if as_json is not None:
        yield as_json
    pictures: list[Path] = []
    if plot is not None:
        from onnx_maxpool.benchmark.report.plots import write_plots  # matplotlib, which is an extra's

        pictures = write_plots(results, plot)
        yield from pictures
    if markdown is not None:
        write_page(results, markdown, pictures)
        yield markdown


def write_json(results: Results, path: Path) -> None:
    """The results as JSON, or as JSON Lines by the file's name: all of them or what was there before."""
    part = path.with_name(f"{path.name}.part")
    lines = results.json_lines() if path.suffix == ".jsonl" else [json.dumps(results.as_json(), indent=2)]
    part.write_text("".join(f"{line}\n" for line in lines))
    part.replace(path)
