"""Write nodes of a graph whose shapes are known; what depends only on constants is computed at once, in NumPy."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from onnx import NodeProto, helper, numpy_helper

from onnx_maxpool.types import Array, element_type, tensor_type

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Value:
    """A tensor in the graph, of known shape."""

    name: str
    shape: Shape
    dtype: np.dtype[Any]


Tensor = Value | Array
"""A value of the graph, or a constant."""

ELEMENTWISE: Mapping[str, Callable[..., Any]] = {
    "Abs": np.abs,
    "Add": np.add,
    "Floor": np.floor,
    "Less": np.less,
    "Max": np.maximum,
    "Min": np.minimum,
    "Mul": np.multiply,
    "Sign": np.sign,
    "Sub": np.subtract,
    "Where": np.where,
}
"""The operators that work cell by cell, with what computes them in NumPy."""


@dataclass
class Graph:
    """Nodes that are being written. Every method gives a tensor, a constant where all that it is given is constant."""

    prefix: str
    """Of the names of values and nodes."""
    nodes: list[NodeProto] = field(default_factory=list)
    _constants: dict[tuple[bytes, str, Shape], str] = field(default_factory=dict)
    _numbers: dict[str, itertools.count[int]] = field(default_factory=dict)

    def elementwise(self, op: str, *tensors: Tensor) -> Tensor:
        """One of the operators in `ELEMENTWISE`, with broadcasting; the tensors are of one type."""
        if all(isinstance(tensor, np.ndarray) for tensor in tensors):
            with np.errstate(all="ignore"):  # as a runtime would
                return np.asarray(ELEMENTWISE[op](*tensors))
        dtype = np.dtype(bool) if op == "Less" else tensors[-1].dtype
        return self._node(op, tensors, np.broadcast_shapes(*(tensor.shape for tensor in tensors)), dtype)

    def cast(self, x: Tensor, dtype: np.dtype[Any]) -> Tensor:
        """`x` in another type, as it is if that is its own."""
        if x.dtype == dtype:
            return x
        if isinstance(x, np.ndarray):
            return x.astype(dtype)
        return self._node("Cast", [x], x.shape, dtype, to=tensor_type(element_type(dtype)))

    def slice(self, x: Tensor, axis: int, start: int, end: int) -> Tensor:
        """The part `[start, end)` of an axis."""
        if (start, end) == (0, x.shape[axis]):
            return x
        if isinstance(x, np.ndarray):
            return x[(slice(None),) * axis + (slice(start, end),)]
        bounds = [np.array([number], np.int64) for number in (start, end, axis)]
        return self._node("Slice", [x, *bounds], _replaced(x.shape, axis, (end - start,)), x.dtype)

    def gather(self, x: Tensor, index: Tensor, axis: int = 0) -> Tensor:
        """The parts of `x` that a row of indices names, along an axis."""
        if isinstance(x, np.ndarray) and isinstance(index, np.ndarray):
            return x.take(index, axis)
        return self._node("Gather", [x, index], _replaced(x.shape, axis, index.shape), x.dtype, axis=axis)

    def concat(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """The parts, one behind the other along an axis."""
        if len(parts) == 1:
            return parts[0]
        if all(isinstance(part, np.ndarray) for part in parts):
            return np.concatenate([part for part in parts if isinstance(part, np.ndarray)], axis)
        size = sum(part.shape[axis] for part in parts)
        return self._node("Concat", parts, _replaced(parts[0].shape, axis, (size,)), parts[0].dtype, axis=axis)

    def reshape(self, x: Tensor, shape: Shape) -> Tensor:
        """`x` in another shape, of as many cells."""
        if x.shape == shape:
            return x
        if isinstance(x, np.ndarray):
            return x.reshape(shape)
        return self._node("Reshape", [x, np.array(shape, np.int64)], shape, x.dtype)

    def transpose(self, x: Tensor, order: Sequence[int]) -> Tensor:
        """`x` with its axes in another order."""
        if isinstance(x, np.ndarray):
            return x.transpose(order)
        return self._node("Transpose", [x], tuple(x.shape[axis] for axis in order), x.dtype, perm=list(order))

    def sum(self, x: Tensor, axis: int) -> Tensor:
        """The sums along an axis, which stays, of length 1."""
        if isinstance(x, np.ndarray):
            return np.asarray(x.sum(axis, keepdims=True, dtype=x.dtype))
        axes = np.array([axis], np.int64)
        return self._node("ReduceSum", [x, axes], _replaced(x.shape, axis, (1,)), x.dtype, keepdims=1)

    def expand(self, x: Tensor, shape: Shape) -> Tensor:
        """`x` repeated up to a shape."""
        if isinstance(x, np.ndarray):
            return np.broadcast_to(x, shape)
        return self._node("Expand", [x, np.array(shape, np.int64)], shape, x.dtype)

    def output(self, x: Tensor, name: str) -> None:
        """Give a tensor the name of one of the graph's outputs."""
        if isinstance(x, np.ndarray):
            self.nodes.append(_constant(x, name))
            return
        made = next((node for node in reversed(self.nodes) if node.output[0] == x.name), None)
        if made is None or not x.name.startswith(f"{self.prefix}/"):
            self.nodes.append(helper.make_node("Identity", [x.name], [name], f"{self.prefix}/{name}"))
            return
        made.output[0] = name
        for node in self.nodes:
            node.input[:] = [name if value == x.name else value for value in node.input]

    def _node(self, op: str, inputs: Sequence[Tensor], shape: Shape, dtype: np.dtype[Any], **attributes: Any) -> Value:
        names = [self._constant(x) if isinstance(x, np.ndarray) else x.name for x in inputs]
        name = self._free_name(op.lower())
        self.nodes.append(helper.make_node(op, names, [name], name, **attributes))
        return Value(name, shape, dtype)

    def _constant(self, array: Array) -> str:
        """The name of a constant, of which there is one for equal arrays."""
        array = np.ascontiguousarray(array).reshape(array.shape)
        key = (array.tobytes(), array.dtype.name, array.shape)
        if key not in self._constants:
            self._constants[key] = self._free_name("constant")
            self.nodes.append(_constant(array, self._constants[key]))
        return self._constants[key]

    def _free_name(self, what: str) -> str:
        return f"{self.prefix}/{what}_{next(self._numbers.setdefault(what, itertools.count()))}"


def _replaced(shape: Shape, axis: int, dims: Shape) -> Shape:
    return (*shape[:axis], *dims, *shape[axis + 1 :])


def _constant(array: Array, name: str) -> NodeProto:
    return helper.make_node(
        "Constant", [], [name], name, value=numpy_helper.from_array(np.ascontiguousarray(array).reshape(array.shape))
    )
