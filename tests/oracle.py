"""The operators by brute force, from the published texts and the rules alone. Slow; shares no code with the package."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def edge(coordinate: float, spatial_scale: float, dtype: np.dtype[Any]) -> int:
    """M5 and M11: the product rounded as the type has it, then to an integer by exact fractions."""
    kind = np.float64 if dtype == np.float64 else np.float32
    with np.errstate(over="ignore"):
        product = float(kind(coordinate) * kind(np.float32(spatial_scale)))
    limit = 2**30
    if math.isinf(product):
        return limit if product > 0 else -limit
    magnitude = math.floor(abs(Fraction(product)) + Fraction(1, 2))
    return max(-limit, min(limit, int(math.copysign(1, product)) * magnitude))


def max_roi_pool(x: Array, rois: Array, pooled_shape: tuple[int, int], spatial_scale: float) -> Array:
    """M1 to M11, cell by cell."""
    _, channels, height, width = x.shape
    y = np.zeros((len(rois), channels, *pooled_shape), x.dtype)
    for r, (batch, *corners) in enumerate(rois.tolist()):
        x1, y1, x2, y2 = (edge(value, spatial_scale, rois.dtype) for value in corners)
        roi_height, roi_width = max(y2 - y1 + 1, 1), max(x2 - x1 + 1, 1)
        for c in range(channels):
            for py in range(pooled_shape[0]):
                for px in range(pooled_shape[1]):
                    rows = cells(py, pooled_shape[0], roi_height, y1, height)
                    columns = cells(px, pooled_shape[1], roi_width, x1, width)
                    window = [x[int(batch), c, i, j] for i in rows for j in columns]
                    if window:
                        y[r, c, py, px] = largest(window)
    return y


def cells(p: int, count: int, extent: int, first: int, size: int) -> range:
    """M7 and M8, with a fraction for each edge."""
    start = first + math.floor(Fraction(p * extent, count))
    end = first + math.ceil(Fraction((p + 1) * extent, count))
    return range(max(start, 0), min(end, size))


def largest(window: list[Any]) -> Any:
    """G2 and G3."""
    best = window[0]
    for value in window:
        if math.isnan(value):
            return value
        if value > best:
            best = value
    return best


def adaptive_max_pool(x: Array, output_size: tuple[int, ...]) -> tuple[Array, Array]:
    """A1 to A3: values, and indices into the channel."""
    return pool(x, output_size, lambda axis, i: cells(i, output_size[axis], x.shape[2 + axis], 0, x.shape[2 + axis]))


def max_pooling1(
    x: Array,
    window_size: tuple[int, ...],
    strides: tuple[int, ...],
    start_padding: tuple[int, ...],
    end_padding: tuple[int, ...],
) -> tuple[Array, Array]:
    """P1 to P5: values, and indices into the whole of `x`."""
    given = zip(x.shape[2:], window_size, strides, start_padding, end_padding, strict=True)
    dims = tuple(1 + math.floor(Fraction(size + start + end - w, stride)) for size, w, stride, start, end in given)

    def sliding(axis: int, i: int) -> range:
        start = i * strides[axis] - start_padding[axis]
        return range(max(start, 0), min(start + window_size[axis], x.shape[2 + axis]))

    y, index = pool(x, dims, sliding)
    channel = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *(1 for _ in dims))
    return y, index + channel * math.prod(x.shape[2:])


def pool(x: Array, dims: tuple[int, ...], window: Callable[[int, int], range]) -> tuple[Array, Array]:
    """Maximum over the product of `window(axis, i)`, and the first index that has it in the channel (G2 to G5)."""
    y = np.zeros((*x.shape[:2], *dims), x.dtype)
    index = np.zeros(y.shape, np.int64)
    for place in np.ndindex(y.shape):
        n, c, *out = place
        ranges = [window(axis, i) for axis, i in enumerate(out)]
        inside = [(n, c, *cell) for cell in itertools.product(*ranges)]
        best = inside[0]
        for cell in inside:
            if math.isnan(x[best]):
                break
            if math.isnan(x[cell]) or x[cell] > x[best]:
                best = cell
        y[place], index[place] = x[best], np.ravel_multi_index(best[2:], x.shape[2:])
    return y, index
