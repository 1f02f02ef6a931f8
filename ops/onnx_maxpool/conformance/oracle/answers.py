"""What backends answer: for each open question, and each fault seen or feared, the named answers.

The first answer to each question is the rule's; where that depends on the operator, `answers_of` knows. `Choices` give
some of the questions an answer: `{"rounding": "half to even"}`. `maximum` computes with any choices; cases name the
questions among whose answers a backend's is looked up.
"""

from __future__ import annotations

from collections.abc import Mapping

from onnx_maxpool.operators.registry import newest_version

Choices = Mapping[str, str]
"""Answers by question; a question that is not there has the rule's."""

REFUSED = "refused"
"""The answer of a backend that raises an error rather than give outputs."""

ANSWERS: dict[str, tuple[str, ...]] = {
    # ROIs
    "rounding": ("half away from zero", "half to even", "floor(x + 0.5)", "half toward zero", "floor", "truncation"),
    "product": ("product in the type's precision", "product in double", "product in float32"),
    "coordinates": ("coordinates as given", "coordinates cast to bfloat16", "coordinates cast to float16"),
    "order": ("x before y", "y before x"),
    "scale": ("scale applied", "scale ignored"),
    "corners": ("corners inclusive", "end corner exclusive"),
    "malformed": ("malformed ROI is one cell", "malformed ROI is empty", "malformed ROI is turned round", REFUSED),
    "edges": (
        *("edges in the type's precision", "exact integers", "float32 edges", "double edges"),
        "accumulated float32 edges",
    ),
    "start": ("start rounded down", "start rounded up", "start rounded to nearest"),
    "end": ("end rounded up", "end rounded down", "one cell too far"),
    "clipping": ("bins clipped to the map", "ROIs clipped to the map before they are cut", "clipped one cell short"),
    "empty": ("empty bin is 0", "empty bin is -inf", "empty bin is the lowest finite number"),
    "batch": (REFUSED, "batch modulo N", "nearest batch", "zeros for a wrong batch"),
    "nan batch": (REFUSED, "NaN batch is image 0"),
    "fractional batch": ("batch truncated", "batch rounded", REFUSED),
    "nan coordinate": (REFUSED, "NaN coordinate is 0", "NaN coordinate becomes the least int32"),
    "scale of 0": (REFUSED, "scale of 0 computed with"),
    "saturation": ("far coordinates saturate", REFUSED, "far coordinates wrap around 32 bits"),
    # sliding windows
    "padding": ("padding never wins", "padding is 0"),
    "count": ("output size rounded down", "output size rounded up"),
    "large padding": (REFUSED, "window of padding alone is the lowest", "window of padding alone is 0"),
    # adaptive windows
    "no cells": (REFUSED, "a window without cells is 0"),
    # the maximum
    "nan": ("NaN wins", "NaN ignored", "maximum restarts after a NaN", "NaN kept only if first"),
    "minimum": ("-inf is a value", "maximum starts at the lowest finite number", "maximum starts at 0"),
    "precision": ("values kept", "values through float32", "values through bfloat16", "values through double"),
    "result": ("result of the input's type", "result is float32"),
    # the index
    "tie": ("first of equals", "last of equals"),
    "nan index": ("first NaN", "last NaN"),
    "zeros": ("+0 equals -0", "+0 above -0"),
    "index scope": (
        *("numbered as the rule says", "numbered per channel", "numbered per image", "numbered in the whole input"),
        "column-major",
    ),
}
"""The questions, and the answers to each."""

EXACT_EDGES = ANSWERS["edges"][1:]
"""Where the rule is exact integers. A type's precision is then the same as one of the others."""


def answers_of(question: str, operator: str) -> tuple[str, ...]:
    """The answers to a question about an operator; the first is the rule's (M7). Raises KeyError for no such."""
    is_exact = question == "edges" and newest_version(operator).bin_edges != "onnx"
    return EXACT_EDGES if is_exact else ANSWERS[question]


OPEN: Mapping[str, tuple[str, ...]] = {
    "rounding": ("half to even", "floor(x + 0.5)", "half toward zero"),
    "product": ("product in double", "product in float32"),
    "malformed": ANSWERS["malformed"][1:],
    "edges": ANSWERS["edges"][1:],
    "nan batch": ANSWERS["nan batch"][1:],
    "fractional batch": ANSWERS["fractional batch"][1:],
    "nan coordinate": ANSWERS["nan coordinate"][1:],
    "scale of 0": ANSWERS["scale of 0"][1:],
    "saturation": ANSWERS["saturation"][1:],
    "large padding": ANSWERS["large padding"][1:],
    "no cells": ANSWERS["no cells"][1:],
    "nan": ANSWERS["nan"][1:],
    "nan index": ANSWERS["nan index"][1:],
    "zeros": ANSWERS["zeros"][1:],
}
"""The answers other than the rule's that the published texts allow: no required case turns on them."""

DECIDED_EDGES = ("RoiPooling", "AdaptiveMaxPool")
"""The operators whose texts say how edges are computed."""


def is_open(question: str, answer: str, operator: str) -> bool:
    """Whether the published texts allow this answer."""
    return answer in OPEN.get(question, ()) and not (question == "edges" and operator in DECIDED_EDGES)


RULES_OF: Mapping[str, str] = {
    **dict.fromkeys(("rounding", "product", "coordinates", "scale"), "M5"),
    **dict.fromkeys(("order", "corners"), "M4"),
    "malformed": "M6",
    **dict.fromkeys(("edges", "start", "end"), "M7"),
    "clipping": "M8",
    "empty": "M9",
    **dict.fromkeys(("batch", "nan batch", "fractional batch"), "M10"),
    **dict.fromkeys(("nan coordinate", "saturation"), "M11"),
    "scale of 0": "M3",
    "padding": "P4",
    "count": "P3",
    "large padding": "P2",
    "no cells": "A5",
    "nan": "G3",
    "minimum": "G2",
    **dict.fromkeys(("precision", "result"), "G6"),
    **dict.fromkeys(("tie", "nan index"), "G5"),
    "zeros": "G4",
    "index scope": "P5",
}
"""The rule that answers each question, where an operator has no other: `rule_of` knows."""


def rule_of(question: str, operator: str) -> str:
    """The rule that answers a question about an operator."""
    if newest_version(operator).plan == "adaptive":
        return {"edges": "A2", "start": "A2", "end": "A2", "index scope": "A3"}.get(question, RULES_OF[question])
    return RULES_OF[question]
