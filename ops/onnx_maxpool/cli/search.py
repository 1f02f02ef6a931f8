"""The search of `onnx-maxpool conformance`: its progress, and what it found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from onnx_maxpool.cli.limits import Conditions
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import InputError, printable

if TYPE_CHECKING:
    from onnx_maxpool.conformance.search import Search

SHORTEST, LONGEST = 1.0, 86400.0
"""Of `--search`."""


def check_search(seconds: float | None) -> None:
    """Before a run of minutes. Raises InputError for a time that is none, and where the extra is not installed."""
    if seconds is None:
        return
    if not SHORTEST <= seconds <= LONGEST:  # which a NaN is not either
        raise InputError(f"--search {seconds:g}: expected {SHORTEST:g} to {LONGEST:g} seconds")
    try:
        import hypothesis  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(f'--search needs {error.name}: pip install "onnx-maxpool[conformance]"') from None


def searched(
    run: BackendRun, seconds: float, seed: int, operators: Sequence[str], conditions: Conditions
) -> BackendRun:
    """The run with what a search of its backend finds, with a bar on stderr."""
    from onnx_maxpool.conformance.search import search

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with (
        conditions.worker(run.backend) as worker,
        Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress,
    ):
        task = progress.add_task(printable(run.backend), total=seconds)

        def advance(state: Search) -> None:
            progress.update(task, completed=state.seconds, description=printable(f"{run.backend} {in_brief(state)}"))

        found = search(worker.execute, seconds=seconds, seed=seed, operators=operators, progress=advance)
    about = f"{in_brief(found)} in {found.seconds:.0f} s, seed {found.seed}"
    results = tuple(finding.result for finding in found.findings)
    return replace(run, search=results, environment={**run.environment, "search": about})


def in_brief(state: Search) -> str:
    """`700 cases drawn, 20 not supported, 2 kinds of difference`."""
    kinds = len(state.findings)
    lacking = f", {state.unsupported} not supported" if state.unsupported else ""
    return f"{state.cases} cases drawn{lacking}, {kinds} {'kind' if kinds == 1 else 'kinds'} of difference"


def print_search(console: Console, run: BackendRun) -> None:
    """What a search did, if there was one."""
    if "search" in run.environment:
        console.print(Text(f"  search: {run.environment['search']}"), soft_wrap=True)
