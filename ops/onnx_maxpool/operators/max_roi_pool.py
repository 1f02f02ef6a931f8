"""ai.onnx MaxRoiPool, since versions 1 and 22: rules M1 to M12."""

from __future__ import annotations

import math

import numpy as np

from onnx_maxpool.aliases import Array, Attributes, BinEdges
from onnx_maxpool.errors import OperatorError, number, shape
from onnx_maxpool.operators.operator import Operator
from onnx_maxpool.pooling import window_max
from onnx_maxpool.windows import roi_windows

NAME = "MaxRoiPool"
COLUMNS = ("batch", "x1", "y1", "x2", "y2")
LARGEST_SIDE = 2**31 - 1
"""With pooled sides up to this and edges within ±2^30 (M11), no product of M7 leaves 64 bits."""


def max_roi_pool(
    x: Array,
    rois: Array,
    *,
    pooled_shape: tuple[int, int],
    spatial_scale: float,
    bin_edges: BinEdges = "exact",
) -> tuple[Array]:
    """Maximum over a grid of `pooled_shape` bins in each ROI.

    `x` (N, C, H, W) and `rois` (R, 5), one float type; returns one array (R, C, pooled_height, pooled_width).
    Raises OperatorError for wrong shapes (M1), a batch number out of range (M10) and a NaN coordinate (M11).
    """
    check_shapes(x, rois)
    check_rois(rois, len(x))
    pooled_shape = (pooled_shape[0], pooled_shape[1])
    check_size(x, rois, pooled_shape)
    bins_y, bins_x = roi_windows(rois, pooled_shape, spatial_scale, x.shape[2:], bin_edges=bin_edges)
    y = np.zeros((len(rois), x.shape[1], *pooled_shape), x.dtype)
    if x.size:
        for r, batch in enumerate(rois[:, 0].astype(np.int64)):  # truncates toward zero (M10)
            rows = bins_y[0][r], bins_y[1][r]
            columns = bins_x[0][r], bins_x[1][r]
            y[r] = window_max(x[batch], (rows, columns))
    return (y,)


def check_shapes(x: Array, rois: Array) -> None:
    """M1."""
    if x.ndim != 4:
        raise OperatorError(f"{NAME}: X has shape {shape(x.shape)}, expected 4 dimensions (N, C, H, W)")
    if rois.ndim != 2 or rois.shape[1] != len(COLUMNS):
        raise OperatorError(
            f"{NAME}: rois has shape {shape(rois.shape)}, expected (R, 5) with columns {', '.join(COLUMNS)}"
        )


def check_rois(rois: Array, batches: int) -> None:
    """M10 and M11, for the first row that breaks either."""
    values = rois.astype(np.float64)
    bad = np.isnan(values)
    bad[:, 0] |= ~((values[:, 0] > -1) & (values[:, 0] < batches))
    if not bad.any():
        return
    row, column = divmod(int(bad.argmax()), len(COLUMNS))
    value = number(rois[row, column], rois.dtype)
    required = "a number" if column else f"a batch number from 0 to {batches - 1}"
    if not column and not batches:
        required = "no ROI, as X has batch size 0"
    raise OperatorError(f"{NAME}: rois row {row} has {COLUMNS[column]} {value}, expected {required}")


def check_size(x: Array, rois: Array, pooled_shape: tuple[int, int]) -> None:
    """Y's bytes must be countable in 63 bits."""
    dims = (len(rois), x.shape[1], *pooled_shape)
    if math.prod(dims) * x.dtype.itemsize >= 2**63:
        raise OperatorError(f"{NAME}: Y would have shape {shape(dims)}, expected fewer than 2^63 bytes")


def check_attributes(attributes: Attributes) -> None:
    """M3."""
    pooled_shape = attributes["pooled_shape"]
    if len(pooled_shape) != 2 or not all(1 <= side <= LARGEST_SIDE for side in pooled_shape):
        raise OperatorError(
            f"{NAME}: pooled_shape is {shape(pooled_shape)}, expected two integers from 1 to {LARGEST_SIDE}"
        )
    scale = np.float32(attributes["spatial_scale"])
    if not (np.isfinite(scale) and scale > 0):
        raise OperatorError(
            f"{NAME}: spatial_scale is {number(scale, scale.dtype)}, expected a finite number greater than 0"
        )


OPERATOR = Operator(
    inputs={"X": "T", "rois": "T"},
    defaults={"spatial_scale": 1.0},
    check_attributes=check_attributes,
    evaluate=max_roi_pool,
)
