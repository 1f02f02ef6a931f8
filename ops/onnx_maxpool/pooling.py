"""The maximum over windows, in NumPy: no semantics of any operator, only rules G2 to G5."""

from __future__ import annotations

import numpy as np

from onnx_maxpool.aliases import Array
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
