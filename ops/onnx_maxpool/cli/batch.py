"""`onnx-maxpool batch`: a model over the rows of files, in several processes."""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from onnx_maxpool.errors import InputError
from onnx_maxpool.machine import cpus
from onnx_maxpool.processes import MOST_THREADS
from onnx_maxpool.types import BinEdges

if TYPE_CHECKING:
    from onnx_maxpool.batch.job import Engine, Summary

NEEDED = {"batch": "pyarrow", "ray": "ray"}
"""By extra."""


def batch(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="Read this .onnx file; its external data must be in the same folder."),
    ],
    rows: Annotated[
        Path,
        typer.Argument(metavar="INPUT", help="Read this Parquet file, or this folder of .parquet or .npz files."),
    ],
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUTPUT", help="Write the outputs to this folder, as Parquet files, which are called parts."
        ),
    ],
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="Compute in processes of this machine, or with Ray Data.")
    ] = "local",
    address: Annotated[
        str | None,
        typer.Option(help="Use the Ray cluster at this address; auto finds it. By default Ray runs on this machine."),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_THREADS,
            help="Use at most this many processes; each computes one part at a time. The default is the number of "
            "processors that this process may use, or of the Ray cluster, divided by --threads.",
        ),
    ] = None,
    threads: Annotated[int, typer.Option(min=1, max=MOST_THREADS, help="Use this many threads in each process.")] = 1,
    batch_size: Annotated[int, typer.Option(min=1, help="Run this many rows together.")] = 8,
    part_rows: Annotated[
        int,
        typer.Option(min=1, help="Write at most this many rows to a part. But a Parquet row group is never divided."),
    ] = 512,
    rois: Annotated[
        list[str] | None,
        typer.Option(help="Use this input as ROIs, if more than one could be. Give it again for another input."),
    ] = None,
    bin_edges: Annotated[
        BinEdges | None, typer.Option(help="Compute the edges of ROI bins this way; see onnx-maxpool run --help.")
    ] = None,
    on_error: Annotated[
        Literal["fail", "skip"],
        typer.Option(help="If a row fails, end the run, or write the row to _failed.jsonl and continue."),
    ] = "fail",
    resume: Annotated[
        bool, typer.Option("--resume", help="Compute only the parts that are missing in OUTPUT.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Remove what an earlier run wrote to OUTPUT.")] = False,
) -> None:
    """Run a model over the rows of files, each with its own image and boxes, in several processes.

    The columns must have the names of the model's inputs. A .npz file is one row, with an array for each input. The
    output has the model's outputs, the other columns of a Parquet file, and the columns input_file and input_row,
    which say where each row comes from.
    """
    for extra in ("batch", "ray") if engine == "ray" else ("batch",):
        if not find_spec(NEEDED[extra]):
            raise InputError(f'batch needs {NEEDED[extra]}: pip install "onnx-maxpool[{extra}]"')
    if resume and overwrite:
        raise InputError("--resume and --overwrite, expected one of them")
    if address is not None and engine != "ray":
        raise InputError(f"--address {address}: expected with --engine ray")
    from onnx_maxpool.batch.job import Job, run_job  # pyarrow, which is an extra's

    job = Job(
        model=model,
        input=rows,
        output=out,
        threads=threads,
        rois=tuple(rois or ()),
        bin_edges=bin_edges,
        batch_size=batch_size,
        part_rows=part_rows,
        on_error=on_error,
        existing="resume" if resume else "overwrite" if overwrite else "refuse",
    )
    chosen = _engine(engine, workers, threads, address)
    with _Display() as display:
        summary = run_job(job, chosen, display.show)
    console = Console(highlight=False)
    for line in _lines(summary, out):
        console.print(line, markup=False, soft_wrap=True)


def _engine(engine: str, workers: int | None, threads: int, address: str | None) -> Engine:
    if engine == "ray":
        from onnx_maxpool.batch import cluster

        return partial(cluster.compute_parts, workers=workers, threads=threads, address=address)
    from onnx_maxpool.batch import local

    return partial(local.compute_parts, workers=workers or max(cpus() // threads, 1))


class _Display:
    """A bar with rows per second; where there is no terminal, a line now and then."""

    def __init__(self) -> None:
        self._console = Console(stderr=True)
        self._progress = Progress(
            TextColumn("rows"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[speed]}"),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=self._console,
            transient=True,
            disable=not self._console.is_terminal,
        )
        self._task = self._progress.add_task("", total=None, speed="")
        self._told = 0.0

    def __enter__(self) -> _Display:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, summary: Summary) -> None:
        """How far it is."""
        done = summary.written + summary.failed
        self._progress.update(self._task, completed=done, total=summary.total, speed=_speed(summary))
        if not self._console.is_terminal and summary.seconds >= self._told + SECONDS_PER_LINE:
            self._told = summary.seconds
            self._console.print(f"{done:,} of {summary.total:,} rows, {_speed(summary)}", soft_wrap=True)


SECONDS_PER_LINE = 10.0


def _speed(summary: Summary) -> str:
    computed = summary.written + summary.failed - summary.rows_before
    return f"{computed / summary.seconds:.1f} rows/s" if summary.seconds else ""


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"


def _lines(summary: Summary, out: Path) -> list[str]:
    parts = f"{summary.parts} part{'s' * (summary.parts != 1)}"
    lines = [f"wrote {out}: {_rows(summary.written)} in {parts}"]
    if summary.parts_before:
        lines[0] += f", {summary.parts_before} of them there before"
    if summary.seconds:
        lines[0] += f"; {summary.seconds:.1f} s, {_speed(summary)}"
    if summary.failed:
        lines.append(f"{_rows(summary.failed)} failed: {out / '_failed.jsonl'}")
    return lines
