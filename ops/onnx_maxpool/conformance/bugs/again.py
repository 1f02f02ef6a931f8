"""Whether what a run has shown shows again, where the case runs alone."""

from __future__ import annotations

from dataclasses import replace

from onnx_maxpool.conformance.reduction.shown import Execute, Shown, judged, put
from onnx_maxpool.conformance.run.execution import Execution, Happened
from onnx_maxpool.conformance.run.judge import Outcome, Result, ending, of_control

TRIES = 5
"""How often a case runs alone until it shows the same: what reads out of bounds may do so now and then."""

HAPPENED: dict[Outcome, Happened] = {
    Outcome.CRASH: "crashed",
    Outcome.TIMEOUT: "timed out",
    Outcome.FAIL: "answered",
}


def claimed(result: Result) -> Shown | None:
    """What a result says that the backend did otherwise; None of an unstable one, which says several things."""
    if result.outcome is Outcome.UNSTABLE:
        return None
    outputs = result.obtained
    happened = HAPPENED.get(result.outcome, "raised" if outputs is None else "answered")
    return judged(result.case, Execution(happened, outputs or (), ending(result)))


def shows_again(execute: Execute, result: Result) -> Shown | None:
    """The same difference in a run of its own; None where none of `TRIES` runs shows it."""
    claim = claimed(result)
    if claim is None:
        return None
    for _ in range(TRIES):
        shown = put(execute, result.case)
        if shown is not None and (shown.what, shown.sort) == (claim.what, claim.sort):
            return shown
    return None


def about_control(result: Result) -> Result:
    """Where the valid control ends the process or hangs, a result of the control: its model is what shows it."""
    control = result.case.control
    if control is None or not of_control(result):
        return result
    name, question = f"{result.case.name}_control", "Does the valid model run?"
    case = replace(control, name=name, question=question, rules=control.rules)
    return replace(result, case=case, detail=ending(result), repeats=1)
