"""Inputs that a model of `to_portable` rejects while it runs, and what it says: the tests' table and the docs'."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from onnx_maxpool.types import Array

HEADER = '<ir_version: 8, opset_import: ["": 18, "directml": 5, "org.openvinotoolkit": 8]>'
MAX_ROI_POOL = "g (float[] X, float[] rois) => (float[] Y) { Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois) }"
ROI_POOLING = "g (float[] X, float[] rois) => (float[] Y) { Y = directml.RoiPooling <pooled_size = [2, 2]> (X, rois) }"
MAX_POOLING = "g (float[1,1,h,w] X) => (float[] Y) { Y = directml.MaxPooling1 <window_size = [3, 3]> (X) }"
ADAPTIVE = """g (float[1,1,h,w] X, int64[2] output_size) => (float[1,1,a,b] Y) {
    Y, = org.openvinotoolkit.AdaptiveMaxPool (X, output_size)
}"""
X = np.zeros((2, 1, 4, 4), np.float32)
BOX = np.array([[0, 0, 0, 1, 1]], np.float32)


class Bad(NamedTuple):
    guard: str
    model: str
    inputs: Mapping[str, Array]
    said: str
    openvino_reads_it: bool = True
    """Or it rejects the rank of X before the run."""


def rois(*row: float) -> dict[str, Array]:
    return {"X": X, "rois": np.array([BOX[0], row], np.float32)}


RANKS = "MaxRoiPool (Y): X or rois has another shape, expected X [N,C,H,W] and rois [R,5]"
NO_IMAGE = "MaxRoiPool (Y): rois has a batch number that no image has, expected one of an image in X, from 0 on"
NO_NUMBER = "MaxRoiPool (Y): rois has a coordinate that is NaN, expected a number"
LEADS = "RoiPooling (Y): rois has another shape, expected [1,1,R,5]"
SMALL = "MaxPooling1 (Y): X is too small for a window along dimension {}, expected room for one, padding included"
SIZES = (
    "AdaptiveMaxPool (Y): output_size has a size out of range or too many or too few sizes, "
    "expected one from 1 to 2147483647 for each spatial dimension of X"
)
NO_CELLS = "AdaptiveMaxPool (Y): X has a spatial dimension of size 0, expected at least 1"

BAD_CONVERTED = (
    Bad("x_has_4_dimensions_and_rois_are_r_by_5", MAX_ROI_POOL, {"X": X, "rois": BOX[:, :4]}, RANKS),
    Bad("x_has_4_dimensions_and_rois_are_r_by_5", MAX_ROI_POOL, {"X": X[..., None], "rois": BOX}, RANKS, False),
    Bad("every_batch_is_in_range", MAX_ROI_POOL, rois(2, 0, 0, 1, 1), NO_IMAGE),
    Bad("every_batch_is_in_range", MAX_ROI_POOL, rois(-1, 0, 0, 1, 1), NO_IMAGE),
    Bad("no_coordinate_is_nan", MAX_ROI_POOL, rois(1, 0, np.nan, 1, 1), NO_NUMBER),
    Bad(
        "rois_begin_with_two_dimensions_of_1", ROI_POOLING, {"X": X, "rois": np.zeros((1, 2, 1, 5), np.float32)}, LEADS
    ),
    Bad("every_axis_has_a_window", MAX_POOLING, {"X": X[:1, :, :2]}, SMALL.format(2)),
    Bad("every_axis_has_a_window", MAX_POOLING, {"X": X[:1, :, :, :2]}, SMALL.format(3)),
    Bad("every_size_is_in_range", ADAPTIVE, {"X": X[:1], "output_size": np.array([2, 0])}, SIZES),
    Bad("every_size_is_in_range", ADAPTIVE, {"X": X[:1], "output_size": np.array([2, 2**31])}, SIZES),
    Bad("x_has_cells", ADAPTIVE, {"X": X[:1, :, :0], "output_size": np.array([2, 2])}, NO_CELLS),
)
