"""Reports of runs as files: a self-contained HTML page and Markdown for people, JUnit XML for CI services."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import jinja2
import junitparser as untyped_junitparser
import numpy as np
from markupsafe import Markup

from onnx_maxpool.conformance.corpus import case_folder
from onnx_maxpool.conformance.report import view
from onnx_maxpool.conformance.report.expected import Outcomes, Seen, all_changes
from onnx_maxpool.conformance.report.svg import picture
from onnx_maxpool.conformance.run.judge import Outcome, Result
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import printable, shape
from onnx_maxpool.operators.rules import LETTERS, RULES
from onnx_maxpool.types import Array, element_type

MOST_VALUES = 60
"""Of an array in a line."""

LONGEST_TEXT = 300
"""Of a backend's own text in a table; a case has it whole."""

MOST_CELLS = 512
"""Of an array by its shape."""


Earlier = tuple[Outcomes, Mapping[str, str]]
"""What came of cases in an earlier run, and what that ran on."""


def html(runs: Sequence[BackendRun], before: Earlier | None = None) -> str:
    """The page, with nothing to load."""
    return _render("report.html.j2", runs, before, autoescape=True)


def markdown(runs: Sequence[BackendRun], before: Earlier | None = None) -> str:
    """The summary: what ran, the matrix, the fingerprints and the divergences."""
    return _render("report.md.j2", runs, before, autoescape=False)


def _shown(value: object) -> object:
    """What stands on a page for a value: a backend may say what no file can hold."""
    return printable(value) if type(value) is str else value


def _render(template: str, runs: Sequence[BackendRun], before: Earlier | None, *, autoescape: bool) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("onnx_maxpool.conformance.report"),
        autoescape=autoescape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    environment.filters.update(
        tensor=tensor,
        cells=cells,
        folder=lambda case: case_folder(case).as_posix(),
        row=table_cell,
        prose=literal,
    )
    cases = view.case_views(runs)
    failures = view.worst_first(runs)
    blocks = view.matrix(runs)
    answers = [(block.operator, view.open_answers(runs, block.operator)) for block in blocks]
    cited = {rule for run in runs for result in (*run.results, *run.search) for rule in result.case.rules}
    return environment.get_template(template).render(
        runs=runs,
        rules={number: rule for number, rule in RULES.items() if number in cited},
        letters=LETTERS,
        blocks=blocks,
        tallies=[view.Tally.of(run.results) for run in runs],
        answers=[(operator, questions) for operator, questions in answers if questions],
        failures=failures,
        found=[(i, run, result) for i, run in enumerate(runs) for result in run.search],
        lacking=[(run, item) for run in runs for item in view.unsupported(run)],
        changes=None if before is None else all_changes(runs, before[0]),
        environments=environments(runs),
        before={} if before is None else before[1],
        cases=cases,
        groups=[
            (key, list(group)) for key, group in itertools.groupby(cases, lambda v: (v.case.operator, v.case.rules[0]))
        ],
        named=named_cases(cases, failures, answers),
        drawing=drawing,
        standing=view.standing,
        legend=view.OUTCOMES,
        Outcome=Outcome,
        LONGEST=LONGEST_TEXT,
    )


def environments(runs: Sequence[BackendRun]) -> list[tuple[str, list[str]]]:
    """What backends ran on, in words, with the backends' names; to the day, so that one session's runs are one."""
    found: dict[str, list[str]] = {}
    for run in runs:
        given = {**run.environment, "date": run.environment.get("date", "")[:10]}
        text = ", ".join(f"{name} {value}" for name, value in given.items() if value)
        found.setdefault(text, []).append(run.backend)
    return list(found.items())


def named_cases(
    cases: Sequence[view.CaseView],
    failures: Sequence[tuple[BackendRun, view.Divergence]],
    answers: Sequence[tuple[str, Sequence[tuple[str, Sequence[view.Trait | None]]]]],
) -> list[view.CaseView]:
    """The cases that the tables of divergences and of answers name."""
    names = {item.result.case.name for _, item in failures}
    names.update(trait.case.name for _, questions in answers for _, traits in questions for trait in traits if trait)
    return [each for each in cases if each.case.name in names]


def drawing(results: Sequence[Result | None]) -> tuple[tuple[int, ...], Markup] | None:
    """The first output cell that differs in a result, and the picture of its window; None where none can be drawn."""
    for result in results:
        if result is None or result.ours or result.obtained is None:
            continue
        found = first_difference(result)
        if found is not None and (svg := picture(result.case, *found)):
            return found[0], Markup(svg)
    return None


