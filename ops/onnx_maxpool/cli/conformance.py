"""`onnx-maxpool conformance`: ask backends, print what they do, write the reports; or list or write the cases."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from typer.core import TyperCommand

from onnx_maxpool.cli.limits import Conditions, check_time_limit, memory_limit
from onnx_maxpool.cli.outputs import prepare_files
from onnx_maxpool.cli.reports import STDOUT, Reports, bugs_of, check_extra, prepare_bugs
from onnx_maxpool.cli.search import check_search, print_search, searched
from onnx_maxpool.cli.terminal import add_row, plain_table
from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.corpus import manifest_of, write_corpus
from onnx_maxpool.conformance.report import view
from onnx_maxpool.conformance.report.expected import Change, Kind, Outcomes, all_changes, read_expected, write_expected
from onnx_maxpool.conformance.report.records import merged, read_outcomes, read_report
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

PLURALS = {
    Kind.FAILS: "new failures",
    Kind.PASSES: "unexpectedly passed",
    Kind.CHANGED: "changed",
    Kind.NEW: "new cases",
    Kind.GONE: "cases gone",
}
"""What is said of several."""

LONGEST_LINE = 10_000


class ConformanceCommand(TyperCommand):
    """The command with one thing that Typer has no words for: `--json` without a file is stdout."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Typer's, with the file that is left out."""
        given = list(args)
        for i in reversed([i for i, arg in enumerate(given) if arg == "--json"]):
            if i + 1 == len(given) or given[i + 1].startswith("--"):
                given.insert(i + 1, str(STDOUT))
        return super().parse_args(ctx, given)


