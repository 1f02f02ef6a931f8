"""How a run compares with what was expected, or with an earlier run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.run.judge import Outcome, Result
from onnx_maxpool.conformance.run.runner import BackendRun


@dataclass(frozen=True)
class Seen:
    """What came of a case before, or what is expected."""

    outcome: Outcome
    answers: tuple[str, ...]
    """The named answers. They are part of what is compared; a backend's own text is not, as it varies."""

    @classmethod
    def of(cls, result: Result) -> Seen:
        """A result, as it is compared: the rule's own answer has no name here."""
        return cls(result.outcome, () if result.ours else result.answers)

    def __str__(self) -> str:
        named = f", {'; or '.join(self.answers)}" if self.answers else ""
        return f"{self.outcome.value}{named}"


Outcomes = Mapping[str, Mapping[str, Seen]]
"""What came of cases, by backend and case."""


class Kind(str, Enum):
    """What is different."""

    FAILS = "new failure"
    """It passed."""
    PASSES = "unexpectedly passed"
    """It did not pass."""
    CHANGED = "changed"
    """Another outcome that is no pass, or another named answer."""
    NEW = "new case"
    """The suite has a case that was not asked before."""
    GONE = "case gone"
    """The suite no longer has the case."""


@dataclass(frozen=True)
class Change:
    """One difference."""

    backend: str
    case: str
    kind: Kind
    before: Seen | None
    """None for a new case."""
    now: Seen | None
    """None for a case that is gone."""
    result: Result | None = None
    """Where it was asked."""


def changes(run: BackendRun, before: Mapping[str, Seen]) -> list[Change]:
    """What is different in a run, worst first. A case that the suite has and the run did not ask is not compared."""
    found = []
    for result in run.results:
        name, now = result.case.name, Seen.of(result)
        then = before.get(name)
        if then != now:
            found.append(Change(run.backend, name, _kind(then, now), then, now, result))
    known = {case.name for case in all_cases()}
    found += [Change(run.backend, name, Kind.GONE, seen, None) for name, seen in before.items() if name not in known]
    return sorted(found, key=lambda change: (list(Kind).index(change.kind), change.case))


def _kind(then: Seen | None, now: Seen) -> Kind:
    if then is None:
        return Kind.NEW
    passed, passes = then.outcome is Outcome.PASS, now.outcome is Outcome.PASS
    if passed == passes:
        return Kind.CHANGED
    return Kind.PASSES if passes else Kind.FAILS


def all_changes(runs: Sequence[BackendRun], before: Outcomes) -> list[Change]:
    """What is different in runs of backends that were asked before too."""
    return [change for run in runs if run.backend in before for change in changes(run, before[run.backend])]
