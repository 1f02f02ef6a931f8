"""What a search found: a reduced case, with the rule that it is about."""

from __future__ import annotations

from dataclasses import dataclass, replace

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.oracle.answers import is_open, rule_of
from onnx_maxpool.conformance.reduction.shown import Answer, Kind, Shown, other_answers
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import Result, judge


@dataclass
class Finding:
    """One kind of difference."""

    kind: Kind
    result: Result
    """Of the smallest case that shows it."""
    seconds: float
    """After how long it was seen first."""
    count: int = 1
    """How many drawn cases showed it."""

    def alike(self, other: Finding) -> bool:
        """Whether two reduced cases are of one shape: most likely the same cause, found twice."""
        mine, theirs = self.result.case, other.result.case
        return (self.kind.what, mine.attributes) == (other.kind.what, theirs.attributes) and [
            (a.shape, a.dtype) for a in mine.inputs.values()
        ] == [(a.shape, a.dtype) for a in theirs.inputs.values()]


def finding_of(shown: Shown, seen: float, number: int) -> Finding:
    """What is reported of a reduced case: the rule it is about, whether that is required, and who would answer so."""
    case = shown.case
    answers: frozenset[Answer] = frozenset()
    if shown.cells:
        answers = shown.explanations(shown.cells)
    elif shown.what in ("element type", "shape"):
        answers = shown.whole_explanations()
    allowed = {answer for answer in answers if is_allowed(case, answer)} or (
        set() if answers else open_questions(shown)
    )
    questions = sorted({question for question, _ in allowed or answers})
    named = replace(
        case,
        name=f"{case.name}_{number:02}",
        rules=tuple(dict.fromkeys(rule_of(question, case.operator) for question in questions)) or (usual_rule(shown),),
        asks=tuple(questions) or case.asks,
        level="implementation-defined" if allowed else "required",
    )
    return Finding(Kind(case.operator, shown.what, answers, shown.sort), judge(named, shown.done), seen)


def unstable(shown: Shown, again: Execution, seen: float, number: int) -> Finding:
    """What is reported of a case that gave something else when it was put once more: it cannot be reduced."""
    case = replace(shown.case, name=f"{shown.case.name}_{number:02}", rules=(usual_rule(shown),))
    return Finding(Kind(case.operator, "unstable"), judge(case, shown.done, again=[again]), seen)


def is_allowed(case: Case, answer: Answer) -> bool:
    """Whether the published texts allow an answer. ai.onnx's text on MaxPool does not say whose index a tie has."""
    question, name = answer
    return is_open(question, name, case.operator) or (case.restated and question == "tie")


def open_questions(shown: Shown) -> set[Answer]:
    """The answers that the texts allow and that show where it differs: what is expected there is not required."""
    case = shown.case
    if case.refuses:
        return {(question, "") for question in case.asks if question in ("nan coordinate", "nan batch")}
    return {answer for answer in other_answers(case.operator) if is_allowed(case, answer) and shown.changed_by(answer)}


def usual_rule(shown: Shown) -> str:
    """The rule that a difference breaks where no question is known."""
    if shown.case.refuses:
        return shown.case.rules[0]
    return {"indices": "G5", "element type": "G6"}.get(shown.what, "G2")
