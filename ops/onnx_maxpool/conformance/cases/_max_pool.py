"""MaxPooling1's questions in ai.onnx's words: as MaxPool, for backends that have no operator of DirectML.

Both texts define the same windows, the same maximum, padding that takes no part in it, and an index that counts in the
whole input in row-major order (`storage_order` 0). They differ in the names of the attributes, in the index's type,
which is int64 in ai.onnx, in the element types, and in equal values: only DirectML's text says whose index it is.
MaxPool's `ceil_mode`, `dilations` and `auto_pad` have no counterpart, and keep their defaults.

Strides are written where MaxPooling1 leaves them out, so that a backend that needs them fails in the one case that asks
for their default.

Some backends have MaxPool without its second output. These are asked what is not about the index without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import onnx
from onnx import defs, helper, shape_inference

from onnx_maxpool.conformance.case import CannotAskError, Case, Outputs
from onnx_maxpool.conformance.cases._building import OURS
from onnx_maxpool.conformance.oracle.answers import Choices
from onnx_maxpool.conformance.oracle.maximum import Cells
from onnx_maxpool.facts import INDEX_ATTRIBUTE
from onnx_maxpool.graph.building import Declared, as_array, one_node
from onnx_maxpool.types import element_type

OPERATOR = "MaxPool"
OPSET = 12
"""The oldest with every element type that both operators have, so that most backends know it."""
SCHEMA = defs.get_schema(OPERATOR, OPSET)
TITLE = f"{OPERATOR}-{SCHEMA.since_version}"
OPEN = "tie"
"""The question that DirectML's text settles and ai.onnx's leaves open."""
OF_INDEX = ("G5", "P5")
"""The rules of the index."""


@dataclass(frozen=True, eq=False)
class AsMaxPool(Case):
    """A case of MaxPooling1, asked as MaxPool. Name, question, rules and answers are the same."""

    left_out: bool = False
    """Whether the case has an index that is not asked for."""

    @property
    def form(self) -> str:
        """MaxPool with its version."""
        return f"{TITLE} without Indices" if self.left_out else TITLE

    def _model(self, outputs: Mapping[str, Declared]) -> onnx.ModelProto:
        given = dict(self.attributes)
        window = given.pop("window_size", None)
        attributes = {"kernel_shape": window, "strides": given.pop("strides", None)}
        paddings = [given.pop(name, None) for name in ("start_padding", "end_padding")]
        if any(paddings):
            none = [0] * len(next(filter(None, paddings)))
            attributes["pads"] = [size for side in paddings for size in side or none]
        assert not given, given
        node = helper.make_node(OPERATOR, list(self.inputs), list(self.outputs), **attributes)
        values = {**{name: as_array(x) for name, x in self.inputs.items()}, **outputs}
        return one_node(node, values, {"": OPSET}, name=self.name)

    @cached_property
    def expected(self) -> Outputs:
        """The rule's outputs, the index as int64. Raises OperatorError where the rule rejects."""
        return with_index(Case(**_fields(self)).expected)

    def brute_force(self, choices: Choices, only: Cells | None = None) -> Outputs | None:
        """The outputs that these answers lead to, the index as int64; None where they reject."""
        outputs = super().brute_force(choices, only)
        return None if outputs is None else with_index(outputs)


def with_index(outputs: Outputs) -> Outputs:
    """Outputs with an index of MaxPool's type."""
    return (*outputs[:1], *(index.astype(np.int64) for index in outputs[1:]))


def with_default_strides(case: Case) -> AsMaxPool:
    """As `as_max_pool` does it, but without strides where the case has none: their default is what it asks about."""
    return as_max_pool(case)


@lru_cache(maxsize=256)  # so that cases that share a control go on to do so
def as_max_pool(case: Case) -> AsMaxPool:
    """A case of MaxPooling1 as MaxPool. Raises CannotAskError where ai.onnx has no words for it."""
    if INDEX_ATTRIBUTE in case.attributes:
        raise CannotAskError(f"{TITLE} has no {INDEX_ATTRIBUTE}: its index is int64")
    allowed = next(row.allowed_type_strs for row in SCHEMA.type_constraints if row.type_param_str == "T")
    for x in case.inputs.values():
        if f"tensor({element_type(x)})" not in allowed:
            raise CannotAskError(f"{TITLE} does not have the type {element_type(x)}")
    settled = {**_fields(case), "control": case.control and as_max_pool(case.control)}
    settled["restate"] = without_index if len(case.outputs) > 1 else None
    if case.restate is not with_default_strides:
        settled["attributes"] = {"strides": [1] * (case.inputs["X"].ndim - 2), **case.attributes}
    if case.asks[:1] == (OPEN,):
        settled["level"] = OURS
    asked = AsMaxPool(**settled)
    if case.refuses and case.required and not _rejected(asked):
        raise CannotAskError(f"ai.onnx does not say that {TITLE} rejects it")
    return asked


@lru_cache(maxsize=256)
def without_index(case: AsMaxPool) -> AsMaxPool:
    """The same without the second output. Raises CannotAskError where the question is about that."""
    if case.rules[0] in OF_INDEX:
        raise CannotAskError(f"{case.rules[0]} is about the index")
    control = case.control and without_index(case.control)
    asked = replace(case, outputs=case.outputs[:1], control=control, restate=None, left_out=True)
    if case.other_answers and not asked.other_answers:
        raise CannotAskError("its answers differ in the index only")
    return asked


def _rejected(case: AsMaxPool) -> bool:
    """Whether ONNX's own inference rejects the model: then ai.onnx settles it as DirectML does."""
    if 0 in case.attributes.get("strides", ()):
        return True  # ONNX before 1.22 divides by it, which ends the process
    model = case.model()
    for output in model.graph.output:
        output.ClearField("type")  # what is declared of a control's outputs does not fit
    try:
        shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    except shape_inference.InferenceError:
        return True
    return False


def _fields(case: Case) -> dict[str, Any]:
    return {field.name: getattr(case, field.name) for field in fields(Case)}
