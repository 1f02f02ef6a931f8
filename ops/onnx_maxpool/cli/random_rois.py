"""Random ROIs that the operators of a model accept: which inputs hold them, and within which limits."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import onnx

from onnx_maxpool.adapters.collation import most_images
from onnx_maxpool.adapters.portable.constants import initializers, with_nodes
from onnx_maxpool.errors import InputError
from onnx_maxpool.graph.nodes import OperatorNode, canonical_domain, every_node, operator_nodes
from onnx_maxpool.operators.registry import newest_version
from onnx_maxpool.operators.schemas import dims_of
from onnx_maxpool.types import Array, dtype_of, type_name

ROI_COLUMNS = 5
"""Batch number, x1, y1, x2, y2."""
PASSING = ("Cast", "Identity", "Reshape", "Squeeze", "Unsqueeze", "Flatten")
"""Operators whose output has the numbers of their first input."""
ARITHMETIC = ("Add", "Sub", "Mul", "Div")


@dataclass(frozen=True)
class Limits:
    """What random ROIs must keep to: the bounds of the smallest feature map that they are pooled from."""

    batches: int
    width: float
    """The largest x, in the ROIs' own coordinates."""
    height: float

    def within(self, other: Limits) -> Limits:
        """The stricter of two."""
        batches = min(self.batches, other.batches)
        return Limits(batches, min(self.width, other.width), min(self.height, other.height))


