"""The search finds what no case of the list asks for, and shows it as small as it gets."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from support.private_faults import FAULTS, Right, backend

from onnx_maxpool.cli.search import in_brief
from onnx_maxpool.conformance import Outcome, all_cases
from onnx_maxpool.conformance.oracle.answers import ANSWERS, RULES_OF, answers_of, is_open, rule_of
from onnx_maxpool.conformance.oracle.maximum import evaluate
from onnx_maxpool.conformance.run.execution import Execution, execute
from onnx_maxpool.conformance.run.runner import run_cases
from onnx_maxpool.conformance.search.hunt import Finding, Search, search
from onnx_maxpool.operators.registry import newest_version, newest_versions
from onnx_maxpool.operators.rules import RULES

pytestmark = pytest.mark.slow("searches for faults in backends")


class FoundError(BaseException):
    """Ends a search, which passes on what is no Exception."""


def asking(backend: Any) -> Callable[..., Execution]:
    return lambda model, inputs: execute(backend, model, inputs)


def searched(backend: Any, cases: int, operators: Sequence[str] = (), count: int = 1) -> Search:
    """A search that ends by what it found, or after so many cases. Its clock stands still: load changes nothing."""
    states: list[Search] = []

    def watch(state: Search) -> None:
        states[:] = [state]
        if len(state.findings) >= count or state.cases >= cases:
            raise FoundError

    with contextlib.suppress(FoundError):
        search(asking(backend), seconds=1, operators=operators, progress=watch, clock=lambda: 0.0)
    return states[0]


def first_finding(backend: Any, operator: str, cases: int = 2000) -> list[Finding]:
    """The first kind of difference that a search finds."""
    return searched(backend, cases, [operator]).findings


@pytest.mark.parametrize("name", FAULTS)
def test_no_case_of_the_list_sees_a_private_fault(name: str) -> None:
    asked = [case for case in all_cases() if case.operator == FAULTS[name][0] and case.control is None]
    results = run_cases(asking(backend(name)), asked)
    assert {result.outcome for result in results} == {Outcome.PASS}


@pytest.mark.parametrize("name", ["ExtentBinsChannel", "LastRoi", "OddWidthAbove200", "SecondImage"])
def test_a_private_fault_is_found_and_reduced(name: str) -> None:
    """The others are found within the minute too; these are found at once."""
    operator = FAULTS[name][0]
    (finding,) = first_finding(backend(name), operator)
    case = finding.result.case
    assert case.operator == operator
    assert finding.result.outcome in (Outcome.FAIL, Outcome.PASS)
    assert not finding.result.ours
    assert case.cells <= 400  # 65 ROIs are needed for one of them
    obtained = execute(backend(name), case.model(), case.inputs)
    assert finding.result.obtained is not None
    for again, before in zip(obtained.outputs, finding.result.obtained, strict=True):
        np.testing.assert_array_equal(again, before)


def test_nothing_is_found_in_what_is_right() -> None:
    found = searched(Right, cases=400)
    assert found.cases == 400
    assert (found.findings, found.lacking) == ([], [])


def half_to_even(model: Any, inputs: list[Any]) -> list[Any]:
    scale = next((a.f for a in model.graph.node[0].attribute if a.name == "spatial_scale"), 1.0)
    rois = inputs[1].copy()
    rois[:, 1:] = np.rint(rois[:, 1:].astype(np.float64) * scale) / scale
    return [inputs[0], rois]


def through_bfloat16(model: Any, inputs: list[Any]) -> list[Any]:
    with np.errstate(over="ignore"):
        return [inputs[0].astype(ml_dtypes.bfloat16).astype(inputs[0].dtype), inputs[1]]


@pytest.mark.parametrize(
    ("answer", "change", "level", "rule"),
    [
        ("half to even", half_to_even, "implementation-defined", "M5"),
        ("values through bfloat16", through_bfloat16, "required", "G6"),
    ],
)
def test_a_named_answer_is_one_finding_with_its_name(answer: str, change: Any, level: str, rule: str) -> None:
    class Changed(Right):
        @classmethod
        def prepare(cls, model: Any, device: str = "CPU", **_: Any) -> Any:
            prepared, right = Right.prepare(model), Right.prepare(model)
            prepared.run = lambda inputs: right.run(change(model, list(inputs)))  # type: ignore[method-assign]
            return prepared

    (finding,) = first_finding(Changed, "MaxRoiPool")
    case = finding.result.case
    assert answer in finding.result.answers
    assert (case.level, case.rules[0]) == (level, rule)
    assert case.cells <= 12


def test_two_open_answers_together_are_open() -> None:
    """A backend may give both: where only they explain a case, no rule is broken."""
    choices = {"malformed": "malformed ROI is empty", "saturation": "far coordinates wrap around 32 bits"}

    class Both(Right):
        @classmethod
        def prepare(cls, model: Any, device: str = "CPU", **_: Any) -> Any:
            prepared, right = Right.prepare(model), Right.prepare(model)
            (node,) = model.graph.node
            given = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}

            def run(inputs: Any) -> Any:
                outputs = right.run(inputs)  # which rejects what is to be rejected
                return evaluate("MaxRoiPool", list(inputs), given, choices, outputs=1) if outputs[0].size else outputs

            prepared.run = run  # type: ignore[method-assign]
            return prepared

    found = searched(Both, cases=150, operators=["MaxRoiPool"], count=99)
    assert found.findings
    assert not [finding.result.case.name for finding in found.findings if finding.result.case.required]


def test_the_same_seed_draws_the_same_cases() -> None:
    def drawn(seed: int) -> list[bytes]:
        asked: list[bytes] = []

        def ask(model: Any, inputs: Any) -> Execution:
            asked.append(model.SerializeToString() + b"".join(array.tobytes() for array in inputs.values()))
            if len(asked) == 80:
                raise FoundError
            return execute(Right, model, inputs)

        with pytest.raises(FoundError):
            search(ask, seconds=1, seed=seed, clock=lambda: 0.0)
        return asked

    assert drawn(5) == drawn(5)
    assert drawn(5) != drawn(6)


def test_what_is_lacking_is_not_drawn() -> None:
    class LacksTypes(Right):
        @classmethod
        def is_compatible(cls, model: Any, device: str = "CPU", **_: Any) -> bool:
            return bool(model.graph.input[0].type.tensor_type.elem_type == 1)  # float

    found = searched(LacksTypes, cases=60)
    assert found.cases == 60
    assert {target.element_type for target in found.lacking} >= {"double", "int8"}
    assert "float" not in {target.element_type for target in found.lacking}


def test_an_answer_that_changes_is_unstable() -> None:
    class Changes(Right):
        runs = 0

        @classmethod
        def prepare(cls, model: Any, device: str = "CPU", **_: Any) -> Any:
            cls.runs += 1
            prepared = Right.prepare(model)
            prepared.wrong = "MaxRoiPool" if cls.runs % 3 == 0 else ""
            prepared.spoil = lambda attributes, inputs, outputs: outputs[0].__iadd__(1)
            return prepared

    (finding,) = first_finding(Changes, "MaxRoiPool")
    assert finding.result.outcome is Outcome.UNSTABLE


def test_no_required_case_turns_on_an_open_answer() -> None:
    for case in all_cases():
        if case.required and not case.refuses and case.version is newest_version(case.operator):
            allowed = [
                answer
                for question in ANSWERS
                for answer in answers_of(question, case.operator)[1:]
                if is_open(question, answer, case.operator)
            ]
            assert not set(allowed) & set(case.single_faults), case.name


def test_every_question_has_a_rule() -> None:
    assert set(RULES_OF) == set(ANSWERS)
    for version in newest_versions():
        for question in ANSWERS:
            assert rule_of(question, version.name) in RULES


def test_a_search_ends_when_its_time_is_over() -> None:
    def clock() -> float:
        return next(ticks) / 8

    ticks = itertools.count()
    found = search(asking(Right), seconds=10, clock=clock)
    assert 10 <= found.seconds < 11
    assert 10 < found.cases < 80


class LacksOddWidths(Right):
    """Says of some maps that it does not support them, and is right otherwise."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **_: Any) -> Any:
        if model.graph.input[0].type.tensor_type.shape.dim[3].dim_value % 2:
            raise NotImplementedError("odd width")
        return Right.prepare(model)


def test_what_is_not_supported_is_no_difference() -> None:
    found = searched(LacksOddWidths, 100, ["MaxRoiPool"])
    assert found.findings == []
    assert 0 < found.unsupported < found.cases
    assert f", {found.unsupported} not supported, 0 kinds of difference" in in_brief(found)
