"""Compare what a backend did with what a case expects."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from onnx_maxpool.conformance.case import Case, same
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.memory import limit_in
from onnx_maxpool.difference import first_difference
from onnx_maxpool.types import Array


class Outcome(str, Enum):
    """What came of a case. Only `PASS` is a pass."""

    PASS = "pass"
    """The rule's answer, or in an implementation-defined case any named one."""
    FAIL = "fail"
    """Another answer."""
    ERROR = "error"
    """An exception where there is an answer; or neither outputs nor an exception where there must be an exception."""
    UNSUPPORTED = "unsupported"
    """The backend does not have the operator, the version or the type: it was not put to the question."""
    CRASH = "crash"
    """The process died, or took too much memory."""
    TIMEOUT = "timeout"
    """No answer within the time limit."""
    UNSTABLE = "unstable"
    """Other answers to the same question when it was repeated, which is no answer."""


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
    repeats: int = 1
    """How often the case ran."""

    @property
    def ours(self) -> bool:
        """Whether this is the rule's own answer."""
        return self.outcome is Outcome.PASS and not self.detail


ON_CONTROL = "on the valid control: "
"""How the detail begins of what came of the control, and not of the case."""


def of_control(result: Result) -> bool:
    """Whether it is the control that ended the process, or hung."""
    return result.detail.startswith(ON_CONTROL)


def ending(result: Result) -> str:
    """The detail without how often that was, and without what it was of: what the process died of, of a crash."""
    return re.sub(rf"^([0-9]+ of [0-9]+ runs: |{ON_CONTROL})", "", result.detail)


def memory_limit_of(result: Result) -> float | None:
    """The bytes of memory that the process took more than, where it was ended for that."""
    return limit_in(result.detail) if result.outcome is Outcome.CRASH else None


def judge(case: Case, first: Execution, control: Execution | None = None, again: Sequence[Execution] = ()) -> Result:
    """The result of a case; `control` is what the backend did with `case.control`, where there is one.

    `again` is what came of it when it was repeated.
    """
    executions = [first, *again]
    done = worst(executions)
    obtained = done.outputs if done.happened == "answered" else None
    # A backend that gives nothing has not computed from what is wrong, and has not said that it is wrong.
    nothing = lacking(case, done) if case.refuses else ""
    seconds = max(each.seconds for each in executions)

    def result(outcome: Outcome, detail: str, answers: tuple[str, ...] = ()) -> Result:
        return Result(case, outcome, answers, detail, obtained, seconds, len(executions))

    if done.happened in ("crashed", "timed out"):
        times = sum(each.happened == done.happened for each in executions)
        often = f"{times} of {len(executions)} runs: " if times < len(executions) else ""
        return result(Outcome.CRASH if done.happened == "crashed" else Outcome.TIMEOUT, often + done.text)
    if not all(alike(first, each) for each in again):
        return result(Outcome.UNSTABLE, varied(case, executions))
    if obtained is None and control is not None and control.happened in ("crashed", "timed out"):
        outcome = Outcome.CRASH if control.happened == "crashed" else Outcome.TIMEOUT
        return result(outcome, ON_CONTROL + control.text)
    if (obtained is None or nothing) and case.control is not None and control is not None:
        # A backend that refuses the valid model too has not shown that it knows the difference.
        if control.happened != "answered":
            return result(Outcome.UNSUPPORTED, f"the valid control {control.happened}: {control.text}")
        if lacking(case.control, control):
            return result(Outcome.UNSUPPORTED, f"the valid control: {lacking(case.control, control)}")
    if nothing:
        return result(Outcome.ERROR, f"{nothing}, and no error")
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
        return counted(case, obtained)
    for name, expected, actual in zip(case.outputs, case.expected, obtained, strict=True):
        found = first_difference(expected, actual)
        if found is not None:
            return f"{name}: {found}"
    raise ValueError(f"{case.name}: the answer is the rule's")


def counted(case: Case, obtained: tuple[Array, ...]) -> str:
    """How many outputs there are, where that is another number than expected."""
    return f"{len(obtained)} output{'s' * (len(obtained) != 1)}, expected {len(case.outputs)}"


def lacking(case: Case, done: Execution) -> str:
    """What outputs lack to be an answer, right or wrong: their number, or that they are tensors; empty for nothing."""
    if done.happened != "answered":
        return ""
    if len(done.outputs) != len(case.outputs):
        return counted(case, done.outputs)
    objects = [name for name, y in zip(case.outputs, done.outputs, strict=True) if y.dtype.hasobject]
    return f"{objects[0]} is no tensor" if objects else ""


def worst(executions: Sequence[Execution]) -> Execution:
    """The execution that decides: a crash before a hang, and these before the first."""
    for happened in ("crashed", "timed out"):
        for execution in executions:
            if execution.happened == happened:
                return execution
    return executions[0]


def alike(one: Execution, other: Execution) -> bool:
    """Whether two executions are the same answer. The text of an error may differ."""
    return one.happened == other.happened and same(one.outputs, other.outputs)


def varied(case: Case, executions: Sequence[Execution]) -> str:
    """How often which answer came, in words."""
    kinds: list[list[Execution]] = []
    for execution in executions:
        found = next((kind for kind in kinds if alike(kind[0], execution)), None)
        if found is None:
            kinds.append([execution])
        else:
            found.append(execution)
    said = (f"{len(kind)} times {answer_in_brief(case, kind[0])}" for kind in kinds)
    return f"{len(kinds)} answers in {len(executions)} runs: {'; '.join(said)}".replace("1 times", "once")


def answer_in_brief(case: Case, execution: Execution) -> str:
    """An answer in a few words."""
    if execution.happened != "answered":
        return f"{execution.happened} {execution.text}"
    if case.refuses:
        values = [value for y in execution.outputs[:1] for value in y.ravel()[:4].tolist()]
        return lacking(case, execution) or (f"an answer that begins with {values}" if values else "an empty answer")
    return "the right answer" if same(case.expected, execution.outputs) else difference(case, execution.outputs)
