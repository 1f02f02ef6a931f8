"""MaxPooling1's cases in ai.onnx's words."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx.backend.base import Backend
from support.older_runtimes import onnx_is_before, runtime_is_before

from onnx_maxpool.conformance import Case, Outcome, all_cases
from onnx_maxpool.conformance.case import CannotAskError, same
from onnx_maxpool.conformance.reduction.candidates import smaller_sizes, with_attributes
from onnx_maxpool.conformance.report.records import json_report
from onnx_maxpool.conformance.run.execution import UnsupportedError, execute
from onnx_maxpool.conformance.run.runner import BackendRun, run_cases

pytestmark = pytest.mark.slow("asks cases in two forms")

CASES = [case for case in all_cases() if case.restate is not None]
NO_WORDS = {
    "MaxPool-12 has no index_element_type: its index is int64",
    "ai.onnx does not say that MaxPool-12 rejects it",
    *(f"MaxPool-12 does not have the type {name}" for name in ("int16", "int32", "int64")),
    *(f"MaxPool-12 does not have the type {name}" for name in ("uint16", "uint32", "uint64")),
}


def asked(case: Case) -> Case | str:
    assert case.restate is not None
    try:
        return case.restate(case)
    except CannotAskError as error:
        return str(error)


FORMS = {case.name: form for case in CASES if isinstance(form := asked(case), Case)}
ANSWERABLE = [case for case in FORMS.values() if not case.refuses]
REFUSED = [case for case in FORMS.values() if case.refuses]


def test_what_max_pool_cannot_say_is_said() -> None:
    reasons = {form for case in CASES if isinstance(form := asked(case), str)}
    assert reasons == NO_WORDS
    assert asked(named("max_pooling1_5_no_window_fits")) == "ai.onnx does not say that MaxPool-12 rejects it"


def test_what_only_directmls_text_settles_is_an_open_question() -> None:
    changed = {name for name, form in FORMS.items() if form.level != named(name).level}
    assert changed == {"max_pooling1_5_first_of_equals", "max_pooling1_5_first_of_rows"}


def named(name: str) -> Case:
    return next(case for case in CASES if case.name == name)


def has_strides(case: Case) -> bool:
    return "strides" in {attribute.name for attribute in case.model().graph.node[0].attribute}


def test_one_case_asks_for_the_default_strides_and_the_others_write_them() -> None:
    without = [name for name, form in FORMS.items() if not has_strides(form)]
    assert without == ["max_pooling1_5_strides_absent"]
    assert all(has_strides(form.control) for form in FORMS.values() if form.control is not None)


def test_a_reduction_keeps_strides() -> None:
    form = FORMS["max_pooling1_5_strides"]
    reduced = list(smaller_sizes(with_attributes(form, strides=[1, 1], start_padding=[0, 0]), None))
    assert reduced
    assert all(has_strides(case) for case in reduced)


@pytest.mark.parametrize("case", ANSWERABLE, ids=lambda case: case.name)
def test_the_model_is_one_of_ai_onnx(case: Case) -> None:
    """Declared types and shapes are those that ONNX infers, and brute force agrees."""
    model = case.model()
    onnx.checker.check_model(model, full_check=True)
    assert {node.op_type for node in model.graph.node} == {"MaxPool"}
    assert [entry.domain for entry in model.opset_import] == [""]
    assert same(case.expected, case.brute_force({}))
    assert all(index.dtype == np.int64 for index in case.expected[1:])


@pytest.mark.parametrize("case", [case for case in ANSWERABLE if case.required], ids=lambda case: case.name)
def test_onnxruntimes_max_pool_gives_the_rules_answer(case: Case) -> None:
    """It wants a channel. Its kernel without an index starts at the lowest finite number."""
    if case.name == "max_pooling1_5_values_alone_minus_infinity":
        assert same(in_onnxruntime(case), case.other_answers["maximum starts at the lowest finite number"])
        return
    if runtime_is_before(1, 24) and case.name.endswith(("_float_extremes", "_5_minus_infinity")):
        pytest.xfail("ONNX Runtime before 1.24 begins with the lowest finite number where there are indices, too")
    if not case.inputs["X"].shape[1]:
        with pytest.raises(Exception, match="Invalid input shape"):
            in_onnxruntime(case)
        return
    assert same(case.expected, in_onnxruntime(case))


@pytest.mark.parametrize("case", [case for case in REFUSED if case.required], ids=lambda case: case.name)
def test_onnxruntimes_max_pool_rejects_what_the_rule_does_and_runs_the_control(case: Case) -> None:
    if runtime_is_before(1, 28) and 0 in case.attributes.get("strides", ()):
        pytest.skip("ONNX Runtime before 1.28 divides by a stride of 0, which ends the process")
    if runtime_is_before(1, 24) and case.name.endswith(("_5_window_0", "_5_padding_negative")):
        pytest.xfail("ONNX Runtime before 1.24 takes windows of 0 and negative paddings")
    with pytest.raises(Exception, match=r"MaxPool|ShapeInferenceError"):
        in_onnxruntime(case)
    assert case.control is not None
    assert same(case.control.expected, in_onnxruntime(case.control))


def in_onnxruntime(case: Case) -> tuple[Any, ...]:
    options = ort.SessionOptions()
    options.log_severity_level = 4
    session = ort.InferenceSession(case.model().SerializeToString(), options, ["CPUExecutionProvider"])
    return tuple(session.run(None, dict(case.inputs)))


class Elsewhere(Backend):
    """Another runtime's MaxPool, with a fault: `given` changes what it gives."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Any:
        if model.graph.node[0].domain:
            raise UnsupportedError("no operators but ONNX's")
        session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

        class Prepared:
            def run(self, inputs: Any) -> Any:
                return cls.given(session.run(None, {"X": inputs[0]}), inputs[0])

        return Prepared()

    @staticmethod
    def given(outputs: Any, x: Any) -> Any:
        return outputs


