"""Bug reports that are ready to be sent: for each divergence a folder with the smallest case that shows it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from onnx_maxpool.conformance.bugs.derivation import refusal
from onnx_maxpool.conformance.bugs.page import page, said, title
from onnx_maxpool.conformance.bugs.script import script
from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.reduction.reducer import Limits, reduce, same_kind
from onnx_maxpool.conformance.reduction.shown import Execute, Shown, put, without_numbers
from onnx_maxpool.conformance.report.view import divergences
from onnx_maxpool.conformance.run.judge import Outcome, Result, judge
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.operators.registry import snake_case

PAGE, PROGRAM = "README.md", "reproduce.py"


def write_bugs(
    folder: Path, run: BackendRun, execute: Execute, progress: Callable[[Result], None] = lambda result: None
) -> list[Path]:
    """Write a folder for each divergence of a run, and return these folders.

    `execute` gives a model and inputs to the run's backend. `progress` is called before each reduction. Raises OSError
    where a file cannot be written.
    """
    written: list[Path] = []
    for divergence in divergences(run):
        progress(divergence.result)
        result = smallest(divergence.result, execute)
        home = folder / unused(slug(run.backend, result), written)
        home.mkdir(parents=True, exist_ok=True)
        program = script(title(run.backend, result), run.backend, result)
        (home / PROGRAM).write_text(program, encoding="utf-8")
        (home / PAGE).write_text(page(run, result, PROGRAM, program), encoding="utf-8")
        written.append(home)
    return written


def smallest(result: Result, execute: Execute, limits: Limits | None = None) -> Result:
    """The result of the smallest case that shows the same; the result itself where it does not show again."""
    shown = put(execute, result.case)
    if shown is None or result.outcome is Outcome.UNSTABLE:
        return result
    answers = shown.explanations(shown.cells) if shown.cells else frozenset()
    alike = same_kind(shown.what, answers, shown.sort)
    reason = reason_of(shown.case)

    def is_same(found: Shown) -> bool:
        return alike(found) and reason_of(found.case) == reason

    found = reduce(execute, shown, is_same, limits or Limits(15.0))
    # The control is a case of its own, which stays as it was.
    reduced = replace(judge(found.case, found.done), case=found.case)
    if not found.case.refuses:
        return reduced
    # The smallest case may be one in which several answers look alike.
    kept = tuple(answer for answer in reduced.answers if answer in result.answers)
    return replace(reduced, answers=kept or (reduced.answers if len(reduced.answers) == 1 else ()))


def reason_of(case: Case) -> str:
    """Why the rules refuse a case, without its numbers; empty where they do not."""
    return without_numbers(refusal(case)) if case.refuses else ""


def slug(backend: str, result: Result) -> str:
    """`onnxruntime-max_roi_pool-g2-maximum-starts-at-the-lowest-finite-number`."""
    what = result.answers[0] if result.answers else said(result)
    words = re.sub(r"[^a-z0-9]+", "-", what.lower()).strip("-")[:48].strip("-")
    name = re.sub(r"[^A-Za-z0-9]+", "-", backend).strip("-")
    return f"{name}-{snake_case(result.case.operator)}-{result.case.rules[0].lower()}-{words}"


def unused(name: str, written: list[Path]) -> str:
    """The name, with a number where it is taken."""
    taken = {path.name for path in written}
    return next(n for n in (name, *(f"{name}-{i}" for i in range(2, 1000))) if n not in taken)
