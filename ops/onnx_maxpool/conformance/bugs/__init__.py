"""Bug reports that are ready to be sent: for each divergence a folder with the smallest case that shows it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from onnx_maxpool.conformance.bugs.again import about_control, claimed, shows_again
from onnx_maxpool.conformance.bugs.derivation import refusal
from onnx_maxpool.conformance.bugs.page import page, said, title
from onnx_maxpool.conformance.bugs.script import script
from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.reduction.reducer import Limits, digest, reduce, same_kind
from onnx_maxpool.conformance.reduction.shown import Execute, Shown, without_numbers
from onnx_maxpool.conformance.report.view import differs, divergences
from onnx_maxpool.conformance.run.judge import Result, judge
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.operators.registry import snake_case

PAGE, PROGRAM = "README.md", "reproduce.py"


@dataclass
class Bug:
    """What is reported of one divergence."""

    result: Result
    """Of the smallest case that shows it."""
    divergence: Result
    again: bool = True
    """Whether it showed again where the case ran alone."""
    also: list[Case] = field(default_factory=list)
    """Further cases of which the smallest is the same, and which show the same."""

    def same_case(self, other: Bug) -> bool:
        """Whether another one's smallest case is the same."""
        return digest(self.result.case) == digest(other.result.case)

    def same_difference(self, other: Bug) -> bool:
        """Whether the other's divergence is the same but for the rule that it breaks."""
        mine, theirs = claimed(self.divergence), claimed(other.divergence)
        if mine is None or theirs is None or self.divergence.answers != other.divergence.answers:
            return False
        return (mine.what, mine.sort) == (theirs.what, theirs.sort)


def write_bugs(
    folder: Path, run: BackendRun, execute: Execute, progress: Callable[[Result], None] = lambda result: None
) -> list[Path]:
    """Write a folder for each divergence of a run that is otherwise than required, and return these folders.

    Divergences that show the same in the same smallest case are one. `execute` gives a model and inputs to the run's
    backend. `progress` is called before each reduction. Raises OSError where a file cannot be written.
    """
    written: dict[Path, Bug] = {}
    for divergence in divergences(run):
        if not differs(divergence.result):  # a search found another answer to an open question
            continue
        progress(divergence.result)
        bug = bug_of(about_control(divergence.result), execute)
        alike = {home: other for home, other in written.items() if other.same_case(bug)}
        same = next((home for home, other in alike.items() if other.same_difference(bug)), None)
        if same is not None:
            written[same].also.append(divergence.result.case)
            write(same, run, written[same])
            continue
        if alike:  # the reduction went over to what is reported already
            bug = replace(bug, result=bug.divergence)
        home = folder / unused(slug(run.backend, bug.result), written)
        write(home, run, bug)
        written[home] = bug
    return list(written)


def write(home: Path, run: BackendRun, bug: Bug) -> None:
    """The page and the program of a bug."""
    home.mkdir(parents=True, exist_ok=True)
    program = script(title(run.backend, bug.result), run.backend, bug.result)
    (home / PROGRAM).write_text(program, encoding="utf-8")
    text = page(run, bug.result, PROGRAM, program, again=bug.again, also=bug.also)
    (home / PAGE).write_text(text, encoding="utf-8")


def bug_of(result: Result, execute: Execute, limits: Limits | None = None) -> Bug:
    """What is reported of a divergence: the result itself where it does not show again."""
    shown = shows_again(execute, result)
    if shown is None:
        return Bug(result, result, again=False)
    answers = shown.explanations(shown.cells) if shown.cells else frozenset()
    alike = same_kind(shown.what, answers, shown.sort)
    reason = reason_of(shown.case)

    def is_same(found: Shown) -> bool:
        return alike(found) and reason_of(found.case) == reason

    found = reduce(execute, shown, is_same, limits or Limits(15.0))
    # The control is a case of its own, which stays as it was.
    reduced = replace(judge(found.case, found.done), case=found.case)
    # The smallest case may be one in which several answers look alike.
    kept = tuple(answer for answer in reduced.answers if answer in result.answers)
    if found.case.refuses and not kept and len(reduced.answers) > 1:
        return Bug(replace(reduced, answers=()), result)
    reduced = replace(reduced, answers=kept or reduced.answers)
    return Bug(reduced, result)


def reason_of(case: Case) -> str:
    """Why the rules refuse a case, without its numbers; empty where they do not."""
    return without_numbers(refusal(case)) if case.refuses else ""


def slug(backend: str, result: Result) -> str:
    """`onnxruntime-max_roi_pool-g2-maximum-starts-at-the-lowest-finite-number`."""
    what = result.answers[0] if result.answers else said(result)
    words = re.sub(r"[^a-z0-9]+", "-", what.lower()).strip("-")[:48].strip("-")
    name = re.sub(r"[^A-Za-z0-9]+", "-", backend).strip("-")
    return f"{name}-{snake_case(result.case.operator)}-{result.case.rules[0].lower()}-{words}"


def unused(name: str, written: Iterable[Path]) -> str:
    """The name, with a number where it is taken."""
    taken = {path.name for path in written}
    return next(n for n in (name, *(f"{name}-{i}" for i in range(2, 1000))) if n not in taken)
