"""The cases as unittest test cases, in the way of `onnx.backend.test.BackendTest`."""

from __future__ import annotations

import re
import unittest
from collections.abc import Callable, Sequence
from typing import Any, get_args

from onnx_maxpool.conformance.case import Case, Level
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.run.execution import Execution, execute
from onnx_maxpool.conformance.run.judge import Outcome, Result
from onnx_maxpool.conformance.run.runner import run_cases


class BackendTest:
    """One test for each case and a backend, which runs in the process of the tests.

    For example::

        backend_test = BackendTest(MyBackend, __name__)
        backend_test.exclude("bfloat16", reason="the device has no such type")
        backend_test.xfail("max_roi_pool_22_minus_infinity", reason="https://example.org/issue/7")
        globals().update(backend_test.test_cases)

    A pattern is a regular expression that is searched in the names of cases. A pattern that matches no case fails a
    test of its own, and so does an `xfail` whose case passes: what you exclude cannot become outdated. By default the
    tests ask the cases that the published texts settle. With `implementation-defined` among `levels`, they ask the
    others too, and every named answer passes.

    A case that the backend does not support is skipped, and the reason is the backend's own text: what the command
    `onnx-maxpool conformance` calls unsupported. One test fails where that is so of every case.
    """

    def __init__(
        self, backend: Any, parent_module: str, *, device: str = "CPU", levels: Sequence[Level] = ("required",)
    ) -> None:
        if unknown := [level for level in levels if level not in get_args(Level)]:
            raise ValueError(f"levels has {unknown[0]!r}, expected {' or '.join(get_args(Level))}")
        self.backend = backend
        self.parent_module = parent_module
        self.device = device
        self.cases = [case for case in all_cases() if case.level in levels]
        self._included: list[str] = []
        self._excluded: dict[str, str] = {}
        self._expected_failures: dict[str, str] = {}

    def include(self, pattern: str) -> BackendTest:
        """Ask only the cases that match this pattern or another included one. Raises ValueError for a bad pattern."""
        self._included.append(_checked(pattern))
        return self

    def exclude(self, pattern: str, *, reason: str) -> BackendTest:
        """Skip the cases that match. Raises ValueError without a reason, and for a bad pattern."""
        self._excluded[_checked(pattern)] = _given(reason)
        return self

    def xfail(self, pattern: str, *, reason: str) -> BackendTest:
        """Expect the cases that match not to pass; one that does is a failure. Raises ValueError as `exclude` does."""
        self._expected_failures[_checked(pattern)] = _given(reason)
        return self

    @property
    def test_cases(self) -> dict[str, type[unittest.TestCase]]:
        """A class of tests per operator, and one that compares the patterns with the cases, by name."""
        tests: dict[str, dict[str, Any]] = {}
        for case in self.cases:
            if self._includes(case):
                tests.setdefault(f"{case.operator}ConformanceTest", {})[f"test_{case.name}"] = self._test(case)
        patterns = [*self._included, *self._excluded, *self._expected_failures]
        tests["ConformancePatternsTest"] = {
            f"test_pattern_{i}_matches": self._pattern_test(pattern) for i, pattern in enumerate(patterns)
        }
        asked = [case for case in self.cases if self._asks(case)]
        if asked:
            tests["ConformanceSupportTest"] = {"test_some_case_is_supported": self._support_test(asked)}
        return {
            name: type(name, (unittest.TestCase,), {"__module__": self.parent_module, **members})
            for name, members in tests.items()
            if members
        }

    @property
    def test_suite(self) -> unittest.TestSuite:
        """All tests, for a unittest runner."""
        load = unittest.defaultTestLoader.loadTestsFromTestCase
        return unittest.TestSuite(load(tests) for tests in self.test_cases.values())

    def run(self, case: Case) -> Result:
        """One case's result."""

        def on_device(model: Any, inputs: Any) -> Execution:
            return execute(self.backend, model, inputs, self.device)

        (result,) = run_cases(on_device, [case])
        return result

    def _includes(self, case: Case) -> bool:
        return not self._included or _first(self._included, case) is not None

    def _asks(self, case: Case) -> bool:
        return self._includes(case) and _first(self._excluded, case) is None

    def _test(self, case: Case) -> Callable[[unittest.TestCase], None]:
        excluded = _first(self._excluded, case)
        expected_failure = _first(self._expected_failures, case)

        def test(self_: unittest.TestCase) -> None:
            if excluded is not None:
                self_.skipTest(self._excluded[excluded])
            result = self.run(case)
            if result.outcome is Outcome.UNSUPPORTED:
                self_.skipTest(f"unsupported: {result.detail}")
            passed = result.outcome is Outcome.PASS
            if expected_failure is None and not passed:
                self_.fail(failure_text(result))
            if expected_failure is not None and passed:
                reason = self._expected_failures[expected_failure]
                self_.fail(f"{case.name} passes; it was expected to fail: {reason}")

        test.__doc__ = f"{', '.join(case.rules)}: {case.question}"
        return test

    def _support_test(self, cases: Sequence[Case]) -> Callable[[unittest.TestCase], None]:
        def test(self_: unittest.TestCase) -> None:
            if all(self.run(case).outcome is Outcome.UNSUPPORTED for case in cases):
                self_.fail(f"the backend supports none of {len(cases)} cases, expected that it supports one")

        return test

    def _pattern_test(self, pattern: str) -> Callable[[unittest.TestCase], None]:
        def test(self_: unittest.TestCase) -> None:
            if not any(re.search(pattern, case.name) for case in self.cases):
                self_.fail(f"{pattern!r} matches no case")

        return test


def failure_text(result: Result) -> str:
    """What a failed case says: the outcome, the question, what differs and what it may be."""
    case = result.case
    lines = [
        f"{case.name}: {result.outcome.value}",
        f"question: {case.question} ({', '.join(case.rules)})",
        f"detail: {result.detail}",
        f"attributes: {dict(case.attributes)}",
        *(f"{name}: {array.tolist()}" for name, array in case.inputs.items() if array.size <= 64),
    ]
    if result.answers:
        lines.append(f"what would give this: {'; or '.join(result.answers)}")
    return "\n".join(lines)


def _first(patterns: Sequence[str] | dict[str, str], case: Case) -> str | None:
    return next((pattern for pattern in patterns if re.search(pattern, case.name)), None)


def _checked(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"pattern {pattern!r}: {error}") from None
    return pattern


def _given(reason: str) -> str:
    if not reason.strip():
        raise ValueError("an exclusion needs a reason")
    return reason
