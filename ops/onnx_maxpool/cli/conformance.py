"""`onnx-maxpool conformance`: ask backends, print what they do, write the reports; or list or write the cases."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from onnx_maxpool.cli.bugs import bugs_of, prepare_bugs
from onnx_maxpool.cli.outputs import prepare_files
from onnx_maxpool.cli.search import check_search, print_search, searched
from onnx_maxpool.cli.terminal import add_row, plain_table
from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.corpus import write_corpus
from onnx_maxpool.conformance.report import view
from onnx_maxpool.conformance.report.records import json_report
from onnx_maxpool.conformance.run.judge import Outcome
from onnx_maxpool.conformance.run.runner import BackendRun, executions, run_backend
from onnx_maxpool.errors import InputError, printable

STYLES = {
    Outcome.PASS: "green",
    Outcome.FAIL: "red",
    Outcome.ERROR: "red",
    Outcome.CRASH: "bold red",
    Outcome.TIMEOUT: "bold red",
    Outcome.UNSTABLE: "bold red",
    Outcome.UNSUPPORTED: "yellow",
}

File = typer.Option(metavar="FILE")

SHORTEST, LONGEST = 0.1, 86400.0
"""Of `--time-limit`."""


def conformance(
    backend: Annotated[
        list[str] | None,
        typer.Option(help=f"One of {', '.join(BACKENDS)}, or module:Class, an onnx.backend.base.Backend."),
    ] = None,
    operator: Annotated[list[str] | None, typer.Option(help="Only this operator.")] = None,
    case: Annotated[str, typer.Option(help="Only cases whose name this regular expression finds.")] = "",
    time_limit: Annotated[float, typer.Option(help="Seconds for a case.")] = 60.0,
    python: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Another environment's Python, which has onnx and NumPy: the backends run there. "
            "This package need not be installed there.",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How often each case runs. By default once, and 3 times where an error is among the known answers. "
            "Where the answers differ, the outcome is unstable.",
        ),
    ] = None,
    search: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Afterwards search for so many seconds: draw cases that are in no list, and show the smallest of each "
            "kind of difference.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draw the cases of --search from this seed, always the same.")] = 0,
    bugs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write a bug report for each divergence: the smallest case, why the answer is what it is, and a "
            "program that shows it without this package.",
        ),
    ] = None,
    html: Annotated[Path | None, File] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE")] = None,
    junit: Annotated[Path | None, File] = None,
    markdown: Annotated[Path | None, File] = None,
    list_cases: Annotated[bool, typer.Option("--list", help="List the cases and stop.")] = False,
    export: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the cases to a folder in ONNX's layout and stop.")
    ] = None,
) -> None:
    """Ask backends what they do; exit code 1 unless every required case passes on every one of them."""
    if not SHORTEST <= time_limit <= LONGEST:  # which a NaN is not either
        raise InputError(f"--time-limit {time_limit:g}: expected {SHORTEST:g} to {LONGEST:g} seconds")
    cases = chosen_cases(operator or [], case)
    console = Console(highlight=False)
    reports = (html, json_file, junit, markdown)
    if export is not None:
        if list_cases or backend or any(reports):
            raise InputError(
                f"--export {export}: expected no --list, --backend or report beside it, as no backend runs"
            )
        files = export_cases(export, cases)
        count = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
        console.print(f"wrote {count} to {export}: {files} files", markup=False, soft_wrap=True)
        return
    if list_cases:
        console.print(case_table(cases))
        return
    prepare_reports(*reports)
    check_search(search)
    prepare_bugs(bugs)
    runs = [run_with_progress(name, cases, time_limit, python, repeat) for name in backend or ["native"]]
    if search is not None:
        runs = [searched(run, search, seed, operator or [], time_limit, python) for run in runs]
    for run in runs:
        print_run(console, run)
    for path in write_reports(runs, html=html, json_file=json_file, junit=junit, markdown=markdown):
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
    if bugs is not None:
        for path in bugs_of(runs, bugs, time_limit, python):
            console.print(f"wrote {path}", markup=False, soft_wrap=True)
    if not all(run.conforms for run in runs):
        raise typer.Exit(1)


def chosen_cases(operators: Sequence[str], pattern: str) -> list[Case]:
    """The cases of some operators (of all, if none is named) whose names match. Raises InputError if none is left."""
    known = list(dict.fromkeys(case.operator for case in all_cases()))
    for operator in operators:
        if operator not in known:
            raise InputError(f"--operator {operator}: expected one of {', '.join(known)}")
    try:
        expression = re.compile(pattern)
    except re.error as error:
        raise InputError(f"--case {pattern}: {error}") from None
    cases = [c for c in all_cases() if c.operator in (operators or known) and expression.search(c.name)]
    if not cases:
        raise InputError(f"--case {pattern}: no case has such a name")
    return cases


def run_with_progress(
    name: str, cases: Sequence[Case], time_limit: float, python: Path | None, repeat: int | None
) -> BackendRun:
    """A backend's run, with a bar on stderr."""
    with bar() as progress:
        task = progress.add_task(printable(name), total=executions(cases, repeat))

        def advance(case: Case) -> None:
            progress.update(task, advance=1, description=printable(f"{name} {case.name}"))

        return run_backend(name, cases, time_limit=time_limit, python=python, repeat=repeat, progress=advance)


