"""What a backend did otherwise in a case, and which named answers explain it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx

from onnx_maxpool.conformance.case import Case, Outputs, same
from onnx_maxpool.conformance.oracle.answers import ANSWERS, REFUSED, answers_of
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import lacking
from onnx_maxpool.difference import differing_cells
from onnx_maxpool.errors import OperatorError
from onnx_maxpool.types import Array

Execute = Callable[[onnx.ModelProto, Mapping[str, Array]], Execution]

Cell = tuple[int, ...]
"""Of the outputs."""

Answer = tuple[str, str]
"""A question and a named answer to it."""


@dataclass(frozen=True)
class Kind:
    """A kind of difference: two cases that show the same kind may well have the same cause."""

    operator: str
    what: str
    """`values`, `indices`, `shape` and so on; of an error its text without numbers, of a crash its signal."""
    answers: frozenset[Answer] = frozenset()
    """The named answers that explain it, any one of them; none where none does."""
    sort: str = ""
    """What a cell has in place of what, where no named answer explains it."""

    def same_cause(self, other: Kind) -> bool:
        """Whether another difference may have the same cause: one named answer explains both, or the same differs."""
        if self.operator != other.operator:
            return False
        if self.answers or other.answers:
            return bool(self.answers & other.answers)
        return (self.what, self.sort) == (other.what, other.sort)


@dataclass(frozen=True)
class Shown:
    """A case, and what a backend did with it that is not what the rules say."""

    case: Case
    done: Execution
    what: str

    @cached_property
    def cells(self) -> list[Cell]:
        """Cells that differ, some of them, spread over the outputs; none where it is not about cells."""
        if self.case.refuses or self.done.happened != "answered" or self.what not in ("values", "indices"):
            return []
        pairs = zip(self.case.expected, self.done.outputs, strict=True)
        differs = np.logical_or.reduce([differing_cells(a, b) for a, b in pairs])
        places = np.flatnonzero(differs)
        chosen = places[np.linspace(0, len(places) - 1, min(len(places), MOST_CELLS)).astype(int)]
        return [tuple(int(i) for i in np.unravel_index(place, differs.shape)) for place in chosen]

    @property
    def first_cell(self) -> Cell | None:
        """The first cell that differs; None where it is not about cells."""
        return self.cells[0] if self.cells else None

    def explained_by(self, answer: Answer, cells: Iterable[Cell]) -> bool:
        """Whether a backend that is right but for this answer gives what was obtained in these cells."""
        return self.explained_together([answer], cells)

    def explained_together(self, answers: Iterable[Answer], cells: Iterable[Cell]) -> bool:
        """The same of a backend that gives several such answers."""
        only = list(cells)
        given = self.case.brute_force(dict(answers), only)
        return same(_at(given, only), _at(self.done.outputs, only))

    def changed_by(self, answer: Answer) -> bool:
        """Whether this answer would change any of the cells that differ."""
        if not self.cells:
            return False
        given = self.case.brute_force(dict([answer]), self.cells)
        return not same(_at(given, self.cells), _at(self.case.expected, self.cells))

    def explanations(self, cells: Iterable[Cell]) -> frozenset[Answer]:
        """All answers that explain these cells."""
        only = list(cells)
        return frozenset(answer for answer in other_answers(self.case.operator) if self.explained_by(answer, only))

    def whole_explanations(self) -> frozenset[Answer]:
        """All answers that explain the whole outputs, their types and shapes too. For small cases."""
        return frozenset(
            (question, answer)
            for question, answer in other_answers(self.case.operator)
            if same(self.case.brute_force({question: answer}), self.done.outputs)
        )

    @property
    def sort(self) -> str:
        """What the first cell that differs has in place of what, roughly."""
        if self.first_cell is None:
            return ""
        output = self.what == "indices"
        expected, obtained = (y[output][self.first_cell] for y in (self.case.expected, self.done.outputs))
        if np.isfinite(float(expected)) and np.isfinite(float(obtained)):
            # What makes numbers greater is seldom what makes others less.
            return "a greater number" if obtained > expected else "a smaller number"
        return f"{_sort(obtained)} for {_sort(expected)}"


def _sort(number: Any) -> str:
    value = float(number)
    return "a number" if np.isfinite(value) else str(value)


MOST_CELLS = 8
"""How many cells are looked at where an answer is looked for."""


def other_answers(operator: str) -> list[Answer]:
    """Every answer that is not the rule's, but for refusals: brute force takes only what is valid."""
    return [(q, a) for q in ANSWERS for a in answers_of(q, operator)[1:] if a != REFUSED]


def _at(outputs: Outputs | None, cells: Sequence[Cell]) -> Outputs | None:
    """Some cells of outputs. Where an answer leads to another shape, that is all that there is to compare."""
    if outputs is None or not all(all(i < n for i, n in zip(c, y.shape, strict=True)) for c in cells for y in outputs):
        return None
    where = tuple(np.array(cells).T)
    return tuple(output[where] for output in outputs)


def put(execute: Execute, case: Case) -> Shown | None:
    """Put a case to a backend: what it does otherwise, None where it is right.

    None too where the case is not one: the rules refuse what should be valid, or the other way round.
    """
    try:
        case.expected  # noqa: B018
        refused = False
    except OperatorError:
        refused = True
    return judged(case, execute(case.model(), case.inputs)) if refused is case.refuses else None


def judged(case: Case, done: Execution) -> Shown | None:
    """What a backend did otherwise; None where it is right, or does not support it."""
    what = difference_of(case, done)
    return None if what is None else Shown(case, done, what)


def difference_of(case: Case, done: Execution) -> str | None:
    """What differs, in a few words; None where the answer is the rule's, or the backend was not put to the question."""
    if done.happened == "unsupported":
        return None
    if done.happened == "timed out":
        return done.happened
    if done.happened == "crashed":  # by another signal it is another fault
        return f"crashed: {done.text.partition(':')[0]}"
    if done.happened != "answered":
        return None if case.refuses else f"{done.happened}: {without_numbers(done.text)}"
    if case.refuses:
        return "neither outputs nor an error" if lacking(case, done) else "answers where an error is expected"
    expected, obtained = case.expected, done.outputs
    if len(expected) != len(obtained):
        return "number of outputs"
    for a, b in zip(expected, obtained, strict=True):
        if a.dtype != b.dtype:
            return "element type"
        if a.shape != b.shape:
            return "shape"
    differs = [bool(differing_cells(a, b).any()) for a, b in zip(expected, obtained, strict=True)]
    if not any(differs):
        return None
    return "values" if differs[0] else "indices"


def without_numbers(text: str) -> str:
    """An error's text, by which two of one kind are known."""
    return re.sub(r"[0-9]+|0x[0-9a-f]+|'[^']*'", "#", text)[:120]