def conformance(
    backend: Annotated[
        list[str] | None,
        typer.Option(
            help=f"Test this backend: {', '.join(BACKENDS)}, or module:Class, your own onnx.backend.base.Backend. "
            "The default is native. Repeat the option for several."
        ),
    ] = None,
    operator: Annotated[
        list[str] | None, typer.Option(help="Run only the cases of this operator. Repeat the option for several.")
    ] = None,
    case: Annotated[
        str, typer.Option(help="Run only cases with a name that contains a match of this regular expression.")
    ] = "",
    time_limit: Annotated[
        float, typer.Option(help="End a case after this many seconds; its outcome is then timeout.")
    ] = 60.0,
    memory: Annotated[
        float | None,
        typer.Option(
            metavar="GB",
            help="End a case if the backend's process takes more memory than this; its outcome is then crash. "
            "The default is half of the machine's memory.",
        ),
    ] = None,
    python: Annotated[
        str | None,  # no Path, which would make ./python one that is looked for elsewhere
        typer.Option(
            metavar="PATH",
            help="Run the backends with the Python of another environment, which must have onnx and NumPy. "
            "It does not need this package.",
        ),
    ] = None,
    repeat: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Run each case this many times. The default is 3 if the case allows an error, else 1. "
            "If the answers differ, the outcome is unstable.",
        ),
    ] = None,
    search: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            help="Then run random cases for this many seconds, and show the smallest case of each kind of difference.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Draw the cases of --search with this seed.")] = 0,
    bugs: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Write a bug report for each difference: the smallest case, the reason for the expected answer, and a "
            "program that shows the difference without this package.",
        ),
    ] = None,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report to read in a browser.")] = None,
    json_file: Annotated[
        Path | None,
        typer.Option(
            "--json", metavar="FILE", help="Write all results as JSON, for --merge and --against; - means stdout."
        ),
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the results as JUnit XML, which CI servers can show.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(metavar="FILE", help="Write a report in Markdown.")] = None,
    save_expected: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write each case's outcome to a text file, for --expect, and end with exit code 0. If the file "
            "exists, keep the lines of cases that did not run.",
        ),
    ] = None,
    expect: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Compare the outcomes with a file that --save-expected wrote. Exit code 0 means that all are equal.",
        ),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json", help="Show in the reports what is different from this earlier --json report."
        ),
    ] = None,
    merge: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.json",
            help="Add the results of a report that --json wrote, for example on another machine. Repeat the option for "
            "several. Without --backend, no case runs.",
        ),
    ] = None,
    list_cases: Annotated[
        bool,
        typer.Option("--list", help="List the cases and stop. With --json, list them in the format of manifest.json."),
    ] = False,
    export: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the cases to a folder in ONNX's layout and stop.")
    ] = None,
) -> None:
    """Test backends with the conformance cases of this package's operators.

    The exit code is 0 if every required case passes on every backend; with --search, the required cases that it finds
    count too. With --expect, the exit code is 0 if every outcome is the expected one. Otherwise it is 1. It is 2 if
    the command line is wrong, a file cannot be read or written, or a backend cannot be imported.
    """
    check_time_limit(time_limit)
    conditions = Conditions(time_limit, memory_limit(memory), python)
    cases = chosen_cases(operator or [], case)
    to_stdout = json_file == STDOUT
    console = Console(highlight=False, stderr=to_stdout)
    files = (html, None if to_stdout else json_file, junit, markdown)
    runs_something = any((backend, merge, html, junit, markdown, save_expected, expect, against, bugs))
    if export is not None:
        if list_cases or runs_something or json_file:
            raise InputError(
                f"--export {export}: expected no --list, --backend or report beside it, as no backend runs"
            )
        count = export_cases(export, cases)
        said = "1 case" if len(cases) == 1 else f"{len(cases)} cases"
        console.print(f"wrote {said} to {export}: {count} files", markup=False, soft_wrap=True)
        return
    if list_cases:
        if runs_something:
            raise InputError("--list: expected no --backend or report beside it but --json, as no backend runs")
        print_cases(cases, json_file)
        return
    if save_expected and expect:
        raise InputError("--save-expected and --expect: expected one of them")
    check_search(search)
    prepare_bugs(bugs)
    prepare_files(*files, save_expected)
    if html or junit or markdown:
        check_extra()
    # What is read is read before a run of minutes.
    names = backend or ([] if merge else ["native"])
    others = [read_report(path) for path in merge or []]
    before = None if against is None else read_outcomes(against)
    expected = None if expect is None else read_expected(expect)
    if save_expected and save_expected.exists():
        read_expected(save_expected)
    if expected is not None:
        check_expected(str(expect), expected, [*names, *(run.backend for part in others for run in part)])

    runs = [run_with_progress(name, cases, conditions, repeat) for name in names]
    if search is not None:
        runs = [searched(run, search, seed, operator or [], conditions) for run in runs]
    own, runs = runs, merged([runs, *others])
    # Before anything is printed: whoever reads it may stop, and so end this process.
    written = list(Reports(html, json_file, junit, markdown).write(runs, expected, before))
    for run in runs:
        print_run(console, run)
    if before is not None:
        print_changes(console, all_changes(runs, before[0]), f"since {before[1].get('date', 'the earlier run')}")
    print_written(console, written)
    if bugs is not None:
        print_written(console, bugs_of(own, bugs, conditions))
    if save_expected is not None:
        write_expected(save_expected, runs)
        print_written(console, [save_expected])
        return
    if expected is not None:
        found = all_changes(runs, expected)
        print_changes(console, found, f"compared with {expect}")
        raise typer.Exit(1 if found else 0)
    if not all(run.conforms for run in runs):
        raise typer.Exit(1)


def check_expected(path: str, expected: Outcomes, names: Iterable[str]) -> None:
    """Raises InputError for a backend of which the file expects nothing."""
    for name in names:
        if name not in expected:
            known = ", ".join(f"[{backend}]" for backend in expected) or "none"
            raise InputError(
                f"--expect {path}: backend {name} has no section there, expected [{name}]: write it with "
                f"--save-expected. Sections: {known}"
            )


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


