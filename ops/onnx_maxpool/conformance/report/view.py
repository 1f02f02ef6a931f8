"""What the reports show, in the reports' order: no markup."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.oracle.answers import ANSWERS, answers_of
from onnx_maxpool.conformance.run.judge import Outcome, Result
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.operators.rules import RULES

WORST_FIRST = (
    Outcome.CRASH,
    Outcome.TIMEOUT,
    Outcome.UNSTABLE,
    Outcome.FAIL,
    Outcome.ERROR,
    Outcome.UNSUPPORTED,
    Outcome.PASS,
)
STANDINGS = ("ours", "another answer", "no named answer", "not asked")
"""How a result of an implementation-defined case stands to the rule's answer."""


@dataclass(frozen=True)
class Tally:
    """What came of several cases of one backend."""

    counts: Counter[Outcome]
    open_counts: Counter[str]
    """Of the implementation-defined cases, by their `STANDINGS`."""

    @classmethod
    def of(cls, results: Sequence[Result]) -> Tally:
        """The tally of results."""
        required = Counter(result.outcome for result in results if result.case.required)
        standings = Counter(standing(result) for result in results if not result.case.required)
        return cls(required, Counter({name: standings[name] for name in STANDINGS if standings[name]}))

    @property
    def required(self) -> int:
        """How many required cases there are."""
        return sum(self.counts.values())

    @property
    def passed(self) -> int:
        """How many of them passed."""
        return self.counts[Outcome.PASS]

    @property
    def worst(self) -> Outcome | None:
        """The worst outcome of a required case; none where there is none."""
        return next((outcome for outcome in WORST_FIRST if self.counts[outcome]), None)


def standing(result: Result) -> str:
    """One of `STANDINGS`, for a result of an implementation-defined case."""
    if result.outcome is Outcome.PASS:
        return "ours" if result.ours else "another answer"
    return "no named answer" if result.outcome is Outcome.FAIL else "not asked"


OUTCOMES = {
    Outcome.PASS: "The rule's answer; where the texts leave the question open, any answer that has a name.",
    Outcome.FAIL: "Another answer.",
    Outcome.ERROR: "An error where there is an answer, or neither outputs nor an error where an error is expected.",
    Outcome.CRASH: "The process died, or took too much memory.",
    Outcome.TIMEOUT: "No answer within the time limit.",
    Outcome.UNSTABLE: "Another answer when the question was repeated. No name is given to what it may be.",
    Outcome.UNSUPPORTED: "The backend lacks the operator, the version or the type: the question was not asked.",
}
"""The legend."""


@dataclass(frozen=True)
class Row:
    """One row of the matrix: a rule, with a tally per backend."""

    rule: str
    text: str
    tallies: tuple[Tally, ...]


@dataclass(frozen=True)
class Block:
    """The matrix of one operator."""

    operator: str
    rows: tuple[Row, ...]


def matrix(runs: Sequence[BackendRun]) -> list[Block]:
    """Backends against rules, operator by operator; a case stands under the first rule that it cites."""
    blocks = []
    for operator in operators(runs):
        rows = []
        for rule in RULES:
            chosen = [[r for r in of_operator(run, operator) if r.case.rules[0] == rule] for run in runs]
            if any(chosen):
                rows.append(Row(rule, RULES[rule].text, tuple(map(Tally.of, chosen))))
        blocks.append(Block(operator, tuple(rows)))
    return blocks


def operators(runs: Sequence[BackendRun]) -> list[str]:
    """The operators that were asked about."""
    return list(dict.fromkeys(result.case.operator for run in runs for result in run.results))


def of_operator(run: BackendRun, operator: str) -> list[Result]:
    """One backend's results for an operator."""
    return [result for result in run.results if result.case.operator == operator]


@dataclass(frozen=True)
class Trait:
    """A backend's answer to one open question, as far as the cases show it."""

    question: str
    answers: tuple[str, ...]
    """Those that agree with every case that shows one; several where the cases do not tell them apart."""
    case: Case
    """The smallest case that shows it."""
    ours: bool
    """Whether the rule's answer is among them."""


def fingerprint(run: BackendRun, operator: str) -> list[Trait]:
    """What a backend answers to each question that the published texts leave open.

    Where no single answer explains all cases, `mixed` stands before those that were seen.
    """
    traits = []
    results = [r for r in of_operator(run, operator) if not r.case.required and r.outcome is Outcome.PASS]
    for question in ANSWERS:
        known = answers_of(question, operator)
        # A case that turns on a second question too says nothing about the first where the second explains the answer.
        first = [result for result in results if result.case.asks[:1] == (question,)]
        asked = [result for result in first if result.ours or set(result.answers) & set(known)]
        if not asked:
            continue
        given = [set(result.answers) & set(known) for result in asked]
        common = tuple(answer for answer in known if all(consistent(answer, result) for result in asked))
        answers = common or ("mixed", *sorted(set().union(*given)))
        telling = [result.case for result in asked if not result.ours] or [result.case for result in asked]
        traits.append(Trait(question, answers, min(telling, key=lambda case: case.cells), answers[0] == known[0]))
    return traits


