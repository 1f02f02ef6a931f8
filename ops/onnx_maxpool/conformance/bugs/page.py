"""A difference in words: what a tracker needs to know, ready to be pasted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from onnx import helper

from onnx_maxpool.conformance.bugs.derivation import derivation, listed_array, refusal
from onnx_maxpool.conformance.bugs.sources import in_its_words, rule_lines, standing
from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.run.judge import Outcome, Result, memory_limit_of
from onnx_maxpool.conformance.run.memory import GB
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.difference import first_difference
from onnx_maxpool.errors import printable


def title(backend: str, result: Result) -> str:
    """One line: what does what otherwise."""
    return f"{printable(backend)}: {result.case.form} {said(result)}"


def said(result: Result) -> str:
    """What a backend does, in a few words."""
    limit = memory_limit_of(result)
    if limit is not None:
        return f"takes more than {limit / GB:.3g} GB of memory"
    if result.outcome is Outcome.CRASH:
        return "ends the process"
    if result.outcome is Outcome.TIMEOUT:
        return "does not end"
    if result.outcome is Outcome.UNSTABLE:
        return "gives different answers to the same inputs"
    if result.case.refuses:
        nothing = result.outcome is Outcome.ERROR
        return "gives neither outputs nor an error" if nothing else "answers where an error is expected"
    if result.outcome is Outcome.ERROR:
        return "fails on a valid model"
    if result.answers == ("values through float32",) and result.case.inputs["X"].dtype == np.float64:
        return "accepts double and computes in float32"
    return f"differs: {'; or '.join(result.answers)}" if result.answers else given(result)


def given(result: Result) -> str:
    """What a backend gives in place of what, where no named answer explains it."""
    for expected, obtained in zip(result.case.expected, result.obtained or (), strict=False):
        found = first_difference(expected, obtained)
        if found is not None:
            what = "" if found.what == "cells" else f"{found.what} "
            return f"gives {what}{found.actual} for {found.expected}"
    return "gives other outputs"


def page(
    run: BackendRun, result: Result, program: str, script: str, *, again: bool = True, also: Sequence[Case] = ()
) -> str:
    """The page, in Markdown.

    `again` is whether it showed again where the case ran alone. `also` are further cases of which this is the smallest.
    """
    paragraphs = [_summary(result), *_reservations(result, again), *_further(also)]
    return "\n".join(_lines(run, result, program, script, paragraphs)) + "\n"


def _reservations(result: Result, again: bool) -> Iterator[str]:
    if not again and result.outcome is not Outcome.UNSTABLE:
        yield (
            "It did not show again where this case ran by itself, so the case is not reduced. It may depend on what "
            "the process ran before."
        )


def _further(also: Sequence[Case]) -> Iterator[str]:
    if also:
        yield f"The same shows in {', '.join(f'{case.name} ({case.rules[0]})' for case in also)}."


def _lines(run: BackendRun, result: Result, program: str, script: str, paragraphs: Sequence[str]) -> Iterator[str]:
    case = result.case
    yield f"# {title(run.backend, result)}"
    yield ""
    for paragraph in paragraphs:
        yield from wrapped(paragraph)
        yield ""
    about = {**run.description, **{k: v for k, v in run.environment.items() if k not in ("search", "date")}}
    yield "| | |"
    yield "|---|---|"
    yield f"| operator | {case.form}, asked by rule {', '.join(case.rules)} |"
    yield f"| ran on | {row(', '.join(f'{name} {value}' for name, value in about.items()))} |"
    if run.environment.get("date"):
        yield f"| date | {run.environment['date']} |"
    yield ""
    yield "## Inputs"
    yield ""
    (node,) = case.model().graph.node
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    yield f"Attributes of {node.op_type}: `{attributes}`"
    yield ""
    for name, array in case.inputs.items():
        yield f"- `{name}`: {_short(array)}"
    yield ""
    yield "## Expected and obtained"
    yield ""
    yield from _answers(result)
    yield ""
    yield "## Why"
    yield ""
    yield from _why(result)
    yield ""
    yield from rule_lines(case)
    yield ""
    yield "## A program that shows it"
    yield ""
    yield f"`python {program}` ends with exit code 1 where the difference shows."
    yield ""
    yield "```text"
    yield script.rstrip()
    yield "```"


def _summary(result: Result) -> str:
    case = result.case
    if memory_limit_of(result) is not None:
        return f"The model is small and what it asks is known, but the process {result.detail}."
    if result.outcome in (Outcome.CRASH, Outcome.TIMEOUT):
        return f"The model is small and what it asks is known, but the process ends or hangs: {result.detail}"
    if result.outcome is Outcome.UNSTABLE:
        return f"The same model and inputs gave {result.detail}"
    if case.refuses:
        does = "gives neither outputs nor an error" if result.outcome is Outcome.ERROR else "answers"
        expected = "It should fail with an error." if case.required else "By our rule it fails with an error."
        return f"{standing(case)} The backend {does}. {expected}"
    if result.outcome is Outcome.ERROR:
        valid = "The model is valid" if case.required else "By our rule the model is valid"
        return f"{standing(case)} {valid}, and the backend fails with an error."
    return f"{standing(case)} The backend gives another one: {result.detail}"


def _answers(result: Result) -> Iterator[str]:
    case = result.case
    if case.refuses:
        yield f"- expected: an error, such as `{in_its_words(case, refusal(case))}`"
    else:
        for name, array in zip(case.outputs, case.expected, strict=True):
            yield f"- expected `{name}`: {_short(array)}"
    if not result.obtained:
        yield f"- obtained: {row(result.detail)}"
        return
    for name, array in zip(case.outputs, result.obtained, strict=False):
        yield f"- obtained `{name}`: {_short(array)}"


def _why(result: Result) -> Iterator[str]:
    case = result.case
    if case.refuses:
        yield f"- {in_its_words(case, refusal(case))} ({', '.join(case.rules)})"
        return
    cell = None
    for expected, obtained in zip(case.expected, result.obtained or (), strict=False):
        found = first_difference(expected, obtained)
        if found is not None and found.index is not None:
            cell = tuple(int(i) for i in found.index)
            break
    if cell is None:
        cell = (0,) * case.expected[0].ndim
    if not case.expected[0].size:
        yield "- The output has no cell (G7)."
        return
    yield f"Output cell [{', '.join(map(str, cell))}], counted from 0:"
    yield ""
    for step in derivation(case, cell):
        yield f"- {step}"


def _short(array: object) -> str:
    text = listed_array(array)  # type: ignore[arg-type]
    return f"`{text}`" if len(text) <= 400 else f"`{text[:400]}` ... (whole in the program)"


def row(text: str) -> str:
    """A text that fits into a cell of a table."""
    return printable(text).replace("|", "\\|")


def wrapped(text: str) -> Iterator[str]:
    """Lines of a paragraph."""
    import textwrap

    yield from textwrap.wrap(printable(text), 118)