@dataclass(frozen=True)
class Column:
    """A column of a tensor: `scale * value + offset` is a column of ROIs."""

    of: int
    scale: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class RoiInput:
    """An input that holds ROIs, or some of their columns."""

    columns: tuple[Column, ...]
    """What its last dimension has; one column may have any shape."""
    limits: Limits

    def fits(self, shape: tuple[int, ...]) -> bool:
        """Whether ROIs can be drawn in that shape."""
        return len(self.columns) == 1 or shape[-1:] == (len(self.columns),)

    def draw(self, random: np.random.Generator, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
        """Numbers that `dtype` holds, in a shape that fits."""
        limits_of: Callable[[Any], Any] = np.iinfo if dtype.kind in "iu" else ml_dtypes.finfo  # which knows bfloat16
        most, least = float(limits_of(dtype).max), float(limits_of(dtype).min)
        count = math.prod(shape) // len(self.columns)
        batches = random.integers(0, max(min(self.limits.batches, most_images(dtype)), 1), (count, 1))
        largest = np.minimum([self.limits.width, self.limits.height], most)
        corners = np.sort(random.uniform(0, 1, (count, 2, 2)) * largest, axis=1)
        rois = np.concatenate([batches, corners.reshape(count, 4)], axis=1)
        columns = [(rois[:, column.of] - column.offset) / column.scale for column in self.columns]
        return np.clip(np.stack(columns, axis=1), least, most).astype(dtype).reshape(shape)


def roi_inputs(inferred: Iterable[onnx.ModelProto], drawn: Collection[str]) -> dict[str, RoiInput]:
    """The inputs among `drawn` from which some operator's `rois` come, in any of the models.

    They may be cast, reshaped, joined and scaled on the way: all that `_sources` follows. The models have types and
    shapes. Raises InputError for ROIs on a feature map of unknown shape.
    """
    found: dict[str, RoiInput] = {}
    for model in inferred:
        for name, each in _of_nodes(model, drawn):
            before = found.get(name, each)
            found[name] = RoiInput(before.columns, each.limits.within(before.limits))
    return found


def nodes_planned(model: onnx.ModelProto, plan: str) -> Iterator[OperatorNode]:
    """The nodes of our operators whose windows are planned so."""
    return (found for found in operator_nodes(model) if newest_version(found.node.op_type).plan == plan)


def _of_nodes(model: onnx.ModelProto, drawn: Collection[str]) -> Iterator[tuple[str, RoiInput]]:
    makers = {name: node for node in every_node(model.graph.node) for name in node.output}
    constants = with_nodes(initializers(model.graph, model.ir_version), model.graph)
    whole = tuple(Column(i) for i in range(ROI_COLUMNS))
    for found in nodes_planned(model, "roi"):
        graph = _Graph(makers, found.types, constants)
        for rois in found.node.input[1:2]:
            for name, columns in graph.sources(rois, whole):
                if name in drawn:
                    yield name, RoiInput(columns, _limits(found, name))


def _limits(found: OperatorNode, rois: str) -> Limits:
    node, types = found.node, found.types
    x = node.input[0]
    dims = dims_of(types[x]) or () if x in types else ()
    sizes = [dim for axis, dim in enumerate(dims) if axis != 1 and isinstance(dim, int)]
    if len(dims) != 4 or len(sizes) != 3:
        raise InputError(
            f"input {rois!r} contains ROIs for {x!r}, whose shape is not known: give {rois!r} with --input"
        )
    scale = next((a.f for a in node.attribute if a.name == "spatial_scale"), 1.0)
    batches, height, width = sizes
    batches = min(batches, most_images(dtype_of(type_name(types[x].elem_type))))
    return Limits(batches, max(width - 1, 0) / scale, max(height - 1, 0) / scale)


@dataclass(frozen=True)
class _Graph:
    """What the nodes around an operator tell of the values that ROIs come from."""

    makers: Mapping[str, onnx.NodeProto]
    types: Mapping[str, onnx.TypeProto.Tensor]
    constants: Mapping[str, Array]

    def sources(
        self, value: str, columns: tuple[Column, ...], seen: frozenset[str] = frozenset()
    ) -> Iterator[tuple[str, tuple[Column, ...]]]:
        """The values that a value with these columns of ROIs has its numbers from, each with its own columns.

        `seen` are the values behind this one: graphs beside each other may have values of the same name.
        """
        maker = self.makers.get(value)
        if maker is None or value in seen:
            yield value, columns
            return
        if canonical_domain(maker.domain) == "" and maker.input:
            for name, each in self._through(maker, columns):
                yield from self.sources(name, each, seen | {value})

    def _through(self, node: onnx.NodeProto, columns: tuple[Column, ...]) -> Iterator[tuple[str, tuple[Column, ...]]]:
        if node.op_type in PASSING or self._takes_rows(node):
            yield node.input[0], columns
        elif node.op_type == "Concat":
            yield from self._parts(node, columns)
        elif node.op_type in ARITHMETIC:
            yield from self._beside_a_constant(node, columns)

    def _parts(self, node: onnx.NodeProto, columns: tuple[Column, ...]) -> Iterator[tuple[str, tuple[Column, ...]]]:
        """Of a Concat: rows, or columns side by side."""
        if not self._is_last(_axis(node), node.output[0]):
            yield from ((name, columns) for name in node.input)
            return
        widths = [self._width(name) for name in node.input]
        if 0 in widths or sum(widths) != len(columns):
            return
        start = 0
        for name, width in zip(node.input, widths, strict=True):
            yield name, columns[start : start + width]
            start += width

    def _beside_a_constant(
        self, node: onnx.NodeProto, columns: tuple[Column, ...]
    ) -> Iterator[tuple[str, tuple[Column, ...]]]:
        """What a constant scales or shifts, each column by its own number or all by one."""
        first, second = node.input
        if second not in self.constants and node.op_type in ("Add", "Mul"):
            first, second = second, first
        constant = self.constants.get(second)
        if constant is None or constant.shape not in ((), (1,), (len(columns),), (1, len(columns))):
            return
        numbers = np.broadcast_to(constant.astype(np.float64).ravel(), len(columns)).tolist()
        if node.op_type in ("Mul", "Div") and 0 in numbers:
            return
        yield first, tuple(_undone(node.op_type, *pair) for pair in zip(columns, numbers, strict=True))

    def _takes_rows(self, node: onnx.NodeProto) -> bool:
        """Whether a node selects rows, with all their columns."""
        if node.op_type == "Gather":
            return not self._is_last(_axis(node), node.input[0])
        return node.op_type == "Slice" and self._width(node.input[0]) == self._width(node.output[0]) != 0

    def _is_last(self, axis: int, value: str) -> bool:
        dims = dims_of(self.types[value]) if value in self.types else None
        return axis in (-1, len(dims or ()) - 1)

    def _width(self, value: str) -> int:
        """The size of the last dimension; 0 where it is not known."""
        dims = dims_of(self.types[value]) if value in self.types else None
        return dims[-1] if dims and isinstance(dims[-1], int) else 0


def _axis(node: onnx.NodeProto) -> int:
    return next((attribute.i for attribute in node.attribute if attribute.name == "axis"), 0)


def _undone(operator: str, column: Column, number: float) -> Column:
    """The column of `value`, where `operator(value, number)` is `column`."""
    scale, offset = column.scale, column.offset
    if operator == "Mul":
        return Column(column.of, scale * number, offset)
    if operator == "Div":
        return Column(column.of, scale / number, offset)
    return Column(column.of, scale, offset + scale * (number if operator == "Add" else -number))
