"""The maximum over windows that are known, along one axis after the other (G2), and its index (G3, G5)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnx_maxpool.adapters.portable.static.tensors import Graph, Tensor, Value
from onnx_maxpool.types import Array, Integers


@dataclass(frozen=True)
class Maxima:
    """Values, and labels of the cells that they come from, which broadcast to the values' shape.

    Labels rise in row-major order: of equal values, the smallest label is that of the first cell. Before labels are
    compared, +inf takes the place of each NaN, and the label of its cell is lowered below those of all numbers. So a
    NaN wins over +inf, and the first NaN over the others. What a runtime's Max and Less do with NaN does not matter.
    """

    values: Tensor
    labels: Tensor | None
    cells: int
    """How many cells have labels, from 0 on. Lowered labels begin at -cells."""

    def along(self, graph: Graph, axis: int, start: int, end: int) -> Maxima:
        """The part `[start, end)` of an axis."""
        labels = None if self.labels is None else graph.slice(self.labels, axis, start, end)
        return Maxima(graph.slice(self.values, axis, start, end), labels, self.cells)

    def at(self, graph: Graph, axis: int, places: Integers) -> Maxima:
        """Those at some places of an axis."""
        first = int(places[0])
        if np.array_equal(places, np.arange(first, first + len(places))):
            return self.along(graph, axis, first, first + len(places))
        labels = None if self.labels is None else graph.gather(self.labels, places, axis)
        return Maxima(graph.gather(self.values, places, axis), labels, self.cells)

    def max(self, graph: Graph, later: Maxima) -> Maxima:
        """The larger ones, of equal ones the first. Blocks of `later` neither begin nor end before those of `self`."""
        first, second = self.without_nan(graph), later.without_nan(graph)
        values = graph.elementwise("Max", first.values, second.values)
        if first.labels is None or second.labels is None:
            return Maxima(values, None, self.cells)
        # The second label where its value is larger, else the smaller label. Where the first value is larger, that is
        # the first label: a cell behind the second label's would be in the second block too. No Where chooses between
        # labels, as ONNX Runtime's takes three times as long for that as these operators.
        is_larger = graph.elementwise("Less", first.values, second.values)
        raised = plus_where(graph, first.labels, is_larger, self.cells)
        return Maxima(values, graph.elementwise("Min", raised, second.labels), self.cells)

    def without_nan(self, graph: Graph) -> Maxima:
        """With +inf and a lowered label for each NaN. Labels that are not constants were compared, so it is done."""
        if self.values.dtype.kind != "f" or not isinstance(self.labels, np.ndarray):
            return self
        below_0, inf = (np.array([value], self.values.dtype) for value in (-1, np.inf))
        # All numbers are at least 0 without their sign. Not every runtime has IsNaN, nor LessOrEqual.
        is_number = graph.elementwise("Less", below_0, graph.elementwise("Abs", self.values))
        values = graph.elementwise("Where", is_number, self.values, inf)
        return Maxima(values, plus_where(graph, self.labels - self.cells, is_number, self.cells), self.cells)

    def with_nan(self, graph: Graph) -> Maxima:
        """With NaN and the cell's own label for each lowered label."""
        if self.values.dtype.kind != "f" or not isinstance(self.labels, Value):
            return self
        is_nan = graph.elementwise("Less", self.labels, np.zeros(1, self.labels.dtype))
        values = graph.elementwise("Where", is_nan, np.array([np.nan], self.values.dtype), self.values)
        return Maxima(values, plus_where(graph, self.labels, is_nan, self.cells), self.cells)


def plus_where(graph: Graph, labels: Tensor, condition: Tensor, number: int) -> Tensor:
    """Labels, with a number added where a condition holds."""
    added = [np.array([value], labels.dtype) for value in (number, 0)]
    return graph.elementwise("Add", labels, graph.elementwise("Where", condition, *added))


