"""A report for test runners: JUnit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import junitparser as untyped_junitparser

from onnx_maxpool.conformance.run.judge import Outcome, Result
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import printable

junitparser: Any = untyped_junitparser  # its functions carry no types


def junit(runs: Sequence[BackendRun]) -> str:
    """JUnit's XML: a suite per backend. Only required cases fail there, as only they decide."""
    report = junitparser.JUnitXml(name="onnx-maxpool conformance")
    for run in runs:
        backend = printable(run.backend)
        suite = junitparser.TestSuite(backend)
        for name, value in run.description.items():
            suite.add_property(printable(name), printable(value))
        for result in (*run.results, *run.search):
            case = junitparser.TestCase(result.case.name, f"{backend}.{result.case.operator}", result.seconds)
            case.result = _verdict(result)
            suite.add_testcase(case)
        report.add_testsuite(suite)
    report.update_statistics()
    text: bytes = report.tostring()
    return text.decode()


def _verdict(result: Result) -> list[Any]:
    if result.outcome is Outcome.PASS:
        return []
    message = printable(f"{', '.join(result.case.rules)}: {result.case.question} {result.detail}".strip())
    if not result.case.required:
        return [junitparser.Skipped(f"implementation-defined, {result.outcome.value}: {message}")]
    if result.outcome is Outcome.FAIL:
        return [junitparser.Failure(message, result.outcome.value)]
    return [junitparser.Error(message, result.outcome.value)]
