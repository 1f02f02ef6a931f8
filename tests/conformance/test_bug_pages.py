"""The page of a bug report agrees with the case's level, and is in the words of the operator that was asked."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from onnx_maxpool.conformance import BackendRun, Case, all_cases
from onnx_maxpool.conformance.bugs import bug_of
from onnx_maxpool.conformance.bugs.page import page, said
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import judge


def named(name: str) -> Case:
    return next(case for case in all_cases() if case.name == name)


def page_of(case: Case, done: Execution) -> str:
    result = judge(case, done)
    return page(BackendRun("mine:Mine", {}, (result,)), result, "reproduce.py", "program")


def restated(name: str) -> Case:
    case = named(name)
    assert case.restate is not None
    return case.restate(case)


ANSWERED = Execution("answered", (np.zeros((1, 1, 1, 1), np.float32),))
RAISED = Execution("raised", text="ValueError: no")
NOTHING = Execution("answered", ())


@pytest.mark.parametrize("done", [ANSWERED, NOTHING])
def test_a_required_refusal_should_fail(done: Execution) -> None:
    text = page_of(named("max_roi_pool_22_batch_n"), done)
    assert "It should fail with an error." in " ".join(text.split())
    assert "leaves the answer open" not in text
    assert "The texts leave this open" not in text
    assert "with numbers" not in text


@pytest.mark.parametrize("done", [ANSWERED, NOTHING])
def test_an_open_refusal_fails_by_our_rule(done: Execution) -> None:
    text = page_of(named("max_roi_pool_22_batch_nan"), done)
    assert "The published text leaves the answer open." in text
    assert "By our rule it fails with an error." in " ".join(text.split())
    assert "should fail" not in text
    assert "The texts leave this open" in text


@pytest.mark.parametrize(("level", "valid"), [("required", "The model"), ("implementation-defined", "By our rule the")])
def test_an_error_on_a_valid_model_is_said_by_level(level: Any, valid: str) -> None:
    case = dataclasses.replace(named("max_roi_pool_22_half_2_5"), level=level)
    text = page_of(case, RAISED)
    assert valid in text
    assert ("leave this open" in text) is (level == "implementation-defined")


def test_what_the_text_settles_is_said_so() -> None:
    case = named("max_roi_pool_22_minus_infinity")
    assert "The published text settles the answer." in page_of(case, Execution("answered", (case.expected[0] + 1,)))


OF_DIRECTML = ("DML", "MaxPooling1", "window_size", "start_padding", "end_padding", "index_element_type")


@pytest.mark.parametrize("topic", ["no_window", "window_0", "padding_negative", "end_padding_of_window", "rank_3"])
def test_a_refusal_of_max_pool_is_in_its_words(topic: str) -> None:
    outputs = tuple(np.zeros((1, 1, 1, 1), dtype) for dtype in (np.float32, np.int64))
    text = page_of(restated(f"max_pooling1_5_{topic}"), Execution("answered", outputs))
    assert [word for word in OF_DIRECTML if word in text] == []
    assert "[ONNX, MaxPool, version 12](" in text


@pytest.mark.parametrize("topic", ["rank_4", "start_padding", "size_with_padding", "index_row_major", "nan_middle"])
def test_an_answer_of_max_pool_is_in_its_words(topic: str) -> None:
    names = [case.name for case in all_cases()]
    name = f"max_pooling1_5_{topic}"
    case = restated(name if name in names else "max_pooling1_5_random_00")
    outputs = (case.expected[0] + np.float32(1), *case.expected[1:])
    text = page_of(case, Execution("answered", outputs))
    assert [word for word in OF_DIRECTML if word in text] == []
    assert "Attributes of MaxPool: `{'kernel_shape': " in text
    assert "'strides': " in text


@pytest.mark.parametrize("name", ["adaptive_max_pool_8_double", "max_roi_pool_1_double", "max_roi_pool_22_double"])
def test_a_double_that_is_computed_in_float32_is_that_and_nothing_narrower(name: str) -> None:
    case = named(name)

    def ask(model: Any, inputs: Any) -> Execution:
        x = inputs["X"].astype(np.float32).astype(inputs["X"].dtype)
        return Execution("answered", dataclasses.replace(case, inputs={**inputs, "X": x}).expected)

    bug = bug_of(judge(case, ask(None, case.inputs)), ask)
    assert bug.result.answers == ("values through float32",)
    assert said(bug.result) == "accepts double and computes in float32"
