"""The unittest classes that a backend's own tests make of the cases: what passes, fails, is skipped and is excluded."""

from __future__ import annotations

import subprocess
import sys
import unittest
from pathlib import Path
from typing import Any

import onnx
import pytest
from support.faulty_backends import EmptyIsMinusInfinity, Function, Good, LacksEverything, LacksTwoChannels

from onnx_maxpool.conformance import BackendTest, Outcome, all_cases, run_backend

pytestmark = pytest.mark.slow("starts processes")

ROOT = Path(__file__).parent.parent.parent


def run_suite(backend_test: BackendTest) -> unittest.TestResult:
    return backend_test.test_suite.run(unittest.TestResult())


def test_unittest_classes_pass_for_a_right_backend() -> None:
    backend_test = BackendTest(Good, __name__).include("max_roi_pool_22_half|max_roi_pool_22_(corners|batch_n)$")
    result = run_suite(backend_test)
    assert (result.testsRun, result.failures, result.errors, result.skipped) == (4, [], [], [])
    tests = backend_test.test_cases
    assert tests["MaxRoiPoolConformanceTest"].__module__ == __name__
    assert hasattr(tests["MaxRoiPoolConformanceTest"], "test_max_roi_pool_22_corners")
    both = BackendTest(Good, __name__, levels=("required", "implementation-defined")).include("22_half_2_5")
    assert run_suite(both).testsRun == 3


class Spoils(Good):
    """Writes into its inputs, when it has answered."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> Function:
        good = super().prepare(model, device, **options)

        def run(inputs: Any) -> Any:
            outputs = good.run(inputs)
            for array in inputs:
                array[...] = 0
            return outputs

        return Function(run)


def test_what_a_backend_writes_into_its_inputs_is_its_own() -> None:
    """And an error: in a whole model, another node may read them."""
    for backend, faults in ((Spoils, 2), (Good, 0)):
        result = run_suite(BackendTest(backend, __name__).include("max_roi_pool_22_(corners|scale)$"))
        assert (result.testsRun, len(result.failures), result.errors) == (4, faults, [])
        said = "it changes input 0, expected that it leaves inputs as they are"
        assert all(said in text for _, text in result.failures)


class Exits(Good):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> Function:
        raise SystemExit(3)


def test_a_backend_that_exits_fails_its_test_alone() -> None:
    result = run_suite(BackendTest(Exits, __name__).include("max_roi_pool_22_corners$"))
    assert result.errors == []
    assert any("SystemExit: 3" in text for _, text in result.failures)


def test_unittest_classes_fail_with_the_question_and_what_it_may_be() -> None:
    result = run_suite(BackendTest(EmptyIsMinusInfinity, __name__).include("max_roi_pool_22_outside_right"))
    ((_, text),) = result.failures
    assert "Is a ROI to the right of the map all 0?" in text
    assert "what would give this: empty bin is -inf" in text
    assert "rois: [[0.0, 5.0" in text


def test_unittest_classes_skip_what_is_unsupported_as_the_command_does() -> None:
    """With the reason; and where nothing is supported, the tests are not green."""
    lacking = run_suite(BackendTest(LacksEverything, __name__).include("max_roi_pool_22_corners"))
    assert [reason for _, reason in lacking.skipped] == ["unsupported: is_compatible says no"]
    ((_, text),) = lacking.failures
    assert "the backend supports none of 1 cases, expected that it supports one" in text
    name = "support.faulty_backends:LacksTwoChannels"
    run = run_backend(
        name, [case for case in all_cases() if case.name.startswith("max_roi_pool_22_") and case.required]
    )
    unsupported = {result.case.name: result.detail for result in run.results if result.outcome is Outcome.UNSUPPORTED}
    assert 0 < len(unsupported) < len(run.results)
    tests = run_suite(BackendTest(LacksTwoChannels, __name__).include("^max_roi_pool_22_"))
    skipped = {test.id().rpartition(".test_")[2]: reason for test, reason in tests.skipped}
    assert skipped == {name: f"unsupported: {detail}" for name, detail in unsupported.items()}
    assert tests.failures == tests.errors == []


def test_exclusions_need_a_reason_and_stale_ones_fail() -> None:
    backend_test = BackendTest(EmptyIsMinusInfinity, __name__).include("max_roi_pool_22_(outside_right|corners)")
    with pytest.raises(ValueError, match="a reason"):
        backend_test.exclude("corners", reason=" ")
    with pytest.raises(ValueError, match="a reason"):
        backend_test.xfail("corners", reason="")
    backend_test.xfail("outside_right", reason="known").exclude("corners", reason="not today")
    result = run_suite(backend_test)
    assert (result.failures, [reason for _, reason in result.skipped]) == ([], ["not today"])

    stale = BackendTest(Good, __name__).include("max_roi_pool_22_corners")
    stale.xfail("corners", reason="once wrong").exclude("renamed_since", reason="known")
    texts = [text for _, text in run_suite(stale).failures]
    assert len(texts) == 2
    assert any("was expected to fail: once wrong" in text for text in texts)
    assert any("'renamed_since' matches no case" in text for text in texts)


def test_what_would_ask_nothing_is_rejected() -> None:
    levels: Any = ["requierd"]
    with pytest.raises(ValueError, match="levels has 'requierd', expected required or implementation-defined"):
        BackendTest(Good, __name__, levels=levels)
    backend_test = BackendTest(Good, __name__)
    with pytest.raises(ValueError, match=r"pattern '\(': missing \)"):
        backend_test.include("(")
    with pytest.raises(ValueError, match=r"pattern '\('"):
        backend_test.exclude("(", reason="known")


class BadWords(Good):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> Function:
        class WordlessError(Exception):
            def __str__(self) -> str:
                raise RuntimeError

        raise WordlessError


def test_an_error_that_cannot_be_said_is_an_error() -> None:
    result = run_suite(BackendTest(BadWords, __name__).include("max_roi_pool_22_corners$"))
    assert result.errors == []
    assert any("detail: WordlessError" in text for _, text in result.failures)


def test_pytest_collects_the_classes(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from support.faulty_backends import Good\n"
        "from onnx_maxpool.conformance import BackendTest\n"
        "globals().update(BackendTest(Good, __name__).include('max_roi_pool_22_(corners|order)').test_cases)\n"
    )
    environment = [f"-c{tmp_path}/none.ini", f"--rootdir={tmp_path}", "-p", "no:cacheprovider", "-q"]
    (tmp_path / "none.ini").write_text(f"[pytest]\npythonpath = {ROOT / 'tests'} {ROOT / 'ops'}\n")
    arguments = [sys.executable, "-m", "pytest", *environment, str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert "4 passed" in done.stdout, done.stdout
