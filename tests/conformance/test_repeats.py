"""A case that is repeated: answers that differ are no answer."""

from __future__ import annotations

import numpy as np
import pytest

from onnx_maxpool.conformance import BackendRun, Outcome, all_cases, run_backend
from onnx_maxpool.conformance.report.view import divergences
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import judge
from onnx_maxpool.conformance.run.runner import memory_settings, repeats

pytestmark = pytest.mark.slow("runs cases again in new processes")

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
