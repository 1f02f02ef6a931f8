"""The hunt: draw, put to the backend, reduce what differs in a new way, and say which rule that is about."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import combinations

import hypothesis
from hypothesis import HealthCheck, Phase, given, settings

from onnx_maxpool.conformance.case import CannotAskError, Case
from onnx_maxpool.conformance.oracle.answers import is_open, rule_of
from onnx_maxpool.conformance.reduction.reducer import Clock, Limits, reduce, same_kind
from onnx_maxpool.conformance.reduction.shown import Answer, Cell, Execute, Kind, Shown, judged, other_answers
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import Result, judge
from onnx_maxpool.conformance.run.judge import alike as same_answer
from onnx_maxpool.conformance.search.strategies import TARGETS, Target, cases, smallest

MOST_ALIKE = 3
"""How many differences of one sort are reduced that no named answer explains. Further ones are counted."""

LONGEST_REDUCTION = 12.0
"""Seconds."""


@dataclass
class Search:
    """What a search has done so far."""

    seed: int
    cases: int = 0
    """How many cases were drawn and put to the backend."""
    unsupported: int = 0
    """How many of these it does not support."""
    seconds: float = 0.0
    findings: list[Finding] = field(default_factory=list)
    lacking: list[Target] = field(default_factory=list)
    """What the backend does not support, so that it was not asked."""


Progress = Callable[[Search], None]


class _OverError(BaseException):
    """The time is over. Not an Exception, which Hypothesis would take for a failed test."""


def search(
    execute: Execute,
    *,
    seconds: float,
    seed: int = 0,
    operators: Sequence[str] = (),
    progress: Progress | None = None,
    clock: Clock = time.monotonic,
) -> Search:
    """Search a backend for so many seconds; the same seed draws the same cases, in the same order.

    `execute` gives a model and inputs to the backend and never raises. `operators` are names; none are all. A `clock`
    that stands still leaves the end to `progress`, and reduces what is found as far as it gets.
    """
    with ThreadPoolExecutor(1) as thread:
        return _Hunt(execute, thread, seconds, seed, progress, clock).run(operators)


class _Hunt:
    def __init__(
        self,
        execute: Execute,
        thread: ThreadPoolExecutor,
        seconds: float,
        seed: int,
        progress: Progress | None,
        clock: Clock,
    ) -> None:
        self.execute = execute
        self.thread = thread
        self.clock = clock
        self.start = clock()
        self.seconds = seconds
        self.progress = progress
        self.done = Search(seed)
        self.running: tuple[Case, Future[Execution]] | None = None
        """The case that the backend is at, while the next one is drawn."""

    @property
    def elapsed(self) -> float:
        return self.clock() - self.start

    def run(self, operators: Sequence[str]) -> Search:
        wanted = [target for target in TARGETS if not operators or target.version.name in operators]
        targets = [found for target in wanted if (found := self.supported(target))]
        if targets:
            self.draw(targets)
        self.finish()
        return self.done

    def supported(self, target: Target) -> Target | None:
        """The target if the backend runs a small case of it; or in another operator's words, if it runs that."""
        if self.answers(target):
            return target
        other = replace(target, restated=True)
        with contextlib.suppress(CannotAskError):
            if target.version.plan == "sliding" and self.answers(other):
                return other
        self.done.lacking.append(target)
        return None

    def answers(self, target: Target) -> bool:
        """Whether there are outputs. A crash and the like is a finding; a type or an operator may be lacking."""
        case = smallest(target)
        done = self.execute(case.model(), case.inputs)
        if done.happened not in ("unsupported", "raised"):
            self.look_at(case, done)
        return done.happened == "answered"

    def draw(self, targets: Sequence[Target]) -> None:
        # The clock ends it, so that no number of examples does. What failed before must not come first: no database.
        @hypothesis.seed(self.done.seed)
        @settings(
            max_examples=10**9,
            deadline=None,
            database=None,
            phases=(Phase.generate,),
            suppress_health_check=list(HealthCheck),
        )
        @given(cases(targets))
        def some(drawn: Iterator[Case]) -> None:
            for case in drawn:
                if self.elapsed >= self.seconds:
                    raise _OverError
                self.put(case)

        with contextlib.suppress(_OverError):
            some()

    def put(self, case: Case) -> None:
        """Give a case to the backend, once it is done with the one before: that is looked at when it is done."""
        model = case.model()  # with the expected outputs: while the backend is at work
        self.finish()
        self.running = case, self.thread.submit(self.execute, model, case.inputs)

    def finish(self) -> None:
        """Look at the case that the backend is at."""
        if self.running is not None:
            (case, future), self.running = self.running, None
            self.look_at(case, future.result())

    def look_at(self, case: Case, done: Execution) -> None:
        """Say what is new in a case."""
        shown = judged(case, done)
        self.done.cases += 1
        self.done.unsupported += done.happened == "unsupported"
        if shown is not None:
            self.examine(shown)
        self.done.seconds = self.elapsed
        if self.progress is not None:
            self.progress(self.done)

    def examine(self, shown: Shown) -> None:
        """Reduce what is new in a case, and count what is not."""
        answers = self.unexplained(shown)
        if answers is None:
            return
        kind = Kind(shown.case.operator, shown.what, answers, shown.sort)
        alike = [found for found in self.done.findings if found.kind.same_cause(kind)]
        about_cells = shown.what in ("values", "indices")
        if len(alike) >= (MOST_ALIKE if about_cells and not answers else 1):
            alike[0].count += 1
            return
        seen = self.elapsed
        second = self.execute(shown.case.model(), shown.case.inputs)
        again = judged(shown.case, second)
        seconds = max(2.0, min(LONGEST_REDUCTION, (self.seconds - seen) / 3))
        is_same = same_kind(shown.what, answers, shown.sort)
        if again is None or not same_answer(shown.done, second):
            self.done.findings.append(unstable(shown, second, seen, len(self.done.findings) + 1))
            return
        smallest = reduce(self.execute, shown, is_same, Limits(seconds, clock=self.clock))
        self.add(finding_of(smallest, shown, seen, len(self.done.findings) + 1))

    def unexplained(self, shown: Shown) -> frozenset[Answer] | None:
        """The answers that explain the cells which none seen before explains; None where there are no such cells."""
        known = [found for found in self.done.findings if found.kind.operator == shown.case.operator]
        counted: set[int] = set()
        new = []
        for cell in shown.cells:
            explaining = [f for f in known if any(shown.explained_by(answer, [cell]) for answer in f.kind.answers)]
            counted.update(id(found) for found in explaining)
            if not explaining:
                new.append(cell)
        for found in known:
            found.count += id(found) in counted
        if not new:
            return None if shown.cells else frozenset()
        return shown.explanations(new) or together(shown, new) or shown.explanations(new[:1])

    def add(self, finding: Finding) -> None:
        """A finding of a reduced case, unless there is one of the same kind, or of the same case."""
        for other in self.done.findings:
            common = finding.kind.answers & other.kind.answers
            if finding.kind.operator == other.kind.operator and (common or finding.alike(other)):
                other.count += 1
                other.kind = replace(other.kind, answers=common)
                return
        self.done.findings.append(finding)


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


def finding_of(shown: Shown, drawn: Shown, seen: float, number: int) -> Finding:
    """What is reported of a reduced case: the rule it is about, whether that is required, and who would answer so.

    What two allowed answers explain together is allowed, if they explain the case that was drawn too.
    """
    case = shown.case
    answers: frozenset[Answer] = frozenset()
    if shown.cells:
        answers = shown.explanations(shown.cells)
        both = frozenset() if any(is_allowed(case, each) for each in answers) else together(shown, shown.cells)
        if both and drawn.explained_together(both, drawn.cells):
            answers = both
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


def together(shown: Shown, cells: Sequence[Cell]) -> frozenset[Answer]:
    """Two answers that the texts allow and that explain these cells together, as a backend may give both."""
    allowed = [answer for answer in other_answers(shown.case.operator) if is_allowed(shown.case, answer)]
    pairs = (pair for pair in combinations(allowed, 2) if pair[0][0] != pair[1][0])
    return frozenset(next((pair for pair in pairs if shown.explained_together(pair, cells)), ()))


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