@dataclass(frozen=True)
class AxisPlan:
    """How the windows along an axis are made of blocks: of every window, the maximum over its blocks."""

    doublings: int
    """A block has 2^doublings cells."""
    places: Integers
    """Where the blocks begin, (blocks per window, windows)."""
    source: Integers | None
    """The cells that the axis is made of before, where some are repeated at its ends."""

    def cost(self, size: int) -> int:
        """Cells that are written for each line along the axis."""
        extended = len(self.source) if self.source is not None else 0
        size = extended or size
        return extended + 3 * self.doublings * size + 2 * self.places.size


def plan_windows(starts: Integers, ends: Integers, size: int) -> AxisPlan:
    """The cheapest way to windows `[start, end)` with start < end, within an axis of `size` cells."""
    plans = list(_plans(starts, ends, None))
    width = int((ends - starts).max())
    if width > int((ends - starts).min()):
        # Windows that are cut off at an end of the axis become whole again where the axis' last cell is repeated, which
        # changes no maximum and no first one. Only where every window is a part of one that is `width` wide.
        whole = np.where(starts == 0, ends - width, starts)
        before, after = max(0, -int(whole.min())), max(0, int(whole.max()) + width - size)
        if np.array_equal(np.clip(whole, 0, size), starts) and np.array_equal(np.clip(whole + width, 0, size), ends):
            source = np.clip(np.arange(-before, size + after, dtype=np.int64), 0, size - 1)
            plans += _plans(whole + before, whole + before + width, source)
    return min(plans, key=lambda plan: plan.cost(size))


def _plans(starts: Integers, ends: Integers, source: Integers | None) -> Sequence[AxisPlan]:
    shortest, longest = int((ends - starts).min()), int((ends - starts).max())
    plans = []
    for doublings in range(shortest.bit_length()):
        block = 1 << doublings
        offsets = np.arange(-(-longest // block), dtype=np.int64)[:, None] * block
        plans.append(AxisPlan(doublings, np.minimum(starts + offsets, ends - block), source))
    return plans


def plan_cells(cells: Sequence[Sequence[int]]) -> AxisPlan:
    """Of windows that are lists of cells, in order; shorter ones repeat their last cell."""
    longest = max(map(len, cells))
    table = [[*window, *[window[-1]] * (longest - len(window))] for window in cells]
    return AxisPlan(0, np.array(table, np.int64).T, None)


def axis_max(graph: Graph, x: Maxima, axis: int, plan: AxisPlan) -> Maxima:
    """The maxima over windows along one axis."""
    if plan.source is not None:
        x = x.at(graph, axis, plan.source)
    for doubling in range(plan.doublings):
        x = _blocks(graph, x, axis, 1 << doubling)
    first, *others = plan.places
    maxima = x.at(graph, axis, first)
    for places in others:
        maxima = maxima.max(graph, x.at(graph, axis, places))
    return maxima


def _blocks(graph: Graph, x: Maxima, axis: int, step: int) -> Maxima:
    """Of each place and the one `step` further on."""
    size = x.values.shape[axis]
    return x.along(graph, axis, 0, size - step).max(graph, x.along(graph, axis, step, size))


def window_max(graph: Graph, x: Tensor, plans: Sequence[AxisPlan], labels: Array | None = None) -> Maxima:
    """The maxima over the products of axis windows, which belong to the last axes of `x`.

    With `labels`, which number the cells of these axes in row-major order, those of the first maxima in this order: the
    last axis comes first, so that of the rows that hold the maximum the first is found, and in that row the first cell.
    """
    first_axis = len(x.shape) - len(plans)
    cells = 0
    if labels is not None:
        cells = labels.size
        labels = labels.reshape((1,) * first_axis + labels.shape)
    maxima = Maxima(x, labels, cells)
    order = range(len(plans))
    for i in order if labels is None else reversed(order):
        maxima = axis_max(graph, maxima, first_axis + i, plans[i])
    return maxima.with_nan(graph)


def row_major(shape: Sequence[int]) -> Integers:
    """The number of each cell."""
    return np.arange(math.prod(shape), dtype=np.int64).reshape(tuple(shape))