def open_answers(runs: Sequence[BackendRun], operator: str) -> list[tuple[str, list[Trait | None]]]:
    """Every question about an operator with each backend's answer, None where the backend showed none."""
    prints = [{trait.question: trait for trait in fingerprint(run, operator)} for run in runs]
    asked = [question for question in ANSWERS if any(question in traits for traits in prints)]
    return [(question, [traits.get(question) for traits in prints]) for question in asked]


def consistent(answer: str, result: Result) -> bool:
    """Whether a backend that gives `answer` has this result: that answer's own, where it is not the rule's."""
    return answer in result.answers if answer in result.case.other_answers else result.ours


@dataclass(frozen=True)
class Divergence:
    """One thing that a backend does otherwise than required, with the smallest case that shows it."""

    result: Result
    others: int
    """How many more cases of the operator show it."""

    @property
    def what(self) -> str:
        """What may have been done, or else what differs."""
        if self.result.outcome is Outcome.UNSTABLE:
            return self.result.detail
        if self.result.answers:
            return "; or ".join(self.result.answers)
        if self.result.case.refuses and self.result.outcome is Outcome.FAIL:
            return f"answers; the question was: {self.result.case.question}"
        return self.result.detail


def differs(result: Result) -> bool:
    """Whether a backend does otherwise than required.

    What it does not support is no answer. A crash or a hang answers no question, open or not.
    """
    if result.outcome in (Outcome.PASS, Outcome.UNSUPPORTED):
        return False
    return result.case.required or result.outcome in (Outcome.CRASH, Outcome.TIMEOUT)


def divergences(run: BackendRun) -> Iterator[Divergence]:
    """What a backend does otherwise: one for each operator, rule and answer, then all that a search found.

    A search finds answers to open questions too.
    """
    found: dict[tuple[object, ...], list[Result]] = {}
    for result in filter(differs, run.results):
        key = (result.case.operator, result.outcome, result.case.rules[0], result.answers)
        found.setdefault(key, []).append(result)
    for results in found.values():
        smallest = min(results, key=lambda result: result.case.cells)
        yield Divergence(smallest, len(results) - 1)
    for result in run.search:
        if result.outcome is not Outcome.UNSUPPORTED:
            yield Divergence(result, 0)


@dataclass(frozen=True)
class Lacking:
    """What a backend does not support for one reason."""

    operator: str
    reason: str
    results: tuple[Result, ...]


def unsupported(run: BackendRun) -> list[Lacking]:
    """What a backend does not support, one for each operator and reason, the most cases first.

    Reasons that differ in numbers and in quoted names only are one; its text is the first case's.
    """
    found: dict[tuple[str, str], list[Result]] = {}
    for result in run.results:
        if result.outcome is Outcome.UNSUPPORTED:
            reason = re.sub(r"'[^']*'|\"[^\"]*\"|[0-9]+", "_", result.detail)
            found.setdefault((result.case.operator, reason), []).append(result)
    lacking = [Lacking(operator, results[0].detail, tuple(results)) for (operator, _), results in found.items()]
    return sorted(lacking, key=lambda item: (operators([run]).index(item.operator), -len(item.results)))


def worst_first(runs: Sequence[BackendRun]) -> list[tuple[BackendRun, Divergence]]:
    """Every divergence in listed cases: crashes first, then by rule and operator, so that neighbours are alike."""
    found = [(run, item) for run in runs for item in divergences(replace(run, search=()))]
    rules, names = list(RULES), operators(runs)

    def key(pair: tuple[BackendRun, Divergence]) -> tuple[int, ...]:
        result = pair[1].result
        place = rules.index(result.case.rules[0]), names.index(result.case.operator)
        return WORST_FIRST.index(result.outcome), *place

    return sorted(found, key=key)


@dataclass(frozen=True)
class CaseView:
    """A case with what each backend made of it; None where it was not asked."""

    case: Case
    results: tuple[Result | None, ...]

    @property
    def settled(self) -> bool:
        """Whether every answer is the rule's."""
        return all(result is None or result.ours for result in self.results)


def case_views(runs: Sequence[BackendRun]) -> list[CaseView]:
    """Every case that was asked, operator by operator and rule by rule."""
    asked: dict[str, Case] = {}
    by_name = []
    for run in runs:
        by_name.append({result.case.name: result for result in run.results})
        # A case that was asked in another operator's form is shown in its own.
        asked.update((result.case.name, result.case) for result in run.results if result.case.name not in asked)
    known = {case.name: case for case in all_cases()}
    rules, names = list(RULES), operators(runs)
    views = [CaseView(known.get(name, case), tuple(map(_getter(name), by_name))) for name, case in asked.items()]
    return sorted(views, key=lambda view: (names.index(view.case.operator), rules.index(view.case.rules[0])))


def _getter(name: str) -> Callable[[dict[str, Result]], Result | None]:
    return lambda results: results.get(name)
