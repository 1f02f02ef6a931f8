"""The bins of ROIs, in floating-point operators that every runtime has: rules M4 to M8, M10 and M11.

No runtime is asked for more than IEEE sums, products, Floor, Min, Max, Less and Where: some divide by multiplying with
a reciprocal, some have no double and no 64-bit integers. All values are integers in floats, unless said otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnx_maxpool.adapters.portable.static.tensors import Graph, Tensor
from onnx_maxpool.errors import OperatorError
from onnx_maxpool.facts import SATURATION
from onnx_maxpool.types import Array, BinEdges

FLOAT, DOUBLE = np.dtype(np.float32), np.dtype(np.float64)

EXACT_BITS = 22
"""Of the largest number that exact edges are computed with in float32: a half can be added to it."""


MOST_BINS = 2 ** (EXACT_BITS // 2) - 1
"""Along an axis, where edges are computed in float32: a number of bins times half of a float's digits is exact."""


@dataclass(frozen=True)
class Bins:
    """Of R ROIs and, for y and x each, P bins: clipped windows `[start, end)` in int64, (R, P)."""

    batch: Tensor
    """The image of each ROI, (R, 1), in int64; 0 for a bad one."""
    is_bad: Tensor
    """Whether a ROI has a NaN or a batch number that is out of range (R, 1)."""
    starts: tuple[Tensor, Tensor]
    ends: tuple[Tensor, Tensor]


def roi_bins(
    graph: Graph,
    rois: Tensor,
    batches: int,
    pooled: tuple[int, int],
    scale: float,
    sizes: tuple[int, int],
    bin_edges: BinEdges,
) -> Bins:
    """The bins of `rois` (R, 5) on maps of `sizes` (height, width), with the edges that `bin_edges` names.

    Raises OperatorError for more bins, and for exact edges on larger maps, than float32 can tell where they are.
    """
    _check_sizes(rois.dtype, pooled, sizes, bin_edges)
    rois = graph.cast(rois, DOUBLE if rois.dtype == DOUBLE else FLOAT)
    is_bad = _is_bad(graph, rois, batches)
    # A ROI of one cell in its place; so no NaN comes further.
    rois = graph.elementwise("Where", is_bad, np.zeros(1, rois.dtype), rois)
    batch = graph.elementwise("Floor", graph.elementwise("Max", graph.slice(rois, 1, 0, 1), np.zeros(1, rois.dtype)))
    edges = _rounded(graph, graph.slice(rois, 1, 1, 5), scale)  # x1, y1, x2, y2

    # A column for each bin's start and, behind them, each bin's end: first those along y, then those along x.
    columns = _Columns(pooled, rois.dtype)
    first = graph.gather(edges, columns.of_axis((1, 0)), axis=1)
    last = graph.elementwise("Max", graph.gather(edges, columns.of_axis((3, 2)), axis=1), first)  # M6
    if bin_edges == "double":
        first, last = graph.cast(first, DOUBLE), graph.cast(last, DOUBLE)
        columns = _Columns(pooled, DOUBLE)
    cut = _exact_edges if bin_edges == "exact" else _rounded_edges
    free = cut(graph, first, last, columns)
    size = np.array(columns.of_axis(sizes), free.dtype)[None]
    clipped = graph.elementwise("Max", graph.elementwise("Min", free, size), np.zeros(1, free.dtype))  # M8
    numbers = graph.cast(clipped, np.dtype(np.int64))
    (height, width), parts, place = pooled, [], 0
    for count in (height, height, width, width):
        parts.append(graph.slice(numbers, 1, place, place + count))
        place += count
    return Bins(graph.cast(batch, np.dtype(np.int64)), is_bad, (parts[0], parts[2]), (parts[1], parts[3]))


def _check_sizes(dtype: np.dtype[Any], pooled: tuple[int, int], sizes: tuple[int, int], bin_edges: BinEdges) -> None:
    if dtype == DOUBLE or bin_edges == "double":
        return
    for size, count in zip(sizes, pooled, strict=True):
        if count > MOST_BINS:
            raise OperatorError(
                f"to_portable: {count} bins along an axis, expected at most {MOST_BINS}, "
                "as edges are computed in float32"
            )
        if bin_edges == "exact" and size * count > 2 ** (EXACT_BITS - 1):
            raise OperatorError(
                f"to_portable: {count} bins along {size} cells, expected a product of at most {2 ** (EXACT_BITS - 1)}, "
                "as exact edges are computed in float32"
            )


