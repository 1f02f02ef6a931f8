"""What `onnx-maxpool conformance` writes: reports, and a folder for each bug."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer
from rich.console import Console
from rich.progress import Progress, TextColumn, TimeElapsedColumn

from onnx_maxpool.cli.limits import Conditions
from onnx_maxpool.conformance.bugs import write_bugs
from onnx_maxpool.conformance.report.expected import Outcomes
from onnx_maxpool.conformance.report.records import json_report
from onnx_maxpool.conformance.run.judge import Result
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import InputError, printable

STDOUT = Path("-")
"""The name that stands for it where a file is to be named."""


def check_extra() -> None:
    """Raise InputError where a package that the reports need is missing, before a run of minutes."""
    try:
        from onnx_maxpool.conformance.report import formats  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(f'reports need {error.name}: pip install "onnx-maxpool[conformance]"') from None


@dataclass(frozen=True)
class Reports:
    """The files that are asked for."""

    html: Path | None
    json: Path | None
    junit: Path | None
    markdown: Path | None

    def write(
        self, runs: Sequence[BackendRun], expected: Outcomes | None, before: tuple[Outcomes, Mapping[str, str]] | None
    ) -> list[Path]:
        """Write them, and give back which these are. `prepare_files` and `check_extra` were there before."""
        wanted = [path for path in (self.html, self.json, self.junit, self.markdown) if path not in (None, STDOUT)]
        if self.json is not None:
            text = json.dumps(json_report(runs), indent=1)
            if self.json == STDOUT:
                typer.echo(text)
            else:
                self.json.write_text(f"{text}\n", encoding="utf-8")
        if self.html or self.junit or self.markdown:
            from onnx_maxpool.conformance.report import formats

            if self.html is not None:
                self.html.write_text(formats.html(runs, before), encoding="utf-8")
            if self.junit is not None:
                self.junit.write_text(formats.junit(runs, expected), encoding="utf-8")
            if self.markdown is not None:
                self.markdown.write_text(formats.markdown(runs, before), encoding="utf-8")
        return [path for path in wanted if path is not None]


def prepare_bugs(folder: Path | None) -> None:
    """Make the folder, before a run of minutes. Raises InputError where something else is there."""
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--bugs {folder} is a file, expected a folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"--bugs {folder}: the folder has files already, expected a new or an empty one")
    folder.mkdir(parents=True, exist_ok=True)


def bugs_of(runs: Sequence[BackendRun], folder: Path, conditions: Conditions) -> list[Path]:
    """Write a folder for each divergence, with what it is at on stderr; the folders."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}", markup=False), TimeElapsedColumn())
    written: list[Path] = []
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("reducing")
        for run in runs:

            def advance(result: Result, name: str = run.backend) -> None:
                progress.update(task, description=printable(f"{name} reducing {result.case.name}"))

            with conditions.worker(run.backend) as worker:
                written += write_bugs(folder, run, worker.execute, advance)
    return written