def first_difference(result: Result) -> tuple[tuple[int, ...], object] | None:
    """The first output cell that differs and the value obtained there, None for one of an index.

    None where the outputs cannot be compared cell by cell.
    """
    case = result.case
    if case.refuses or result.obtained is None or len(result.obtained) != len(case.outputs):
        return None
    for i, (expected, obtained) in enumerate(zip(case.expected, result.obtained, strict=True)):
        if expected.shape != obtained.shape or expected.dtype != obtained.dtype:
            return None
        differs = np.asarray((expected != obtained) & ~((expected != expected) & (obtained != obtained)), bool)
        if differs.any():
            at = tuple(int(axis) for axis in np.unravel_index(differs.argmax(), differs.shape))
            return at, obtained[at] if i == 0 else None
    return None


def cells(array: Array) -> str:
    """Type and shape in a line, then the cells, a row of the last axis on each line, and each plane under its index."""
    head = f"{element_type(array)}{shape(array.shape)}"
    if array.size <= 1 or array.ndim < 2:
        return f"{head} {' '.join(map(str, array.ravel()[:MOST_CELLS]))}{more(array)}".rstrip()
    texts = [str(value) for value in array.ravel()[:MOST_CELLS]]
    width, columns = max(map(len, texts)), array.shape[-1]
    lines = [head]
    for start in range(0, len(texts), columns):
        *plane, row = np.unravel_index(start, array.shape)[:-1]
        if row == 0 and array.ndim > 2:
            lines.append(f"[{', '.join(map(str, plane))}]")
        lines.append(" ".join(text.rjust(width) for text in texts[start : start + columns]))
    return "\n".join(lines) + more(array)


def more(array: Array) -> str:
    """How many cells are not shown."""
    return f"\n… {array.size - MOST_CELLS} more cells" if array.size > MOST_CELLS else ""


def literal(text: str) -> str:
    """Text in which no character has a meaning of Markdown's, outside of a table."""
    return re.sub(r"([\\*_<>`\[\]])", r"\\\1", " ".join(printable(text).split()))


def tensor(array: Array) -> str:
    """`float[1,1,1,3] 1 2 NaN`, cut where it is long."""
    values = " ".join(str(value) for value in itertools.islice(array.ravel(), MOST_VALUES))
    return f"{element_type(array)}{shape(array.shape)} {values}{' …' if array.size > MOST_VALUES else ''}"


def table_cell(text: str) -> str:
    """Text that stands in a Markdown table, and is neither HTML nor a link there."""
    return re.sub(r"([\\|<>`\[\]])", r"\\\1", " ".join(printable(text).split()))


junitparser: Any = untyped_junitparser  # its functions carry no types


def junit(runs: Sequence[BackendRun], expected: Outcomes | None = None) -> str:
    """JUnit's XML: a suite per backend. Only required cases fail there, as only they decide.

    Where outcomes are expected, these decide: what is as expected does not fail, and everything else does. Of what a
    search found nothing is expected, so it is left out.
    """
    report = junitparser.JUnitXml(name="onnx-maxpool conformance")
    for run in runs:
        backend = printable(run.backend)
        suite = junitparser.TestSuite(backend)
        for name, value in run.description.items():
            suite.add_property(printable(name), printable(value))
        for result in run.results if expected is not None else (*run.results, *run.search):
            case = junitparser.TestCase(result.case.name, f"{backend}.{result.case.operator}", result.seconds)
            before = None if expected is None else expected.get(run.backend, {})
            case.result = _verdict(result) if before is None else _compared(result, before)
            suite.add_testcase(case)
        report.add_testsuite(suite)
    report.update_statistics()
    text: bytes = report.tostring()
    return text.decode()


def _compared(result: Result, expected: Mapping[str, Seen]) -> list[Any]:
    before, now = expected.get(result.case.name), Seen.of(result)
    said = printable(f"{now}; {', '.join(result.case.rules)}: {result.case.question} {result.detail}".strip())
    if before == now:
        return [] if result.outcome is Outcome.PASS else [junitparser.Skipped(f"as expected: {said}")]
    return [junitparser.Failure(f"expected {before or 'nothing, as the case is new'}, is {said}", now.outcome.value)]


def _verdict(result: Result) -> list[Any]:
    if result.outcome is Outcome.PASS:
        return []
    message = printable(f"{', '.join(result.case.rules)}: {result.case.question} {result.detail}".strip())
    if not result.case.required:
        return [junitparser.Skipped(f"implementation-defined, {result.outcome.value}: {message}")]
    if result.outcome is Outcome.FAIL:
        return [junitparser.Failure(message, result.outcome.value)]
    return [junitparser.Error(message, result.outcome.value)]
