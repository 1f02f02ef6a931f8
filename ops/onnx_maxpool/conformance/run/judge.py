"""Hold what a backend did to what a case expects."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from onnx_maxpool.conformance.case import Case, same
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.difference import first_difference
from onnx_maxpool.types import Array


class Outcome(str, Enum):
    """What came of a case. Only `PASS` is a pass."""

    PASS = "pass"
    """The rule's answer, or in an implementation-defined case any named one."""
    FAIL = "fail"
    """Another answer."""
    ERROR = "error"
    """An exception where there is an answer."""
    UNSUPPORTED = "unsupported"
    """The backend does not have the operator, the version or the type: it was not put to the question."""
    CRASH = "crash"
    """The process died."""
    TIMEOUT = "timeout"
    """No answer within the time limit."""


@dataclass(frozen=True)
class Result:
    """One backend's outcome in one case."""

    case: Case
    outcome: Outcome
    answers: tuple[str, ...]
    """The named answers that it equals: the rule's, or those of `Case.other_answers` that do; for a failure of a
    required case, all single faults that would show so. Empty where none does."""
    detail: str
    """What differs, or the backend's own words; empty for the rule's answer."""
    obtained: tuple[Array, ...] | None
    """The outputs, if there are any."""
    seconds: float

    @property
    def ours(self) -> bool:
        """Whether this is the rule's own answer."""
        return self.outcome is Outcome.PASS and not self.detail


def judge(case: Case, done: Execution, control: Execution | None = None) -> Result:
    """The result of a case; `control` is what the backend did with `case.control`, where there is one."""
    obtained = done.outputs if done.happened == "answered" else None

    def result(outcome: Outcome, detail: str, answers: tuple[str, ...] = ()) -> Result:
        return Result(case, outcome, answers, detail, obtained, done.seconds)

    if done.happened == "crashed":
        return result(Outcome.CRASH, done.text)
    if done.happened == "timed out":
        return result(Outcome.TIMEOUT, done.text)
    if obtained is None and control is not None and control.happened != "answered":
        # A backend that refuses the valid model too has not shown that it knows the difference.
        return result(Outcome.UNSUPPORTED, f"the valid control {control.happened}: {control.text}")
    if done.happened == "unsupported" and not case.refuses:
        return result(Outcome.UNSUPPORTED, done.text)
    if same(None if case.refuses else case.expected, obtained):
        return result(Outcome.PASS, "", case.rule_answers)
    detail = done.text if obtained is None else difference(case, obtained)
    answers = tuple(answer for answer, given in case.other_answers.items() if same(given, obtained))
    if answers and not case.required:
        return result(Outcome.PASS, detail, answers)
    if obtained is None:
        return result(Outcome.ERROR, detail, answers)
    if not answers and len(obtained) == len(case.outputs):
        answers = tuple(answer for answer, given in case.single_faults.items() if same(given, obtained))
    return result(Outcome.FAIL, detail, answers)


def difference(case: Case, obtained: tuple[Array, ...]) -> str:
    """How an answer differs from the rule's, in words."""
    if case.refuses:
        return "answered, where an error is expected"
    if len(obtained) != len(case.outputs):
        return f"{len(obtained)} outputs, expected {len(case.outputs)}"
    for name, expected, actual in zip(case.outputs, case.expected, obtained, strict=True):
        found = first_difference(expected, actual)
        if found is not None:
            return f"{name}: {found}"
    raise ValueError(f"{case.name}: the answer is the rule's")
