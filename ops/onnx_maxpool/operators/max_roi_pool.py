"""ai.onnx MaxRoiPool, since versions 1 and 22: rules M1 to M11."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from onnx_maxpool.operators.definition import Operator
from onnx_maxpool.operators.roi import attributes, check_attributes, check_shapes, roi_max
from onnx_maxpool.types import Array, Attributes, BinEdges, Dims

NAME = "MaxRoiPool"


def max_roi_pool(
    x: Array,
    rois: Array,
    *,
    pooled_shape: tuple[int, int],
    spatial_scale: float,
    bin_edges: BinEdges,
) -> tuple[Array]:
    """Maximum over a grid of `pooled_shape` bins in each ROI.

    `x` (N, C, H, W) and `rois` (R, 5), one float type; returns one array (R, C, pooled_height, pooled_width).
    Raises OperatorError for wrong shapes (M1), a batch number out of range (M10) and a NaN coordinate (M11).
    """
    check_shapes(NAME, x.shape, rois.shape)
    height, width = pooled_shape
    return (roi_max(NAME, x, rois, (height, width), spatial_scale, bin_edges),)


def infer_shape(shapes: Sequence[Dims | None], values: Sequence[Dims | None], attributes: Attributes) -> Dims:
    """(R, C, pooled_height, pooled_width), as far as it is known."""
    x, rois = shapes
    return (rois[0] if rois else None, x[1] if x else None, *attributes["pooled_shape"])


OPERATOR = Operator(
    inputs={"X": "T", "rois": "T"},
    outputs=("Y",),
    attributes=attributes("pooled_shape"),
    check_attributes=partial(check_attributes, NAME, "pooled_shape"),
    check_shapes=lambda shapes, attributes: check_shapes(NAME, shapes[0], shapes[1]),
    infer_shape=infer_shape,
    evaluate=max_roi_pool,
)
