"""MaxRoiPool in the body of a Loop: one image and its boxes per iteration."""

from __future__ import annotations

import numpy as np
import onnx

from onnx_maxpool.graph.building import parsed
from onnx_maxpool.hashing import quarters
from onnx_maxpool.types import Array

GRAPH = """
roi_in_loop (float[N,C,H,W] X, float[N,B,4] boxes) => (float[R,C,3,3] Y)
{
    images = Shape <start = 0, end = 1> (X)
    yes = Constant <value = bool {1}> ()
    per_image = Loop (images, yes) <body = pool_image
        (int64 image, bool go_on) => (bool again, float[B,C,3,3] pooled)
    {
        again = Identity (go_on)
        batch_axis = Constant <value_ints = [0]> ()
        features = Gather <axis = 0> (X, image)
        batch = Unsqueeze (features, batch_axis)
        own_boxes = Gather <axis = 0> (boxes, image)
        batch_column = Constant <value = int64[4] {0, 1, 0, 0}> ()
        rois = Pad (own_boxes, batch_column)
        pooled = MaxRoiPool <pooled_shape = [3, 3], spatial_scale = 0.25> (batch, rois)
    }>
    channels = Shape <start = 1, end = 2> (X)
    rows = Constant <value_ints = [-1]> ()
    bins = Constant <value_ints = [3, 3]> ()
    shape = Concat <axis = 0> (rows, channels, bins)
    Y = Reshape (per_image, shape)
}
"""


def roi_in_loop() -> onnx.ModelProto:
    """Opset 22. X (N, C, H, W) and boxes (N, B, 4) per image, to Y (N*B, C, 3, 3): image by image, a row per box.

    The body takes the features and the boxes from the outer graph, and yields a scan output. The Reshape behind it also
    levels a difference: onnx 1.23's reference evaluator joins scan outputs along their first axis instead of stacking
    them along a new one.
    """
    return parsed(GRAPH)


def roi_in_loop_inputs() -> dict[str, Array]:
    """Four images of 12 x 16 cells, three boxes each: inside, partly outside, malformed."""
    box = np.array([[8, 4, 39, 27], [-12, 20, 30, 70], [40, 30, 10, 10]], np.float32)
    shifts = np.arange(4, dtype=np.float32)[:, None, None] * 4
    return {"X": quarters(2, (4, 3, 12, 16), np.dtype(np.float32)), "boxes": box + shifts}
