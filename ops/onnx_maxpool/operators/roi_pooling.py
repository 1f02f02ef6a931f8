"""DirectML RoiPooling, since version 1: rules D1 and D2, and with them M3 to M11."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from onnx_maxpool.operators.definition import Operator, Schema
from onnx_maxpool.operators.roi import attributes, check_attributes, check_shapes, roi_max
from onnx_maxpool.types import Array, Attributes, BinEdges, Dims

NAME = "RoiPooling"
LEADING = (1, 1)
"""The ROI tensor's first two dimensions (D1)."""


def roi_pooling(
    x: Array,
    rois: Array,
    *,
    pooled_size: tuple[int, int],
    spatial_scale: float,
    bin_edges: BinEdges,
) -> tuple[Array]:
    """Maximum over a grid of `pooled_size` bins in each ROI.

    `x` (N, C, H, W) and `rois` (1, 1, R, 5), one float type; returns one array (R, C, pooled_height, pooled_width).
    Raises OperatorError for wrong shapes (D1), a batch number out of range (M10) and a NaN coordinate (M11).
    """
    check_shapes(NAME, x.shape, rois.shape, LEADING)
    height, width = pooled_size
    return (roi_max(NAME, x, rois[0, 0], (height, width), spatial_scale, bin_edges),)


def infer_shape(shapes: Sequence[Dims | None], values: Sequence[Dims | None], attributes: Attributes) -> Dims:
    """(R, C, pooled_height, pooled_width), as far as it is known."""
    x, rois = shapes
    return (rois[2] if rois else None, x[1] if x else None, *attributes["pooled_size"])


SCHEMA = Schema(
    doc="""
The maximum over a grid of bins in each region of interest (ROI) of a feature map: `DML_ROI_POOLING` of DirectML's
feature level 1.0, by the rules of ai.onnx's MaxRoiPool for another shape of ROI tensor (D1).

A ROI's corners, both inclusive, are multiplied by `spatial_scale` and rounded, halves away from zero (M5). The ROI is
at least one cell in extent (M6). Along an axis, bin `p` of `P` over `L` cells from cell `s` covers the cells from
`s + floor(p*L / P)` up to, not including, `s + ceil((p+1)*L / P)`, in exact integers (M7), as far as they lie on the
map (M8). A bin without cells gives 0 (M9), and a bin with a NaN gives NaN (G3). A batch number that is out of range
and a NaN coordinate are errors (M10, M11).
""",
    docs={
        "X": "Feature maps (N, C, H, W).",
        "rois": "ROIs (1, 1, R, 5), each `[batch, x1, y1, x2, y2]`.",
        "Y": "Maxima (R, C, pooled_height, pooled_width).",
        "T": "Feature maps, ROIs and maxima have one type (D2).",
        "pooled_size": "The number of bins along y and along x: two positive integers.",
        "spatial_scale": "Cells of the feature map per unit of the ROIs' coordinates: finite, greater than 0.",
    },
)

OPERATOR = Operator(
    inputs={"X": "T", "rois": "T"},
    outputs=("Y",),
    attributes=attributes("pooled_size"),
    check_attributes=partial(check_attributes, NAME, "pooled_size"),
    check_shapes=lambda shapes, attributes: check_shapes(NAME, shapes[0], shapes[1], LEADING),
    infer_shape=infer_shape,
    evaluate=roi_pooling,
    schema=SCHEMA,
)
