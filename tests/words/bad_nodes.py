"""What is wrong with a node, and what must be said of it: what the rows of bad_inputs.py are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import numpy as np
from onnx import AttributeProto, helper, numpy_helper

from onnx_maxpool.types import Array


class Found(Enum):
    """When a bad input is found."""

    RUN = "run"
    """When the node runs."""
    MADE = "load"
    """When the model is loaded, by its check, and without that by the native library."""
    CHECKED = "check"
    """When the model is loaded, only by its check."""


Interface = Literal["native", "unchecked", "python", "reference", "functions", "command line"]

INTERFACES: Mapping[Interface, str] = {
    "native": "`onnx_maxpool.load(model)`",
    "unchecked": "`onnx_maxpool.load(model, check=False)`",
    "python": '`onnx_maxpool.load(model, implementation="python")`',
    "reference": "`onnx.reference` with `onnx_maxpool.reference_ops()`",
    "functions": "`onnx_maxpool.max_roi_pool` and the other functions on arrays",
    "command line": "`onnx-maxpool run`",
}

NO_SCHEMA = "ONNX Runtime has no schema to check these nodes with"
PYTHON_TYPES = "they convert numbers, and Python itself rejects unknown arguments"
OWN_WORDS = "onnx's evaluator has a message of its own"
OTHER_KERNELS = "ONNX Runtime runs a kernel of that type, or says itself that it finds none"
NUMPY_TYPE: Mapping[Interface, str] = {"functions": "they expect a NumPy type"}
GIGABYTES: Mapping[Interface, str] = {
    "python": "onnxruntime-extensions copies its inputs, and these are gigabytes",
    "command line": "it would read gigabytes from a file",
}


@dataclass(frozen=True)
class BadInput:
    """One thing that is wrong, in a node that is otherwise right."""

    operator: str
    what: str
    rule: str
    """In `onnx_maxpool.operators.rules`."""
    found: Found
    said: str
    """The whole message."""
    said_unchecked: str
    """The same, from the native library without the check, which may know less of what is wrong."""
    inputs: Mapping[str, Array]
    attributes: Mapping[str, Any]
    opset: int
    with_index: bool = False
    not_through: Mapping[Interface, str] = field(default_factory=dict)
    """The interfaces to which this does not come, and why."""

    @property
    def name(self) -> str:
        """For the test's name."""
        return f"{self.operator}, {self.what}"

    @property
    def interfaces(self) -> list[Interface]:
        """Those that must say it. What is found in a run, an unchecked session finds as any other does."""
        return [
            d for d in INTERFACES if d not in self.not_through and (d != "unchecked" or self.found is not Found.RUN)
        ]


