"""The suite is tested: every deliberate fault is caught, by the cases of the rule it breaks and by no others.

And where a case is repeated, answers that differ are no answer.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.faulty_backends import (
    DropsADimension,
    FlushesSubnormals,
    Good,
    LacksEverything,
    RefusesEverything,
    ReturnsNone,
    ReturnsNothing,
    ReturnsNothingForErrors,
    ReturnsTooMuch,
    answering,
)
from support.older_runtimes import cases_that_load_here

from onnx_maxpool.conformance import BackendRun, Outcome, Result, all_cases, run_backend
from onnx_maxpool.conformance.bugs.page import said
from onnx_maxpool.conformance.oracle.answers import ANSWERS, REFUSED
from onnx_maxpool.conformance.report.view import divergences, fingerprint
from onnx_maxpool.conformance.run.execution import Execution, execute
from onnx_maxpool.conformance.run.judge import judge
from onnx_maxpool.conformance.run.runner import memory_settings, repeats, run_cases

pytestmark = pytest.mark.slow("asks every case of some forty wrong backends, and some again in new processes")


def cases_of(prefix: str) -> list[Any]:
    """All but the random ones, which are of no single rule."""
    return [case for case in all_cases() if case.name.startswith(prefix) and "_random_" not in case.name]


def results(backend: Any, cases: Any) -> list[Result]:
    return list(run_cases(lambda model, inputs: execute(backend, model, inputs), cases))


def rules_of_caught(found: list[Result]) -> set[str]:
    """The first rules of what was caught."""
    return {result.case.rules[0] for result in found}


@pytest.mark.parametrize("backend", [Good, answering({})])
def test_a_right_backend_passes_everything(backend: Any) -> None:
    assert {(result.outcome, result.ours) for result in results(backend, all_cases())} == {(Outcome.PASS, True)}


# A fault's rule stands first. The others are those whose cases cannot be asked so that this fault does not show: a bin
# that is empty comes of an edge beyond the map, and every window has a last cell. No further rule's case may notice.
EVERY_WINDOW = "G1 G2 G3 M1 M2 M3 M4 M5 M6 M7 M8 M9 M10 M11"
ROI_FAULTS = {
    ("rounding", "half to even"): "M5",
    ("rounding", "floor(x + 0.5)"): "M5",
    ("rounding", "half toward zero"): "M5",
    ("rounding", "floor"): "M5",
    ("rounding", "truncation"): "M5",
    ("product", "product in double"): "M5",
    ("product", "product in float32"): "M5",
    ("coordinates", "coordinates cast to bfloat16"): "M5",
    ("coordinates", "coordinates cast to float16"): "M5",
    ("order", "y before x"): f"M4 {EVERY_WINDOW}",
    ("scale", "scale ignored"): "M3 M5",
    ("corners", "end corner exclusive"): f"M4 {EVERY_WINDOW}",
    ("malformed", "malformed ROI is empty"): "M6",
    ("malformed", "malformed ROI is turned round"): "M6",
    ("malformed", REFUSED): "M6",
    ("edges", "exact integers"): "M7",
    ("edges", "float32 edges"): "M7",
    ("edges", "double edges"): "M7",
    ("edges", "accumulated float32 edges"): "M7",
    ("start", "start rounded up"): "M7 M3 G2",
    ("start", "start rounded to nearest"): "M7 M3 G2",
    ("end", "end rounded down"): "M7 M3",
    ("end", "one cell too far"): f"M7 {EVERY_WINDOW}",
    ("clipping", "ROIs clipped to the map before they are cut"): "M8 M5 M9",
    ("clipping", "clipped one cell short"): f"M8 {EVERY_WINDOW}",
    ("empty", "empty bin is -inf"): "M9 M5 M8",
    ("empty", "empty bin is the lowest finite number"): "M9 M5 M8",
    ("batch", "batch modulo N"): "M10",
    ("batch", "nearest batch"): "M10",
    ("batch", "zeros for a wrong batch"): "M10",
    ("nan batch", "NaN batch is image 0"): "M10",
    ("fractional batch", "batch rounded"): "M10",
    ("fractional batch", REFUSED): "M10",
    ("nan coordinate", "NaN coordinate is 0"): "M11",
    ("nan coordinate", "NaN coordinate becomes the least int32"): "M11",
    ("scale of 0", "scale of 0 computed with"): "M3",
    ("saturation", REFUSED): "M11",
    ("saturation", "far coordinates wrap around 32 bits"): "M11",
    ("nan", "NaN ignored"): "G3",
    ("nan", "maximum restarts after a NaN"): "G3",
    ("nan", "NaN kept only if first"): "G3",
    ("minimum", "maximum starts at the lowest finite number"): "G2",
    ("minimum", "maximum starts at 0"): "G2 M9",
    ("precision", "values through float32"): "M2 G2",
    ("precision", "values through bfloat16"): "M2 G2",
    ("result", "result is float32"): "M2 G2 M5 M7",
}
SLIDING_FAULTS = {
    ("padding", "padding is 0"): "P4 P2",
    ("count", "output size rounded up"): "P3 P2",
    ("large padding", "window of padding alone is the lowest"): "P2",
    ("large padding", "window of padding alone is 0"): "P2",
    ("nan", "NaN ignored"): "G3 G5",
    ("nan", "maximum restarts after a NaN"): "G3 G5",
    ("nan", "NaN kept only if first"): "G3 G5",
    ("minimum", "maximum starts at the lowest finite number"): "G2",
    ("minimum", "maximum starts at 0"): "G2 P2 P4",
    ("precision", "values through float32"): "P6 G2",
    ("precision", "values through bfloat16"): "P6 G2",
    ("precision", "values through double"): "P6 G2",
    ("result", "result is float32"): "P6 G2",
    ("tie", "last of equals"): "G5 G2 G4 P6",
    ("nan index", "last NaN"): "G5",
    ("zeros", "+0 above -0"): "G4",
    ("index scope", "numbered per channel"): "P5 P1 P2 P3 P4",
    ("index scope", "numbered per image"): "P5",
    ("index scope", "column-major"): "P5 G2 G5 P1 P2 P3 P4 P6",
}
ADAPTIVE_FAULTS = {
    ("edges", "float32 edges"): "A2",
    ("edges", "double edges"): "A2",
    ("edges", "accumulated float32 edges"): "A2",
    ("start", "start rounded up"): "A2 A1 A3",
    ("start", "start rounded to nearest"): "A2 A1 A3",
    ("end", "end rounded down"): "A2 A1 A3",
    ("end", "one cell too far"): "A2 A1 A3 G2",
    ("no cells", "a window without cells is 0"): "A5",
    ("nan", "NaN ignored"): "G3 G5",
    ("nan", "maximum restarts after a NaN"): "G3 G5",
    ("nan", "NaN kept only if first"): "G3 G5",
    ("minimum", "maximum starts at the lowest finite number"): "G2",
    ("minimum", "maximum starts at 0"): "G2",
    ("precision", "values through float32"): "A4 G2",
    ("precision", "values through bfloat16"): "A4 G2",
    ("result", "result is float32"): "A4 G2",
    ("tie", "last of equals"): "G5 G2 G4 A4",
    ("nan index", "last NaN"): "G5",
    ("zeros", "+0 above -0"): "G4",
    ("index scope", "numbered per image"): "A3 A1 A2",
    ("index scope", "numbered in the whole input"): "A3 A1 A2",
    ("index scope", "column-major"): "A3 A1 A4 G2 G5",
}
TABLES = {
    "max_roi_pool_22_": ROI_FAULTS,
    "max_pooling1_5_": SLIDING_FAULTS,
    "adaptive_max_pool_8_": ADAPTIVE_FAULTS,
}
FAULTS = [(prefix, *fault, rules) for prefix, table in TABLES.items() for fault, rules in table.items()]


@pytest.mark.parametrize(("prefix", "question", "answer", "rules"), FAULTS)
def test_a_fault_is_caught_by_its_rule_and_no_unrelated_one(
    prefix: str, question: str, answer: str, rules: str
) -> None:
    run = results(answering({question: answer}), cases_of(prefix))
    found = [result for result in run if not result.ours]
    first, *related = rules.split()
    assert any(first in result.case.rules and answer in result.answers for result in found)
    assert first in rules_of_caught(found)
    assert rules_of_caught(found) <= {first, *related}
    # Where it is a question of the texts, the fingerprint names it; where it is not, the backend does not conform.
    operator = run[0].case.operator
    whole = BackendRun("faulty", {}, tuple(run))
    answers = {trait.question: trait.answers for trait in fingerprint(whole, operator)}
    assert not whole.conforms or answer in answers[question]


def test_every_way_is_tried_as_a_fault() -> None:
    tried = {(question, answer) for _, question, answer, _ in FAULTS}
    assert tried == {(question, answer) for question, known in ANSWERS.items() for answer in known[1:]}


def test_what_refuses_everything_passes_nothing() -> None:
    found = results(RefusesEverything, all_cases())
    assert {result.outcome for result in found if result.case.control is None} == {Outcome.ERROR}
    assert {result.outcome for result in found if result.case.control is not None} == {Outcome.UNSUPPORTED}


def test_what_lacks_everything_passes_nothing() -> None:
    found = results(LacksEverything, all_cases())
    assert {result.outcome for result in found} == {Outcome.UNSUPPORTED}
    assert not BackendRun("lacking", {}, tuple(found)).conforms


def test_a_run_of_no_required_case_conforms_to_nothing() -> None:
    assert not BackendRun("empty", {}, ()).conforms


@pytest.mark.parametrize("backend", [ReturnsNothing, ReturnsTooMuch])
def test_a_wrong_number_of_outputs_is_caught_everywhere(backend: Any) -> None:
    found = results(backend, [case for case in all_cases() if not case.refuses])
    assert {result.outcome for result in found} == {Outcome.FAIL}
    assert all(f"expected {len(result.case.outputs)}" in result.detail for result in found)


def test_a_lost_dimension_is_caught_everywhere() -> None:
    found = results(DropsADimension, [case for prefix in TABLES for case in cases_of(prefix) if not case.refuses])
    assert all(result.outcome is Outcome.FAIL for result in found if result.case.expected[0].shape[0])


def test_flushed_subnormals_are_caught_by_the_types_extremes() -> None:
    found = [result for result in results(FlushesSubnormals, cases_that_load_here()) if not result.ours]
    assert found
    assert all(result.case.name.endswith("_extremes") for result in found)
    assert {rule for result in found for rule in result.case.rules} >= {"G6"}


CASES = {case.name: case for case in all_cases()}
REFUSAL = CASES["max_roi_pool_22_batch_n"]
PLAIN = CASES["max_roi_pool_22_corners"]
RIGHT = Execution("answered", PLAIN.expected)
WRONG = Execution("answered", tuple(y + 1 for y in PLAIN.expected))
CRASHED = Execution("crashed", text="SIGSEGV")
HUNG = Execution("timed out", text="no answer within 1 s")


def test_a_case_that_may_be_refused_is_repeated_by_itself() -> None:
    assert {repeats(case, None) for case in CASES.values() if case.control is not None} == {3}
    assert {repeats(case, None) for case in CASES.values() if case.control is None} == {1}
    assert all(case.control is not None for case in CASES.values() if case.refuses)
    assert (repeats(REFUSAL, 1), repeats(PLAIN, 5)) == (1, 5)


def test_a_guess_is_unstable_and_has_no_name() -> None:
    run = run_backend("support.faulty_backends:GuessesWhereItMustRefuse", [REFUSAL, PLAIN])
    guess, plain = run.results
    assert (guess.outcome, guess.answers, guess.repeats) == (Outcome.UNSTABLE, (), 3)
    assert guess.detail.startswith("3 answers in 3 runs: once an answer that begins with [")
    assert (plain.outcome, plain.repeats) == (Outcome.PASS, 1)
    assert not run.conforms
    (once,) = run_backend("support.faulty_backends:GuessesWhereItMustRefuse", [REFUSAL], repeat=1).results
    assert once.outcome is not Outcome.UNSTABLE


@pytest.mark.parametrize(
    ("again", "outcome", "detail"),
    [
        ([RIGHT, RIGHT], Outcome.PASS, ""),
        (
            [RIGHT, WRONG],
            Outcome.UNSTABLE,
            "2 answers in 3 runs: 2 times the right answer; once Y: 2 of 2 cells differ",
        ),
        ([RIGHT, Execution("raised", text="no")], Outcome.UNSTABLE, "2 times the right answer; once raised no"),
        ([WRONG, CRASHED], Outcome.CRASH, "1 of 3 runs: SIGSEGV"),
        ([HUNG, CRASHED], Outcome.CRASH, "1 of 3 runs: SIGSEGV"),
        ([HUNG, HUNG], Outcome.TIMEOUT, "2 of 3 runs: no answer within 1 s"),
    ],
)
def test_the_worst_of_several_runs_decides(again: list[Execution], outcome: Outcome, detail: str) -> None:
    result = judge(PLAIN, RIGHT, again=again)
    assert result.outcome is outcome
    assert detail in result.detail
    assert result.repeats == 3


def test_errors_in_other_words_are_one_answer() -> None:
    first, second = Execution("raised", text="at 0x7f01"), Execution("raised", text="at 0x7f02")
    assert judge(REFUSAL, first, RIGHT, [second]).outcome is Outcome.PASS


def test_each_repetition_has_memory_of_its_own() -> None:
    settings = [memory_settings(i) for i in range(4)]
    assert settings[0] == {}
    fills = [int(each["MALLOC_PERTURB_"]) for each in settings[1:]]
    assert len(set(fills)) == 3
    assert all(0 < fill < 256 for fill in fills)


def test_an_answer_that_is_not_a_number_is_the_same_when_it_comes_again() -> None:
    nan = Execution("answered", tuple(np.full_like(y, np.nan) for y in PLAIN.expected))
    assert judge(PLAIN, nan, again=[nan]).outcome is Outcome.FAIL


def test_the_failures_say_how_an_unstable_answer_varied() -> None:
    result = judge(PLAIN, RIGHT, again=[WRONG])
    (divergence,) = divergences(BackendRun("mine", {}, (result,)))
    assert divergence.what.startswith("2 answers in 2 runs: once the right answer; once Y: 2 of 2 cells differ")


@pytest.mark.parametrize(
    ("backend", "outcome", "detail"),
    [
        (ReturnsNothingForErrors, Outcome.ERROR, "0 outputs, expected 1, and no error"),
        (ReturnsNone, Outcome.ERROR, "Y is no tensor, and no error"),
        (ReturnsNothing, Outcome.UNSUPPORTED, "the valid control: 0 outputs, expected 1"),
    ],
)
def test_what_gives_nothing_has_neither_refused_nor_answered(backend: Any, outcome: Outcome, detail: str) -> None:
    (result,) = results(backend, [REFUSAL])
    assert (result.outcome, result.detail) == (outcome, detail)
    assert outcome is Outcome.UNSUPPORTED or said(result) == "gives neither outputs nor an error"


def test_unstable_answers_to_what_must_fail_are_said_without_numbers_that_are_not_there() -> None:
    kinds = [np.zeros((1, 1, 1, 0), np.float32)], [np.ones((1, 1, 1, 1), np.float32)], []
    first, *again = [Execution("answered", tuple(outputs)) for outputs in kinds]
    assert judge(REFUSAL, first, again=again).detail == (
        "3 answers in 3 runs: once an empty answer; once an answer that begins with [1.0]; once 0 outputs, expected 1"
    )
