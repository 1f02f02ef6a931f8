"""The maximum over windows, in NumPy: no semantics of any operator, only rules G2 to G5."""

from __future__ import annotations

import math

import numpy as np

from onnx_maxpool.types import Array, Integers
from onnx_maxpool.windows import Windows


def axis_max(x: Array, axis: int, windows: Windows) -> Array:
    """The maximum over each window of one axis; an empty window gives 0 (G2, G3, M9)."""
    lines = np.moveaxis(x, axis, 0)
    starts, ends = windows
    out = np.zeros((len(starts), *lines.shape[1:]), x.dtype)
    with np.errstate(invalid="ignore"):  # a NaN is an answer, not a fault
        for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
            if start < end:
                out[i] = lines[start:end].max(axis=0)
    return np.moveaxis(out, 0, axis)


def window_max(x: Array, windows: tuple[Windows, ...]) -> Array:
    """The maximum over each product of axis windows, which belong to the last axes of `x`.

    A maximum of maxima is a maximum, so the axes are reduced one after the other. A NaN in a window wins (G3); a
    window that is empty along any axis gives 0 (M9).
    """
    first_axis = x.ndim - len(windows)
    for i, axis_windows in enumerate(windows):
        x = axis_max(x, first_axis + i, axis_windows)
    return x


def axis_first_max(x: Array, index: Integers, axis: int, windows: Windows, distance: int) -> tuple[Array, Integers]:
    """The first maximum over each window of one axis, and for each what `index`, of x's shape, holds in its place.

    To that the cell's place along the axis is added, times `distance`. The first NaN of a window, if it has any, is its
    maximum (G3). No window may be empty.
    """
    lines, labels = np.moveaxis(x, axis, 0), np.moveaxis(index, axis, 0)
    starts, ends = windows
    out = np.empty((len(starts), *lines.shape[1:]), x.dtype)
    out_index = np.empty(out.shape, np.int64)
    with np.errstate(invalid="ignore"):
        for i, (start, end) in enumerate(zip(starts, ends, strict=True)):
            first = lines[start:end].argmax(axis=0)[None]
            out[i] = np.take_along_axis(lines[start:end], first, axis=0)[0]
            out_index[i] = np.take_along_axis(labels[start:end], first, axis=0)[0] + (start + first[0]) * distance
    return np.moveaxis(out, 0, axis), np.moveaxis(out_index, 0, axis)


def window_first_max(x: Array, windows: tuple[Windows, ...]) -> tuple[Array, Integers]:
    """The maximum over each product of axis windows, and its index in the flattened last axes of `x` (G5).

    The windows belong to the last axes, and none may be empty. The index is the first in row-major order: of the rows
    that hold the maximum the first, and in that row the first cell. So the last axis is reduced first.
    """
    first_axis = x.ndim - len(windows)
    cells = x.shape[first_axis:]
    index: Integers = np.broadcast_to(np.int64(0), x.shape)
    for i in reversed(range(len(windows))):
        x, index = axis_first_max(x, index, first_axis + i, windows[i], math.prod(cells[i + 1 :]))
    return x, index
