"""The maximum over the bins of ROIs, which MaxRoiPool and RoiPooling share: rules M1 and M3 to M11."""

from __future__ import annotations

import numpy as np

from onnx_maxpool.errors import OperatorError, number, shape
from onnx_maxpool.facts import LARGEST_SIDE
from onnx_maxpool.maximum import window_max
from onnx_maxpool.operators.definition import Attribute, check_bytes, fits
from onnx_maxpool.types import Array, Attributes, BinEdges, Dims
from onnx_maxpool.windows import roi_windows

COLUMNS = ("batch", "x1", "y1", "x2", "y2")


def roi_max(
    operator: str, x: Array, rois: Array, pooled_shape: tuple[int, int], spatial_scale: float, bin_edges: BinEdges
) -> Array:
    """Maximum over a grid of `pooled_shape` bins in each ROI.

    `x` (N, C, H, W) and `rois` (R, 5), one float type; returns (R, C, pooled_height, pooled_width).
    Raises OperatorError, in the name of `operator`, for a batch number out of range (M10) and a NaN coordinate (M11).
    """
    check_rois(operator, rois, len(x))
    dims = (len(rois), x.shape[1], *pooled_shape)
    check_bytes(operator, "Y", dims, x.dtype.itemsize)
    bins_y, bins_x = roi_windows(rois, pooled_shape, spatial_scale, x.shape[2:], bin_edges=bin_edges)
    y = np.zeros(dims, x.dtype)
    if x.size:
        for r, batch in enumerate(rois[:, 0].astype(np.int64)):  # truncates toward zero (M10)
            rows = bins_y[0][r], bins_y[1][r]
            columns = bins_x[0][r], bins_x[1][r]
            y[r] = window_max(x[batch], (rows, columns))
    return y


def check_shapes(operator: str, x: Dims | None, rois: Dims | None, leading: tuple[int, ...] = ()) -> None:
    """M1, and D1 where `leading` dimensions come before the ROIs. Looks at what is known of the shapes."""
    if x is not None and len(x) != 4:
        raise OperatorError(f"{operator}: X has shape {shape(x)}, expected 4 dimensions (N, C, H, W)")
    if x is not None and any(isinstance(side, int) and side > LARGEST_SIDE for side in x[2:]):
        expected = f"a height and a width of at most {LARGEST_SIDE}"
        raise OperatorError(f"{operator}: X has shape {shape(x)}, expected {expected}")
    if rois is None:
        return
    if len(rois) != len(leading) + 2 or not all(map(fits, (*rois[: len(leading)], rois[-1]), (*leading, len(COLUMNS)))):
        expected = ", ".join([*map(str, leading), "R", str(len(COLUMNS))])
        raise OperatorError(
            f"{operator}: rois has shape {shape(rois)}, expected ({expected}) with columns {', '.join(COLUMNS)}"
        )


def check_rois(operator: str, rois: Array, batches: int) -> None:
    """M10 and M11, for the first row that breaks either."""
    values = rois.astype(np.float64)
    bad = np.isnan(values)
    images = np.trunc(values[:, 0])
    bad[:, 0] |= ~((images >= 0) & (images < batches))
    if not bad.any():
        return
    row, column = divmod(int(bad.argmax()), len(COLUMNS))
    value = number(rois[row, column], rois.dtype)
    required = "a number" if column else f"a batch number from 0 to {batches - 1}"
    if not column and not batches:
        required = "no ROI, as X has batch size 0"
    raise OperatorError(f"{operator}: rois row {row} has {COLUMNS[column]} {value}, expected {required}")


def attributes(size: str) -> dict[str, Attribute]:
    """The attributes of an operator whose output size is in the attribute `size`."""
    return {size: Attribute("INTS", required=True), "spatial_scale": Attribute("FLOAT", 1.0)}


def check_attributes(operator: str, size: str, values: Attributes) -> None:
    """M3, of an operator whose output size is in the attribute `size`."""
    sides = values[size]
    if len(sides) != 2 or not all(1 <= side <= LARGEST_SIDE for side in sides):
        raise OperatorError(f"{operator}: {size} is {shape(sides)}, expected two integers from 1 to {LARGEST_SIDE}")
    scale = np.float32(values["spatial_scale"])
    if not (np.isfinite(scale) and scale > 0):
        raise OperatorError(
            f"{operator}: spatial_scale is {number(scale, scale.dtype)}, expected a finite number greater than 0"
        )
