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

from onnx_maxpool.benchmark.measure import measure
from onnx_maxpool.benchmark.overheads import measure_overheads
from onnx_maxpool.benchmark.peers import FORMS, HELD_TO, PEERS
from onnx_maxpool.benchmark.report.tables import report, row_line, write_page
from onnx_maxpool.benchmark.results import Results, RowResult, read_results
from onnx_maxpool.benchmark.rows import Row, chosen
from onnx_maxpool.cli import bench_grid
from onnx_maxpool.cli.bench_grid import ROWS_PER_GROUP, GridOptions, known_groups
from onnx_maxpool.cli.outputs import prepare_files, prepare_folders, prepare_replacement
from onnx_maxpool.errors import InputError
from onnx_maxpool.files import replacing
from onnx_maxpool.machine import cpus, machine
from onnx_maxpool.processes import MOST_THREADS

OVERHEADS_ROW = "overheads: import, session and small runs"
"""What `--rows` is compared with, for the rows that are no operator's."""
SAMPLES, QUICK_SAMPLES = 9, 3
DEFAULT_THREADS = (2, 1)
TABLE_WIDTH = 170
"""Where the terminal is narrower, lines are wrapped by it: a folded table is harder to read."""


def bench(
    quick: Annotated[bool, typer.Option("--quick", help="Time only a few rows, with three samples each.")] = False,
    rows: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="Time only rows with this text in their name, in upper or lower case."),
    ] = None,
    peers: Annotated[
        list[str] | None,
        typer.Option(
            "--peer",
            metavar="NAME",
            help="Compare only with this peer, by its name in the table. Repeat the option for several.",
        ),
    ] = None,
    threads: Annotated[
        list[int] | None,
        typer.Option(
            min=1,
            max=MOST_THREADS,
            help="Let every runtime use this many threads. The default is to measure with 2, then with 1.",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        typer.Option(
            min=1, help="Take this many samples for each row and runtime. The default is 9, or 3 with --quick."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(help=f"Limit our library and some peers to this instruction set: {', '.join(HELD_TO)}."),
    ] = None,
    as_json: Annotated[
        Path | None,
        typer.Option(
            "--json",
            metavar="FILE",
            help="Write the results as JSON to this file. FILE.jsonl gets one row in each line.",
        ),
    ] = None,
    grid: Annotated[
        bool,
        typer.Option(
            "--grid", help="Time random rows instead of the table's, from the ranges of sizes that real models use."
        ),
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Draw the rows of --grid with this seed. The default is 0.")
    ] = None,
    draws: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Draw this many rows of --grid for each operator, and for MaxPooling1 with and without indices. The "
            f"default is {ROWS_PER_GROUP}.",
        ),
    ] = None,
    operators: Annotated[
        list[str] | None,
        typer.Option(
            "--operator", metavar="TEXT", help="Draw rows of --grid only for operators with this text in their name."
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option(min=0, help="Begin no new row of --grid after this many seconds.")
    ] = None,
    from_: Annotated[
        list[Path] | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Time nothing: report the results that --json wrote to this file; --plot and --markdown show them. "
            "With --grid, repeat the option for files with other seeds.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Draw pictures of the results in this folder.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Do not time rows of --grid again if the file of --json has them.")
    ] = False,
    markdown: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the tables to this Markdown file, with links to the pictures of --plot."
        ),
    ] = None,
) -> None:
    """Time the operators of this package in ONNX Runtime, and in every other installed runtime that has them.

    These are ONNX Runtime without this package, OpenVINO, torch, PaddlePaddle and MNN. Both portable forms of the
    operators are timed too, in ONNX Runtime. Outputs are compared before anything is timed. The exit code is 1 if an
    output differs that should be equal.
    """
    if plot is not None and not find_spec("matplotlib"):
        raise InputError('--plot needs matplotlib: pip install "onnx-maxpool[bench]"')
    if target is not None and target not in HELD_TO:
        raise InputError(f"--target {target}: expected one of {', '.join(HELD_TO)}")
    of_the_table = {"--quick": quick or None, "--samples": samples}
    of_the_grid = {
        "--seed": seed,
        "--draws": draws,
        "--operator": operators or None,
        "--seconds": seconds,
        "--resume": resume or None,
    }
    if from_:
        both = {"--rows": rows or None, "--peer": peers or None, "--threads": threads or None, "--target": target}
        timing = {**of_the_table, **both, "--json": as_json, **of_the_grid}
        if given := [name for name, value in timing.items() if value is not None]:
            raise InputError(f"--from and {given[0]}: expected one of them, because --from times nothing")
        report_again(from_, plot, markdown, grid=grid)
        return
    unused = of_the_table if grid else of_the_grid
    if given := [name for name, value in unused.items() if value is not None]:
        raise InputError(f"{given[0]}: expected {'without' if grid else 'with'} --grid")
    patterns = tuple(rows or ())
    if grid:
        counts = tuple(threads or (count for count in DEFAULT_THREADS if count <= cpus()))
        options = GridOptions(
            seed if seed is not None else 0,
            draws if draws is not None else ROWS_PER_GROUP,
            known_groups(operators or ()),
            patterns,
            counts,
            known_peers(peers or (), PEERS),
            seconds,
            resume,
        )
        with held_to(target):
            bench_grid.bench_grid(options, as_json, plot, markdown)
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
        "peers": known_peers(peers or (), PEERS + FORMS),
    }
    json_file = as_json and prepare_replacement(as_json)
    prepare_files(markdown)
    prepare_folders(plot)

    console = Console(highlight=False)
    with held_to(target):
        results = Results(machine(), settings)
        time_all(results, found, samples if overheads else 0, Console(stderr=True), json_file)
    finish(results, console, as_json, plot, markdown)


def report_again(paths: Sequence[Path], plot: Path | None, markdown: Path | None, *, grid: bool) -> None:
    """Report what a file has, or several of the grid. Raises InputError."""
    if grid:
        bench_grid.report_again(paths, plot, markdown)
        return
    if len(paths) > 1:
        raise InputError("--from: expected one file, unless with --grid")
    results = read_results(paths[0])
    prepare_files(markdown)
    prepare_folders(plot)
    finish(results, Console(highlight=False), None, plot, markdown)


def finish(results: Results, console: Console, as_json: Path | None, plot: Path | None, markdown: Path | None) -> None:
    """Print the report, and write the files that are wanted; ends with 1 if an output differs that should be equal."""
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


def known_peers(names: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    """Those that are known of these names, whatever their case; all of them without any."""
    by_name = {name.casefold(): name for name in known}
    if unknown := [name for name in names if name.casefold() not in by_name]:
        raise InputError(f"--peer {unknown[0]}: expected one of {', '.join(known)}")
    return tuple(by_name[name.casefold()] for name in names) or tuple(known)


def time_all(
    results: Results, rows: Sequence[Row], overheads: int, console: Console, as_json: Path | None = None
) -> None:
    """Fill in the results, with a bar that says how far it is; `overheads` is how many samples of those to take.

    Where there is no terminal to draw a bar on, each row is a line.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        total = len(rows) * len(results.settings["threads"]) + (overheads + 1 if overheads else 0)
        task = progress.add_task("", total=total, completed=-1)

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
    lines = results.json_lines() if path.suffix == ".jsonl" else [json.dumps(results.as_json(), indent=2)]
    with replacing(path) as unfinished:
        unfinished.write_text("".join(f"{line}\n" for line in lines))