def run_with_progress(name: str, cases: Sequence[Case], conditions: Conditions, repeat: int | None) -> BackendRun:
    """A backend's run, with a bar on stderr."""
    with bar() as progress:
        task = progress.add_task(printable(name), total=executions(cases, repeat))

        def advance(case: Case) -> None:
            progress.update(task, advance=1, description=printable(f"{name} {case.name}"))

        return run_backend(
            name,
            cases,
            time_limit=conditions.time_limit,
            memory_limit=conditions.memory_limit,
            python=conditions.python,
            repeat=repeat,
            progress=advance,
        )


def export_cases(folder: Path, cases: Sequence[Case]) -> int:
    """Write the cases to a new or empty folder, with a bar on stderr; how many files these are.

    Raises InputError where something else is there, and OSError where a file cannot be written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"--export {folder} is a file, expected a folder")
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(f"--export {folder}: the folder is not empty, expected a new or an empty one")
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
    line = Text.assemble(f"  {tally.required} required case{'s' * (tally.required != 1)}: ", *_joined(counts))
    console.print(line, soft_wrap=True)
    rows = [(item.result, item.what) for item in view.divergences(run)]
    print_search(console, run)
    if rows:
        table = plain_table("  outcome", "rule", "smallest case", "what would give this, or what differs")
        for result, what in rows:
            outcome = Text(f"  {result.outcome.value}", style=STYLES[result.outcome])
            add_row(table, outcome, result.case.rules[0], result.case.name, what)
        print_whole(console, table)
    for operator in view.operators([run]):
        traits = view.fingerprint(run, operator)
        if traits:
            table = plain_table(f"  {operator}: open question", "answer")
            for trait in traits:
                add_row(table, f"  {trait.question}", "; or ".join(trait.answers))
            print_whole(console, table)
    console.print()


def _joined(parts: Sequence[tuple[str, str]]) -> list[str | tuple[str, str]]:
    joined: list[str | tuple[str, str]] = []
    for part in parts:
        joined += [", ", part] if joined else [part]
    return joined


def print_changes(console: Console, found: Sequence[Change], what: str) -> None:
    """Each difference, worst first, and how many of each kind there are, by backend."""
    if not found:
        console.print(Text(f"No difference {printable(what)}.", style="green"), soft_wrap=True)
        return
    table = plain_table("difference", "backend", "case", "before", "now")
    for change in found:
        kind = Text(change.kind.value, style="green" if change.kind is Kind.PASSES else "red")
        before, now = (str(seen) if seen else "-" for seen in (change.before, change.now))
        add_row(table, kind, change.backend, change.case, before, now)
    print_whole(console, table)
    counts = Counter(change.kind for change in found)
    said = ", ".join(f"{counts[kind]} {PLURALS[kind] if counts[kind] != 1 else kind.value}" for kind in counts)
    console.print(Text(f"Differences {printable(what)}: {said}.", style="red"), soft_wrap=True)


def print_cases(cases: Sequence[Case], json_file: Path | None) -> None:
    """Names, rules, levels and questions; as JSON on stdout or in a file where that is asked for."""
    if json_file is None:
        table = plain_table("case", "rules", "level", "question")
        for case in cases:
            add_row(table, case.name, ", ".join(case.rules), case.level, case.question)
        print_whole(Console(highlight=False), table)
        return
    text = json.dumps(manifest_of(cases), indent=1)
    if json_file == STDOUT:
        typer.echo(text)
        return
    prepare_files(json_file)
    json_file.write_text(f"{text}\n", encoding="utf-8")


def print_whole(console: Console, table: Table) -> None:
    """A table; where there is no terminal, in lines as long as they come."""
    if console.is_terminal:
        console.print(table)
        return
    wide = Console(highlight=False, stderr=console.stderr, width=LONGEST_LINE)
    with wide.capture() as captured:
        wide.print(table)
    for line in captured.get().splitlines():
        console.print(Text(line.rstrip()), soft_wrap=True)


def print_written(console: Console, paths: Iterable[Path]) -> None:
    """A line for each file that was written."""
    for path in paths:
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
