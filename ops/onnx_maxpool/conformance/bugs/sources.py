"""What the published texts say of the rules that a case is about, in the words of the operator that was asked."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.operators.rules import RULES, Source

DOCUMENTS = {"": "ONNX", "directml": "DML", "org.openvinotoolkit": "OpenVINO"}
"""How the titles of a domain's documents begin."""

MAX_POOL = "[ONNX, MaxPool, version 12](https://github.com/onnx/onnx/blob/main/docs/Changelog.md#MaxPool-12)"
MAX_POOL_SAYS = {
    "G2": "The value is the maximum of the cells in the window.",
    "P1": "The input is (N, C, D1, D2, ...), and kernel_shape has one number for each spatial axis.",
    "P2": "kernel_shape is required. strides are 1 along each axis, and pads 0, if they are left out. pads are not "
    "negative.",
    "P3": "Without ceil_mode and dilations, an output has floor((size + pads - kernel) / stride + 1) cells along an "
    "axis.",
    "P4": "pads lie before the beginning and behind the end of each axis, and take no part in the maximum.",
    "P5": "Indices are int64. They count the cells of the whole input in row-major order, and pads are not counted.",
    "P6": "The types are float16, float, double, int8 and uint8.",
}
"""What ai.onnx's text says of MaxPooling1's rules, in short. Of the others it says nothing."""

IN_ONNX = {
    "MaxPooling1": "MaxPool",
    "window_size": "kernel_shape",
    "start_padding": "the pads at the beginning",
    "end_padding": "the pads at the end",
}
"""What a restated case calls MaxPooling1's attributes."""


def in_its_words(case: Case, text: str) -> str:
    """A text about an operator, with the names of the operator that was asked in its place."""
    if not case.restated:
        return text
    return re.sub("|".join(IN_ONNX), lambda found: IN_ONNX[found[0]], text)


def sources_of(rule: str, case: Case) -> list[Source]:
    """Where a text of the operator's own domain says it; where none does, what other texts say."""
    sources = [source for source in RULES[rule].sources if case.operator in RULES[rule].operators]
    return [s for s in sources if s.document.title.startswith(DOCUMENTS[case.version.domain])] or sources


def rule_lines(case: Case) -> Iterator[str]:
    """Each rule that a case is about, and what the texts say."""
    for rule in case.rules:
        if case.restated:
            yield from _of_max_pool(rule)
            continue
        yield f"- **{rule}** {RULES[rule].text}"
        for source in sources_of(rule, case):
            yield f'  - [{source.document.title}]({source.document.url}), {source.section}: "{source.quote}"'
        if RULES[rule].ours:
            start = "The texts do not say all of it." if case.required else "The texts leave this open."
            yield f"  - {start} {RULES[rule].ours}"


def _of_max_pool(rule: str) -> Iterator[str]:
    said = MAX_POOL_SAYS.get(rule)
    if said is not None:
        yield f"- **{rule}**, as MaxPool has it: {said}"
        yield f"  - {MAX_POOL}"
        return
    yield f"- **{rule}** {RULES[rule].text}"
    yield f"  - {MAX_POOL} does not say it."


def standing(case: Case) -> str:
    """What settles the answer, in a sentence: the texts, what is known beside them, or nothing."""
    if not case.required:
        return "The published text leaves the answer open."
    silent = case.rules[0] not in MAX_POOL_SAYS if case.restated else bool(RULES[case.rules[0]].ours)
    if silent:
        return "The published text does not say all of it. Where it is silent, what implementations do settles it."
    return "The published text settles the answer."