def export_cases(folder: Path, cases: Sequence[Case]) -> int:
    """Write the cases to a new or empty folder, with a bar on stderr; how many files these are.

    Raises InputError where something else is there, and OSError where a file cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--export {folder} is a file, expected a folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"--export {folder}: the folder holds files already, expected a new or an empty one")
    folder.mkdir(parents=True, exist_ok=True)
    with bar() as progress:
        task = progress.add_task("writing", total=len(cases))
        return len(write_corpus(folder, cases, lambda case: progress.update(task, advance=1, description=case.name)))


def bar() -> Progress:
    """On stderr. Where there is no terminal it would leave an empty line behind, and nothing else: there it is none."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def print_run(console: Console, run: BackendRun) -> None:
    """What ran, how many required cases came out how, each divergence, and the fingerprint."""
    about = ", ".join(f"{name} {value}" for name, value in run.description.items())
    console.print(Text.assemble((printable(run.backend), "bold"), printable(f"  {about}")), soft_wrap=True)
    tally = view.Tally.of(run.results)
    counts = [(f"{count} {outcome.value}", STYLES[outcome]) for outcome, count in tally.counts.items()]
    line = Text.assemble(f"  {tally.required} required cases: ", *_joined(counts))
    console.print(line, soft_wrap=True)
    rows = [(item.result, item.what) for item in view.divergences(run)]
    print_search(console, run)
    if rows:
        table = plain_table("  outcome", "rule", "smallest case", "what would give this, or what differs")
        for result, what in rows:
            outcome = Text(f"  {result.outcome.value}", style=STYLES[result.outcome])
            add_row(table, outcome, result.case.rules[0], result.case.name, what)
        console.print(table)
    for operator in view.operators([run]):
        traits = view.fingerprint(run, operator)
        if traits:
            table = plain_table(f"  {operator}: open question", "answer")
            for trait in traits:
                add_row(table, f"  {trait.question}", "; or ".join(trait.answers))
            console.print(table)
    console.print()


def _joined(parts: Sequence[tuple[str, str]]) -> list[str | tuple[str, str]]:
    joined: list[str | tuple[str, str]] = []
    for part in parts:
        joined += [", ", part] if joined else [part]
    return joined


def case_table(cases: Sequence[Case]) -> Table:
    """Names, rules, levels and questions."""
    table = plain_table("case", "rules", "level", "question")
    for case in cases:
        add_row(table, case.name, ", ".join(case.rules), case.level, case.question)
    return table


def prepare_reports(*paths: Path | None) -> None:
    """Make sure that the reports can be written, before a run of minutes.

    Raises InputError where the extra's packages are missing, and what `prepare_files` raises.
    """
    prepare_files(*paths)
    if any(paths):
        try:
            from onnx_maxpool.conformance.report import junit, pages  # noqa: F401
        except ModuleNotFoundError as error:
            raise InputError(f'reports need {error.name}: pip install "onnx-maxpool[conformance]"') from None


def write_reports(
    runs: Sequence[BackendRun], *, html: Path | None, json_file: Path | None, junit: Path | None, markdown: Path | None
) -> list[Path]:
    """Write what is asked for, and give back what that is. `prepare_reports` was there before."""
    wanted = [path for path in (html, json_file, junit, markdown) if path is not None]
    if not wanted:
        return []
    from onnx_maxpool.conformance.report import pages
    from onnx_maxpool.conformance.report.junit import junit as junit_report

    if html is not None:
        html.write_text(pages.html(runs), encoding="utf-8")
    if json_file is not None:
        json_file.write_text(json.dumps(json_report(runs), indent=1) + "\n", encoding="utf-8")
    if junit is not None:
        junit.write_text(junit_report(runs), encoding="utf-8")
    if markdown is not None:
        markdown.write_text(pages.markdown(runs), encoding="utf-8")
    return wanted