class PerChannel(Elsewhere):
    @staticmethod
    def given(outputs: Any, x: Any) -> Any:
        return [outputs[0], *(index % int(np.prod(x.shape[2:])) for index in outputs[1:])]


rejects_no_window_of_0 = pytest.mark.xfail(
    onnx_is_before(1, 20), reason="ONNX before 1.20 does not say that MaxPool rejects a window of 0", strict=True
)


def run(backend: type[Backend], cases: list[Case]) -> BackendRun:
    results = run_cases(lambda model, inputs: execute(backend, model, inputs), cases)
    return BackendRun("elsewhere", {}, tuple(results))


@rejects_no_window_of_0
def test_a_backend_without_directml_is_asked_in_ai_onnxs_words_and_the_report_says_so() -> None:
    cases = [named(f"max_pooling1_5_{topic}") for topic in ("index_of_whole_input", "window_0", "int16", "random_01")]
    found = run(Elsewhere, cases)
    assert [result.outcome for result in found.results] == [
        Outcome.PASS,
        Outcome.PASS,
        Outcome.UNSUPPORTED,
        Outcome.PASS,
    ]
    assert found.results[2].detail == "does not support MaxPooling1-5, and MaxPool-12 does not have the type int16"
    forms = [result["form"] for result in json_report([found])["backends"][0]["results"]]
    assert forms == ["MaxPool-12", "MaxPool-12", "MaxPooling1-5", "MaxPool-12"]


class ValuesOnly(Elsewhere):
    """One that lacks the second output."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Any:
        if len(model.graph.output) > 1:
            raise UnsupportedError("no Indices")
        return super().prepare(model)


@rejects_no_window_of_0
def test_a_backend_without_indices_is_asked_what_is_not_about_them() -> None:
    topics = ("random_01", "window_0", "index_of_whole_input", "zeros", "values_alone", "rank_5")
    results = run(ValuesOnly, [named(f"max_pooling1_5_{topic}") for topic in topics]).results
    assert [(result.case.form, result.outcome.value) for result in results] == [
        ("MaxPool-12 without Indices", "pass"),
        ("MaxPool-12 without Indices", "pass"),
        ("MaxPool-12", "unsupported"),
        ("MaxPool-12", "unsupported"),
        ("MaxPool-12", "pass"),
        ("MaxPool-12 without Indices", "pass"),
    ]
    assert results[2].detail.startswith("MaxPool-12: UnsupportedError: no Indices, and P5 is about the index; ")
    assert "its answers differ in the index only" in results[3].detail
    for form in FORMS.values():
        try:
            plain = form.restate(form) if form.restate else form
        except CannotAskError:
            continue
        assert plain.refuses or same(form.expected[:1], plain.expected)


def test_a_wrong_index_is_named_in_ai_onnxs_words_too() -> None:
    (result,) = run(PerChannel, [named("max_pooling1_5_index_of_whole_input")]).results
    assert result.outcome is Outcome.FAIL
    assert "numbered per channel" in result.answers