class _Columns:
    """Constants for the columns: starts and ends of the bins along y, then along x."""

    def __init__(self, pooled: tuple[int, int], dtype: np.dtype[np.floating]) -> None:
        self.pooled = pooled
        self.dtype = dtype
        self.bin = self.row([np.concatenate([np.arange(count), np.arange(1, count + 1)]) for count in pooled])
        """p of a start, p + 1 of an end."""
        self.is_end = self.row([np.repeat([0, 1], count) for count in pooled])
        self.count = self.row([np.full(2 * count, count) for count in pooled])
        """P, the number of bins."""

    def row(self, parts: Sequence[Array]) -> Array:
        return np.concatenate(parts).astype(self.dtype)[None]

    def of_axis(self, values: tuple[int, int]) -> Array:
        """The first value for the columns along y, the second for those along x."""
        return np.repeat(np.array(values, np.int64), [2 * count for count in self.pooled])


def _is_bad(graph: Graph, rois: Tensor, batches: int) -> Tensor:
    """M10, M11: whether a value of each ROI is NaN or its batch number is not in (-1, batches), (R, 1)."""
    zero, one = (np.array([value], rois.dtype) for value in (0, 1))
    # A batch number is above the one and below the other. A coordinate is above 0 or below 1, or it is NaN. Not x == x,
    # which some compilers take for true.
    low = np.array([[-1, 0, 0, 0, 0]], rois.dtype)
    high = np.array([[batches, 1, 1, 1, 1]], rois.dtype)
    due = np.array([[2, 1, 1, 1, 1]], rois.dtype)
    is_above = graph.elementwise("Where", graph.elementwise("Less", low, rois), one, zero)
    is_below = graph.elementwise("Where", graph.elementwise("Less", rois, high), one, zero)
    is_short = graph.elementwise("Less", graph.elementwise("Add", is_above, is_below), due)
    faults = graph.elementwise("Where", is_short, one, zero)
    return graph.elementwise("Less", zero, graph.sum(faults, axis=1))


def _rounded(graph: Graph, coordinates: Tensor, scale: float) -> Tensor:
    """M5, M11: scaled coordinates as whole numbers, halves away from zero."""
    most = np.array([SATURATION], coordinates.dtype)
    scaled = graph.elementwise("Mul", coordinates, np.array([scale], np.float32).astype(coordinates.dtype))
    held = graph.elementwise("Max", graph.elementwise("Min", scaled, most), -most)
    size = graph.elementwise("Abs", held)
    whole = graph.elementwise("Floor", size)
    # Exact: what is behind the point has no more digits than the number, and twice that is below 2.
    fraction = graph.elementwise("Sub", size, whole)
    up = graph.elementwise("Floor", graph.elementwise("Add", fraction, fraction))
    return graph.elementwise("Mul", graph.elementwise("Add", whole, up), graph.elementwise("Sign", held))


def _rounded_edges(graph: Graph, first: Tensor, last: Tensor, columns: _Columns) -> Tensor:
    """M7's `onnx` and `double`: quotient and product rounded in the tensors' type.

    The sum with the ROI's first edge is right wherever it matters: both are exact, and where the sum lies on the map it
    is a whole number that the type has, so it is not rounded; elsewhere rounding leaves it on its side of the map.
    """
    bin_size = _quotient(graph, _extent(graph, first, last), columns.count)
    # ceil(x) is -floor(-x).
    sign = 1 - 2 * columns.is_end
    offset = graph.elementwise("Floor", graph.elementwise("Mul", bin_size, columns.bin * sign))
    return graph.elementwise("Add", first, graph.elementwise("Mul", offset, sign))


def _extent(graph: Graph, first: Tensor, last: Tensor) -> Tensor:
    """Last - first + 1, rounded once: what the difference loses (Knuth's TwoSum) is added to the 1.

    That is exact, as both are small: the edges lie within ± 2^40, so the loss is a whole number below 2^18.
    """
    one = np.ones(1, first.dtype)
    difference = graph.elementwise("Sub", last, first)
    last_part = graph.elementwise("Add", difference, first)
    first_part = graph.elementwise("Sub", last_part, difference)
    lost = graph.elementwise(
        "Sub", graph.elementwise("Sub", last, last_part), graph.elementwise("Sub", first, first_part)
    )
    return graph.elementwise("Add", difference, graph.elementwise("Add", lost, one))


