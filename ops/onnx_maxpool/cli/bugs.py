"""The bug reports of `onnx-maxpool conformance`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from onnx_maxpool.conformance.bugs import write_bugs
from onnx_maxpool.conformance.run.judge import Result
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.conformance.run.worker import Worker
from onnx_maxpool.errors import InputError, printable


def prepare_bugs(folder: Path | None) -> None:
    """Make the folder, before a run of minutes. Raises InputError where something else is there."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--bugs {folder} is a file, expected a folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"--bugs {folder}: the folder has files already, expected a new or an empty one")
    folder.mkdir(parents=True, exist_ok=True)


def bugs_of(runs: Sequence[BackendRun], folder: Path, time_limit: float, python: str | None) -> list[Path]:
    """Write a folder for each divergence, with what it is at on stderr; the folders."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    written: list[Path] = []
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("reducing")
        for run in runs:

            def advance(result: Result, name: str = run.backend) -> None:
                progress.update(task, description=printable(f"{name} reducing {result.case.name}"))

            with Worker(run.backend, time_limit, python) as worker:
                written += write_bugs(folder, run, worker.execute, advance)
    return written
