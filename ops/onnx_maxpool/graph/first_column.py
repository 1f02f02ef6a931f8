"""Where the first column of a list of ROIs comes from: a predictor writes batch numbers into it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from onnx_maxpool.graph.nodes import every_node, subgraphs
from onnx_maxpool.types import Array

SAME = {"Identity", "Cast", "CastLike", "Dropout"}
RESHAPING = {"Reshape", "Squeeze", "Unsqueeze", "Flatten"}
NEUTRAL = {"Mul": 1, "Div": 1, "Add": 0, "Sub": 0}
"""What changes nothing as the other operand; of Div and Sub, as the second."""


class FirstColumns:
    """Follows first columns through the operators that keep them, in a graph with inferred types."""

    def __init__(self, graph: onnx.GraphProto, inputs: Collection[str]) -> None:
        self._inputs = frozenset(inputs)
        nodes = list(every_node(graph.node))
        self._makers = {name: node for node in nodes for name in node.output if name}
        self._constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}
        self._constants |= {node.output[0]: _constant(node) for node in nodes if node.op_type == "Constant"}
        # Graphs beside each other may have values of the same name, which are not told apart here.
        made = Counter(name for node in nodes for name in node.output)
        self._ambiguous = {name for name, count in made.items() if count > 1}
        self._given = {value.name for value in graph.input} | self._constants.keys()
        values = (*graph.input, *graph.value_info, *graph.output)
        self._types = {value.name: value.type.tensor_type for value in values}

    def sources(self, name: str) -> set[str] | None:
        """The inputs whose first columns a value's first column consists of, or None where that is not known."""
        if name in self._inputs:
            return {name}
        if name in self._given:
            return set()
        node = self._makers.get(name)
        return None if node is None or name in self._ambiguous else self._through(node, name)

    def _through(self, node: onnx.NodeProto, name: str) -> set[str] | None:
        kind, inputs = node.op_type, list(node.input)
        if kind in SAME:
            return self.sources(inputs[0])
        if kind in RESHAPING:
            width = self._width(inputs[0])
            return self.sources(inputs[0]) if width and width == self._width(name) else None
        if kind == "Concat":
            return self.sources(inputs[0]) if self._is_of_columns(node, inputs[0]) else self._all(inputs)
        if kind == "Split":
            is_kept = not self._is_of_columns(node, inputs[0]) or name == node.output[0]
            return self.sources(inputs[0]) if is_kept else None
        if kind == "Gather":
            is_kept = not self._is_of_columns(node, inputs[0]) or _first(self._constants.get(inputs[1])) == 0
            return self.sources(inputs[0]) if is_kept else None
        if kind == "Slice":
            return self.sources(inputs[0]) if self._starts_at_first(node) else None
        if kind == "Where":
            return self._all(inputs[1:])
        if kind == "If":
            place = list(node.output).index(name)
            return self._all([graph.output[place].name for _, graph in subgraphs(node)])
        if kind in NEUTRAL:
            return self._beside_a_constant(node)
        return None

    def _all(self, names: Sequence[str]) -> set[str] | None:
        found: set[str] = set()
        for name in names:
            sources = self.sources(name)
            if sources is None:
                return None
            found |= sources
        return found

    def _beside_a_constant(self, node: onnx.NodeProto) -> set[str] | None:
        """A constant that leaves the first column as it is, for instance a scale of the boxes."""
        first, second = node.input
        if second not in self._constants and node.op_type in ("Mul", "Add"):
            first, second = second, first
        constant = self._constants.get(second)
        if constant is None or constant.size == 0:
            return None
        column = constant[..., 0] if constant.ndim else constant
        return self.sources(first) if np.all(column == NEUTRAL[node.op_type]) else None

    def _starts_at_first(self, node: onnx.NodeProto) -> bool:
        """Whether a Slice keeps the first column, if not all rows."""
        attributes = {each.name: helper.get_attribute_value(each) for each in node.attribute}

        def given(place: int, name: str, default: Any) -> Any:
            read = node.input[place] if place < len(node.input) else ""
            return (
                np.ravel(self._constants[read]).tolist() if read in self._constants else attributes.get(name, default)
            )

        rank = self._rank(node.input[0])
        starts = given(1, "starts", None)
        axes = given(3, "axes", None if len(node.input) > 3 and node.input[3] else list(range(len(starts or ()))))
        if axes is None or (starts is None and len(axes) != 1):
            return False
        if not any(axis in (-1, rank - 1) for axis in axes):
            return True
        steps = given(4, "steps", None if len(node.input) > 4 and node.input[4] else [1] * len(axes))
        if starts is None or steps is None:
            return False
        columns = [(starts[i], steps[i]) for i, axis in enumerate(axes) if axis in (-1, rank - 1)]
        return all(start == 0 and step > 0 for start, step in columns)

    def _is_of_columns(self, node: onnx.NodeProto, read: str) -> bool:
        axis = next((each.i for each in node.attribute if each.name == "axis"), 0)
        return axis in (-1, self._rank(read) - 1)

    def _rank(self, name: str) -> int:
        kind = self._types.get(name)
        return len(kind.shape.dim) if kind is not None and kind.HasField("shape") else 2

    def _width(self, name: str) -> int:
        """How many columns a value has; 0 where that is not known."""
        kind = self._types.get(name)
        return int(kind.shape.dim[-1].dim_value) if kind is not None and len(kind.shape.dim) else 0


def _constant(node: onnx.NodeProto) -> Array:
    """The value of a Constant; an empty one where it is no tensor of numbers."""
    (attribute,) = node.attribute
    value = helper.get_attribute_value(attribute)
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if attribute.name.startswith(("value_int", "value_float")) else np.empty(0)


def _first(values: Array | None) -> int | None:
    return int(values.flat[0]) if values is not None and values.size else None
