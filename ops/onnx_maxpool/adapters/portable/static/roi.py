"""The maximum over the bins of ROIs, which may be known only at run time: rules M7 to M11, without control flow.

The maxima of all blocks of cells of a few heights and widths are computed first: a sparse table. A bin is then the
maximum of some blocks that cover it, which are gathered. Channels are the last axis, so that whole lines are gathered,
and there is a table for some channels at a time, so that it stays small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnx_maxpool.adapters.portable.static.blocks import Axis, arange, flat, levels, look_up, max_of, places
from onnx_maxpool.adapters.portable.static.edges import Bins
from onnx_maxpool.adapters.portable.static.tensors import Graph, Tensor

TABLE_BYTES = 2**23
"""A table may have so many, where there are not more than `MOST_PARTS` tables."""
MOST_PARTS = 16

RADIXES = (2, 3, 4)


@dataclass(frozen=True)
class Plan:
    """How bins are covered by blocks."""

    y: Axis
    x: Axis
    gathers_rows: bool
    """Whether the rows of bins are pooled before there are blocks along x: for few ROIs."""

    def rows(self, batches: int, bins: tuple[int, int, int]) -> int:
        """The rows that are divided into blocks along x, for `bins` (R, along y, along x)."""
        return bins[0] * bins[1] if self.gathers_rows else batches * self.y.total

    def cost(self, batches: int, bins: tuple[int, int, int]) -> int:
        """Roughly, in units of a line of channels that is gathered; one of the table costs three times that."""
        rows = self.rows(batches, bins)
        cost = 3 * rows * self.x.total
        if self.gathers_rows:
            cost += (3 * batches * self.y.total + self.y.radix * rows) * self.x.size
        return cost + len(self.blocks_per_bin) * bins[0] * bins[1] * bins[2]

    @property
    def blocks_per_bin(self) -> range:
        """Of those that are gathered in the end."""
        return range(self.x.radix * (1 if self.gathers_rows else self.y.radix))


@dataclass(frozen=True)
class Indices:
    """Of the blocks that cover bins."""

    rows: Sequence[Tensor]
    """In the blocks of rows, where rows are gathered."""
    cells: Sequence[Tensor]
    """In the table."""
    has_specials: bool
    """Whether the table ends with a line of 0 and one of NaN, for empty bins and bad ROIs."""


def roi_max(graph: Graph, x: Tensor, bins: Bins) -> Tensor:
    """Maxima over `bins` on maps `x` (N, C, H, W), (R, C, bins along y, bins along x).

    An empty bin gives 0 (M9), a bad ROI NaN. No dimension is 0.
    """
    batches, channels, *sizes = x.shape
    count, bins_y = bins.starts[0].shape
    bins_x = bins.starts[1].shape[1]
    lengths = [graph.elementwise("Sub", end, start) for start, end in zip(bins.starts, bins.ends, strict=True)]
    possible = [_possible(length, size) for length, size in zip(lengths, sizes, strict=True)]
    plans = [
        Plan(Axis(sizes[0], radix_y, possible[0]), Axis(sizes[1], radix_x, possible[1]), gathers_rows)
        for radix_y in RADIXES
        for radix_x in RADIXES
        for gathers_rows in (False, True)
    ]
    plan = min(plans, key=lambda plan: plan.cost(batches, (count, bins_y, bins_x)))
    indices = _indices(graph, bins, lengths, plan, batches)

    table_bytes = plan.rows(batches, (count, bins_y, bins_x)) * plan.x.total * x.dtype.itemsize * channels
    parts = max(1, min(-(-table_bytes // TABLE_BYTES), MOST_PARTS, channels))
    step = -(-channels // parts)
    pooled = []
    for start in range(0, channels, step):
        end = min(start + step, channels)
        part = _pooled(graph, graph.slice(x, 1, start, end), plan, indices)
        part = graph.reshape(part, (count, bins_y * bins_x, end - start))
        pooled.append(graph.transpose(part, (0, 2, 1)))
    return graph.reshape(graph.concat(pooled, axis=1), (count, channels, bins_y, bins_x))


def _possible(length: Tensor, size: int) -> Sequence[int]:
    """The lengths that windows can have."""
    return range(size + 1) if not isinstance(length, np.ndarray) else sorted(set(length.ravel().tolist()))


def _pooled(graph: Graph, x: Tensor, plan: Plan, indices: Indices) -> Tensor:
    """The maxima of all bins, (R * bins, C)."""
    batches, channels, _, width = x.shape
    cells = graph.transpose(x, (0, 2, 3, 1))
    rows = graph.concat(levels(graph, cells, 1, plan.y), axis=1)
    rows = graph.reshape(rows, (batches * plan.y.total, width, channels))
    if plan.gathers_rows:
        rows = max_of(graph, [graph.gather(rows, index) for index in indices.rows])
    parts = [
        graph.reshape(level, (rows.shape[0] * plan.x.count(block), channels))
        for block, level in zip(plan.x.blocks, levels(graph, rows, 1, plan.x), strict=True)
    ]
    if indices.has_specials:
        parts.append(np.repeat(np.array([[0], [np.nan]], x.dtype), channels, axis=1))
    table = graph.concat(parts, axis=0)
    return max_of(graph, [graph.gather(table, index) for index in indices.cells])


def _indices(graph: Graph, bins: Bins, lengths: Sequence[Tensor], plan: Plan, batches: int) -> Indices:
    count, bins_y = lengths[0].shape
    bins_x = lengths[1].shape[1]
    as_row, as_column = (count, bins_y, 1), (count, 1, bins_x)
    zero, one = np.zeros(1, np.int64), np.ones(1, np.int64)

    rows = _row_indices(graph, bins, lengths[0], plan.y, batches)
    gathered = [flat(graph, index) for index in rows] if plan.gathers_rows else []
    if plan.gathers_rows:
        rows = [arange(count * bins_y).reshape(count, bins_y)]

    row_count = plan.rows(batches, (count, bins_y, bins_x))
    per_row = look_up(graph, plan.x, {block: plan.x.count(block) for block in plan.x.blocks}, lengths[1])
    offset = look_up(graph, plan.x, plan.x.offsets(row_count), lengths[1])
    columns = places(graph, plan.x, bins.starts[1], bins.ends[1], lengths[1])
    columns = [graph.elementwise("Add", offset, column) for column in columns]

    # A bin of no cells is the table's last line but one, one of a bad ROI the last.
    area = graph.elementwise("Mul", graph.reshape(lengths[0], as_row), graph.reshape(lengths[1], as_column))
    is_bad = graph.reshape(bins.is_bad, (count, 1, 1))
    is_special = graph.elementwise("Less", graph.elementwise("Where", is_bad, zero, area), one)
    end = row_count * plan.x.total
    special = graph.elementwise("Where", is_bad, one * (end + 1), one * end)
    has_specials = not isinstance(is_special, np.ndarray) or bool(is_special.any())

    cells = []
    for row in rows:
        first = graph.elementwise("Mul", graph.reshape(row, as_row), graph.reshape(per_row, as_column))
        for column in columns:
            index = graph.elementwise("Add", first, graph.reshape(column, as_column))
            cells.append(flat(graph, graph.elementwise("Where", is_special, special, index) if has_specials else index))
    return Indices(gathered, cells, has_specials)


def _row_indices(graph: Graph, bins: Bins, length: Tensor, plan: Axis, batches: int) -> list[Tensor]:
    """Of each bin, the blocks of rows that cover it, image by image and length by length, (R, P) each.

    Of an empty bin the first.
    """
    offset = look_up(graph, plan, plan.offsets(), length)
    if batches > 1:
        image = graph.elementwise("Mul", bins.batch, np.array([plan.total], np.int64))
        offset = graph.elementwise("Add", offset, image)
    is_empty = graph.elementwise("Less", length, np.ones(1, np.int64))
    rows = places(graph, plan, bins.starts[0], bins.ends[0], length)
    return [
        graph.elementwise("Where", is_empty, np.zeros(1, np.int64), graph.elementwise("Add", offset, row))
        for row in rows
    ]
