"""Which input cells each output cell covers: the plans `roi_windows`, `sliding_windows` and `adaptive_windows`.

Every window is a half-open range `[start, end)` of input coordinates along one axis, given as a pair of int64 arrays.
All arithmetic is exact, in 64-bit integers (G1), but where the bins of ROIs are to be rounded (M7). Rule numbers are
those of `operators.rules`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnx_maxpool.errors import OperatorError, listing, shape
from onnx_maxpool.facts import BIN_EDGES, SATURATION
from onnx_maxpool.types import Array, BinEdges, Integers

Windows = tuple[Integers, Integers]
"""Starts and ends of windows along one axis: two int64 arrays of one shape."""


def clip(windows: Windows, size: int) -> Windows:
    """Windows cut to the axis `[0, size)`; one that lies outside becomes empty, `start >= end` (G1)."""
    start, end = windows
    return np.clip(start, 0, size), np.clip(end, 0, size)


def even_windows(extent: Integers, count: int) -> Windows:
    """The `count` overlapping windows that share out `extent` cells: `[floor(i*L/n), ceil((i+1)*L/n))` (M7, A2).

    `extent` of any shape S; starts and ends have shape S + (count,). Exact for every extent of 63 bits and every count
    below 2^31: with L = q*n + r the edges are `i*q + floor(i*r/n)` and so on, in which no product overflows.
    """
    i = np.arange(count, dtype=np.int64)
    quotient, remainder = np.divmod(np.asarray(extent, dtype=np.int64)[..., None], count)
    start = i * quotient + i * remainder // count
    end = (i + 1) * quotient - (i + 1) * -remainder // count
    return start, end


def adaptive_windows(size: int, output_size: int) -> Windows:
    """The windows of an adaptive pooling of an axis of `size` cells to `output_size` (A2), of shape (output_size,).

    Raises OperatorError for an output size below 1.
    """
    _require("adaptive_windows", 1, output_size=output_size)
    return even_windows(np.array(size, np.int64), output_size)


def sliding_windows(size: int, window: int, stride: int, start_padding: int, end_padding: int) -> Windows:
    """The windows that slide over an axis of `size` cells between its paddings, clipped to the axis (P3, P4).

    As many as P3 says, and none where that is less. Raises OperatorError for a window or stride below 1, and for
    negative paddings.
    """
    _require("sliding_windows", 1, window=window, stride=stride)
    _require("sliding_windows", 0, start_padding=start_padding, end_padding=end_padding)
    count = sliding_count(size, window, stride, start_padding, end_padding)
    start = np.arange(count, dtype=np.int64) * stride - start_padding
    return clip((start, start + window), size)


def sliding_count(size: int, window: int, stride: int, start_padding: int, end_padding: int) -> int:
    """How many windows slide over an axis: an output's dimension (P3)."""
    return (size + start_padding + end_padding - window) // stride + 1


def rounded_windows(extent: Integers, count: int, kind: type[np.floating[Any]]) -> Windows:
    """`even_windows` with the quotient L/n and its product with i each rounded in the float type `kind` (M7)."""
    i = np.arange(count + 1).astype(kind)
    bin_size = np.asarray(extent).astype(kind)[..., None] / kind(count)
    return np.floor(i[:-1] * bin_size).astype(np.int64), np.ceil(i[1:] * bin_size).astype(np.int64)


def check_bin_edges(bin_edges: str | None) -> None:
    """Raise ValueError for a name that is none of `BIN_EDGES`; None is no name, and allowed."""
    if bin_edges is not None and bin_edges not in BIN_EDGES:
        raise ValueError(f"onnx_maxpool: bin_edges is {bin_edges!r}, expected {listing(map(repr, BIN_EDGES))}")


def bins(extent: Integers, count: int, bin_edges: BinEdges, dtype: np.dtype[Any]) -> Windows:
    """The `count` bins of ROIs of `extent` cells and of element type `dtype`, from the ROI's first cell (M7)."""
    if bin_edges == "exact":
        return even_windows(extent, count)
    in_double = bin_edges == "double" or dtype == np.float64
    return rounded_windows(extent, count, np.float64 if in_double else np.float32)


def round_half_away(x: Array) -> Array:
    """`x` rounded to integers, halves away from zero, in its own float type (M5).

    Not `floor(x + 0.5)`: that sum rounds, and takes 0.49999997 to 1.
    """
    whole = np.trunc(x)
    with np.errstate(invalid="ignore"):
        away: Array = np.copysign(np.abs(x - whole) >= 0.5, x).astype(x.dtype)
    return whole + away


def roi_edges(coordinates: Array, spatial_scale: float) -> Integers:
    """ROI coordinates in cells of the feature map (M5, M11), same shape, int64.

    The product is taken in float32, for double coordinates in double. No coordinate may be NaN.
    """
    kind = np.dtype(np.float64 if coordinates.dtype == np.float64 else np.float32)
    scale = np.array(spatial_scale, np.float32).astype(kind)
    with np.errstate(over="ignore"):
        scaled: Array = coordinates.astype(kind) * scale
    return np.clip(round_half_away(scaled), -SATURATION, SATURATION).astype(np.int64)


def roi_windows(
    rois: Array,
    pooled_shape: tuple[int, int],
    spatial_scale: float,
    map_shape: tuple[int, int],
    *,
    bin_edges: BinEdges = "onnx",
) -> tuple[Windows, Windows]:
    """The bins of every ROI along y and along x, on a feature map of `map_shape` (height, width) (M4-M8).

    `rois` (R, 5) with rows `[batch, x1, y1, x2, y2]`, any float type; the batch number is not looked at. Returns
    `((y_start, y_end), (x_start, x_end))` of shapes (R, pooled_height) and (R, pooled_width). Raises OperatorError for
    `rois` of another shape, a NaN coordinate (M11) and a pooled side below 1, ValueError for other `bin_edges`.
    """
    check_bin_edges(bin_edges)
    _require("roi_windows", 1, pooled_height=pooled_shape[0], pooled_width=pooled_shape[1])
    if rois.ndim != 2 or rois.shape[1] != 5:
        raise OperatorError(f"roi_windows: rois has shape {shape(rois.shape)}, expected (R, 5)")
    if np.isnan(rois[:, 1:]).any():
        row = int(np.isnan(rois[:, 1:]).any(axis=1).argmax())
        raise OperatorError(f"roi_windows: rois row {row} has a NaN, expected four numbers after the batch number")
    edges = roi_edges(rois[:, 1:], spatial_scale)
    first, last = edges[:, 1::-1], edges[:, :1:-1]  # (y, x) of the upper left corner and of the lower right one
    extent = np.maximum(last - first + 1, 1)

    def along(axis: int) -> Windows:
        start, end = bins(extent[:, axis], pooled_shape[axis], bin_edges, rois.dtype)
        origin = first[:, axis, None]
        return clip((origin + start, origin + end), map_shape[axis])

    return along(0), along(1)


def _require(function: str, least: int, **values: int) -> None:
    """Raise OperatorError for the first value that is less."""
    for name, value in values.items():
        if value < least:
            raise OperatorError(f"{function}: {name} is {value}, expected at least {least}")
