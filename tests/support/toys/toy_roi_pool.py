"""An operator on ROIs (1, R, 5), whose output's size is in `bins`: what its module in the package would be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from onnx_maxpool.operators.definition import Operator, Schema
from onnx_maxpool.operators.roi import attributes, check_attributes, check_shapes, roi_max
from onnx_maxpool.types import Array, Attributes, BinEdges, Dims

NAME = "ToyRoiPool"
LEADING = (1,)


def toy_roi_pool(
    x: Array, rois: Array, *, bins: Sequence[int], spatial_scale: float, bin_edges: BinEdges
) -> tuple[Array]:
    check_shapes(NAME, x.shape, rois.shape, LEADING)
    height, width = bins
    return (roi_max(NAME, x, rois[0], (height, width), spatial_scale, bin_edges),)


def infer_shape(shapes: Sequence[Dims | None], values: Sequence[Dims | None], attributes: Attributes) -> Dims:
    x, rois = shapes
    return (rois[1] if rois else None, x[1] if x else None, *attributes["bins"])


OPERATOR = Operator(
    inputs={"X": "T", "rois": "T"},
    outputs=("Y",),
    attributes=attributes("bins"),
    check_attributes=partial(check_attributes, NAME, "bins"),
    check_shapes=lambda shapes, attributes: check_shapes(NAME, shapes[0], shapes[1], LEADING),
    infer_shape=infer_shape,
    evaluate=toy_roi_pool,
    schema=Schema(
        doc="A toy.",
        docs=dict.fromkeys(("X", "rois", "Y", "T", "bins", "spatial_scale"), "Of a toy."),
    ),
)
