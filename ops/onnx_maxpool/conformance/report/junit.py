"""A report for test runners: JUnit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import junitparser as untyped_junitparser

from onnx_maxpool.conformance.report.expected import Outcomes, Seen
from onnx_maxpool.conformance.run.judge import Outcome, Result
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import printable

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