@dataclass(frozen=True)
class Good:
    """A node that is right; a row changes one thing."""

    operator: str
    opset: int
    inputs: Mapping[str, Array]
    attributes: Mapping[str, Any]

    def bad(
        self,
        what: str,
        rule: str,
        words: str,
        *,
        found: Found | None = None,
        opset: int | None = None,
        inputs: Mapping[str, Array | None] | None = None,
        attributes: Mapping[str, Any] | None = None,
        with_index: bool = False,
        not_through: Mapping[Interface, str] | None = None,
        unchecked: str | None = None,
    ) -> BadInput:
        """The node with some inputs and attributes changed, or left out where they are None.

        Where nothing else is said, bad attributes are found when the kernel is made and bad inputs when it runs.
        """
        changed = {**self.inputs, **(inputs or {})}
        settings = {**self.attributes, **(attributes or {})}
        said = f"{self.operator}{words}" if words.startswith("-") else f"{self.operator}: {words}"
        return BadInput(
            operator=self.operator,
            what=what,
            rule=rule,
            found=found or (Found.RUN if inputs else Found.MADE),
            said=said,
            said_unchecked=said if unchecked is None else f"{self.operator}: {unchecked}",
            inputs={name: array for name, array in changed.items() if array is not None},
            attributes={name: value for name, value in settings.items() if value is not None},
            opset=self.opset if opset is None else opset,
            with_index=with_index,
            not_through=dict(not_through or {}),
        )

    def mistyped(self, name: str, value: Any, kind: str, expected: str, rule: str) -> BadInput:
        """An attribute of another type than the schema's."""
        words = f"attribute {name} is {kind}, expected {expected}"
        no_function = {"functions": PYTHON_TYPES}
        return self.bad(f"{name} of type {kind}", rule, words, attributes={name: value}, not_through=no_function)

    def untold(self, name: str, value: AttributeProto, expected: str, rule: str) -> BadInput:
        """An attribute of a type of which ONNX Runtime tells the native library only that it is another."""
        kind = AttributeProto.AttributeType.Name(value.type)
        return self.bad(
            f"{name} of type {kind}{'' if has_values(value) else ', empty'}",
            rule,
            f"attribute {name} is {kind}, expected {expected}",
            attributes={name: value},
            not_through={"functions": PYTHON_TYPES},
            unchecked=f"attribute {name} is empty or of another type, expected {expected}",
        )

    def empty(self, name: str, rule: str, words: str) -> BadInput:
        """A list of integers that has none."""
        return self.bad(
            f"{name} []",
            rule,
            f"{name} is [], {words}",
            attributes={name: []},
            unchecked=f"attribute {name} is empty or of another type, expected INTS",
        )

    def of_type(self, what: str, rule: str, words: str, **changes: Any) -> BadInput:
        """Inputs of element types that the version does not have."""
        not_through = {"unchecked": OTHER_KERNELS, **changes.pop("not_through", {})}
        return self.bad(what, rule, words, found=Found.CHECKED, not_through=not_through, **changes)

    def another_attribute(self, name: str, value: Any, rule: str, known: str) -> BadInput:
        """An attribute that the version does not have."""
        return self.bad(
            f"an attribute {name}",
            rule,
            f"-{self.opset}: attribute {name}, expected {known}",
            found=Found.CHECKED,
            attributes={name: value},
            not_through={"unchecked": NO_SCHEMA, "functions": PYTHON_TYPES},
        )

    def without(self, name: str, rule: str) -> BadInput:
        """A node without an attribute that it must have."""
        return self.bad(
            f"no {name}",
            rule,
            f"the required attribute {name} is missing",
            attributes={name: None},
            not_through={"reference": OWN_WORDS, "functions": PYTHON_TYPES},
        )

    def too_old(self, oldest: int) -> BadInput:
        """An opset before the operator's first."""
        return self.bad(
            f"opset {oldest - 1}",
            "",
            f"opset is {oldest - 1}, expected {oldest} or newer",
            found=Found.CHECKED,
            opset=oldest - 1,
            not_through={"unchecked": NO_SCHEMA, "functions": "they are of the newest version"},
        )

    def counted(self, wrong: str, count: int, expected: str) -> BadInput:
        """A node with too few inputs."""
        names = list(self.inputs)[:count]
        return self.bad(
            f"only {wrong}",
            "",
            f"-{self.opset}: the node has {count} input, expected {expected}",
            found=Found.CHECKED,
            inputs={name: None for name in self.inputs if name not in names},
            not_through={
                "unchecked": "ONNX Runtime has a message of its own",
                "reference": OWN_WORDS,
                "functions": PYTHON_TYPES,
            },
        )


def attribute(name: str, kind: str) -> AttributeProto:
    """Of a type that no number, list of numbers or text has; a list of numbers is empty."""
    tensor = numpy_helper.from_array(np.array(2, np.float32))
    values = {"TENSOR": tensor, "TENSORS": [tensor], "STRINGS": ["2"], "GRAPH": helper.make_graph([], "empty", [], [])}
    return helper.make_attribute(name, values.get(kind, []), attr_type=AttributeProto.AttributeType.Value(kind))


def has_values(attribute: AttributeProto) -> bool:
    return attribute.type not in (AttributeProto.FLOATS, AttributeProto.INTS)
