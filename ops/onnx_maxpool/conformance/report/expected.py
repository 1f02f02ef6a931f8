"""What is expected of a run, or came of an earlier one, and how a run compares with it.

The file of expected outcomes is text that a person can read, change and compare line by line:

```text
# onnx-maxpool 0.1.0, Python 3.11.7, onnx 1.23.2, numpy 2.4.6

[onnxruntime]
# onnxruntime 1.31.1, provider CPUExecutionProvider
max_roi_pool_1_minus_infinity  fail  maximum starts at the lowest finite number  # Y: 1 of 4 cells differ, ...
max_roi_pool_1_whole_map  pass
```

A line is a case, its outcome, and the named answers that were given in place of the rule's. What stands after ` # ` is
the reason in the backend's own words; it is not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.run.judge import Outcome, Result
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import InputError, printable


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


HEAD = """\
# What backends do in the conformance suite: onnx-maxpool conformance --expect compares a run with this file.
# A line is a case, its outcome, and the answers that have a name. Text after # is not compared.
"""

LONGEST_NOTE = 120

Lines = Mapping[str, Mapping[str, str]]
"""A file's lines, by backend and case."""


def read_expected(path: Path) -> Outcomes:
    """What a file expects. Raises InputError for a line that is none of its format, and OSError."""
    expected: dict[str, dict[str, Seen]] = {}
    for backend, lines in _read_lines(path).items():
        expected[backend] = {name: _seen(line) for name, line in lines.items()}
    return expected


def _read_lines(path: Path) -> dict[str, dict[str, str]]:
    lines: dict[str, dict[str, str]] = {}
    backend = None
    try:
        text = path.read_text(encoding="utf-8-sig")  # editors may put a mark there
    except UnicodeDecodeError:
        raise InputError(f"{path}: expected a text file that --save-expected wrote") from None
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        heading = stripped.partition(" # ")[0].rstrip()
        where = f"{path}, line {number}"
        if heading.startswith("[") and heading.endswith("]"):
            backend = heading[1:-1]
            lines.setdefault(backend, {})
            continue
        if backend is None:
            raise InputError(f"{where}: {_cut(stripped)!r} stands before the first backend, expected a line [BACKEND]")
        name = stripped.split()[0]
        if name in lines[backend]:
            raise InputError(f"{where}: case {name} stands twice for {backend}, expected once")
        try:
            _seen(stripped)
        except (ValueError, IndexError):
            outcomes = ", ".join(outcome.value for outcome in Outcome)
            raise InputError(f"{where}: {_cut(stripped)!r}, expected a case and one of {outcomes}") from None
        lines[backend][name] = stripped
    return lines


def _seen(line: str) -> Seen:
    """Raises ValueError and IndexError."""
    compared = line.partition(" # ")[0].split(None, 2)
    answers = tuple(compared[2].strip().split("; or ")) if len(compared) > 2 else ()
    return Seen(Outcome(compared[1]), answers)


def write_expected(path: Path, runs: Sequence[BackendRun]) -> None:
    """Write what runs came to.

    In a file that exists, lines stay for backends that did not run, and for cases of the suite that were not asked.
    Raises what `read_expected` raises, and OSError.
    """
    lines: dict[str, dict[str, str]] = {}
    if path.exists():
        known = {case.name for case in all_cases()}
        for backend, kept in _read_lines(path).items():
            lines[backend] = {name: line for name, line in kept.items() if name in known}
    notes = {}
    for run in runs:
        lines.setdefault(run.backend, {}).update((result.case.name, _line(result)) for result in run.results)
        notes[run.backend] = printable(", ".join(f"{name} {value}" for name, value in run.description.items()))
    parts = [HEAD + _versions(runs)]
    for backend in sorted(lines):
        head = [f"[{backend}]", *([f"# {notes[backend]}"] if notes.get(backend) else [])]
        parts.append("\n".join([*head, *(lines[backend][name] for name in sorted(lines[backend]))]) + "\n")
    path.write_text("\n".join(parts), encoding="utf-8")


def _line(result: Result) -> str:
    seen = Seen.of(result)
    parts = [result.case.name, seen.outcome.value]
    if seen.answers:
        parts.append("; or ".join(seen.answers))
    if result.outcome is not Outcome.PASS and result.detail:
        parts.append(f"# {_cut(' '.join(printable(result.detail).split()))}")
    return "  ".join(parts)


def _versions(runs: Iterable[BackendRun]) -> str:
    names = ("onnx-maxpool", "python", "onnx", "numpy")
    every = {", ".join(f"{name} {run.environment.get(name, '?')}" for name in names): None for run in runs}
    return "".join(f"# {versions}\n" for versions in every)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_NOTE else f"{text[:LONGEST_NOTE]}…"