def _quotient(graph: Graph, extent: Tensor, count: Array) -> Tensor:
    """Extent / count, rounded once, where a runtime's own division may be off by a little.

    The first guess q, a product with the reciprocal, is at most two units of the last place away. Its remainder is
    exact: q is split into halves (Veltkamp) of which products with the count, below 2^11, are exact, and the two
    differences are of neighbours (Sterbenz). With it the guess is corrected; the sum is rounded to the right side, as
    no quotient lies in the middle between two floats: that times the count would need a digit more than extents have.
    """
    reciprocal = (1 / count).astype(extent.dtype)
    half = np.array([2**12 + 1 if extent.dtype == FLOAT else 2**27 + 1], extent.dtype)
    guess = graph.elementwise("Mul", extent, reciprocal)
    large = graph.elementwise("Mul", guess, half)
    high = graph.elementwise("Sub", large, graph.elementwise("Sub", large, guess))
    low = graph.elementwise("Sub", guess, high)
    rest = graph.elementwise("Sub", extent, graph.elementwise("Mul", high, count))
    rest = graph.elementwise("Sub", rest, graph.elementwise("Mul", low, count))
    return graph.elementwise("Add", guess, graph.elementwise("Mul", rest, reciprocal))


def _exact_edges(graph: Graph, first: Tensor, last: Tensor, columns: _Columns) -> Tensor:
    """M7's `exact`: floor(((P - p) * first + p * (last + 1)) / P) for starts; for ends with p + 1, and P - 1 added.

    In double the numerator is exact. In float32 the edges are taken apart into digits to the base B, from 0 to B - 1
    but for the first, such that the sums of products of one place are exact: P * B is at most 2^22. The numerator is
    put together from the first place on: times B, and the next sum added. Before that it is held within ± 2^22 / B,
    which changes no edge. Where it was above, the product is 2^22, and the next sum is not negative: so it stays above
    P times the map's size, which is at most 2^21, and the edge is clipped to the map's end. Where it was below, the
    product is -2^22, and the next sum is less than P * (B - 1): so it stays below -B, or at last below 0, and the edge
    is clipped to 0. A half is added before the division, so that it need not be exact: a quotient of integers that is
    none itself is at least 1/P away from the next one, and the division is off by less than half of that.
    """
    most_bins = max(columns.pooled)
    digit_bits = EXACT_BITS - most_bins.bit_length()
    is_float = first.dtype == FLOAT
    behind = columns.count - columns.bin
    half = (columns.bin + columns.is_end * (columns.count - 1)).astype(first.dtype) + np.array(0.5, first.dtype)
    firsts, lasts = [first], [last]
    if is_float:
        base, places = float(2**digit_bits), -(-(SATURATION.bit_length() + 1) // digit_bits)
        firsts, lasts = (_digits(graph, edge, base, places) for edge in (first, last))
    sums = [
        graph.elementwise("Add", graph.elementwise("Mul", f, behind), graph.elementwise("Mul", e, columns.bin))
        for f, e in zip(firsts, lasts, strict=True)
    ]
    numerator = sums.pop()
    limit = np.array([2 ** (EXACT_BITS - digit_bits)], first.dtype)
    while sums:
        held = graph.elementwise("Max", graph.elementwise("Min", numerator, limit), -limit)
        shifted = graph.elementwise("Mul", held, np.array([2**digit_bits], first.dtype))
        numerator = graph.elementwise("Add", shifted, sums.pop())
    numerator = graph.elementwise("Add", numerator, half)
    return graph.elementwise("Floor", graph.elementwise("Mul", numerator, (1 / columns.count).astype(first.dtype)))


def _digits(graph: Graph, x: Tensor, base: float, places: int) -> list[Tensor]:
    """Digits of a whole number to a power of two as base, the last place first; the first one has the sign."""
    digits = []
    for _ in range(places - 1):
        rest = graph.elementwise("Floor", graph.elementwise("Mul", x, np.array([1 / base], x.dtype)))
        digits.append(graph.elementwise("Sub", x, graph.elementwise("Mul", rest, np.array([base], x.dtype))))
        x = rest
    return [*digits, x]
