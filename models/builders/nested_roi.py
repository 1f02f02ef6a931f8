"""MaxRoiPool below the top of the graph: in a Loop's body, in an If's branches, in a local function."""

from __future__ import annotations

import numpy as np
import onnx

from onnx_maxpool.graph.building import LOCAL_DOMAIN, parsed
from onnx_maxpool.hashing import quarters
from onnx_maxpool.types import Array

IN_LOOP = """
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
    return parsed(IN_LOOP)


def roi_in_loop_inputs() -> dict[str, Array]:
    """Four images of 12 x 16 cells, three boxes each: inside, partly outside, malformed."""
    box = np.array([[8, 4, 39, 27], [-12, 20, 30, 70], [40, 30, 10, 10]], np.float32)
    shifts = np.arange(4, dtype=np.float32)[:, None, None] * 4
    return {"X": quarters(2, (4, 3, 12, 16), np.dtype(np.float32)), "boxes": box + shifts}


IN_IF = """
roi_in_if (float[N,C,H,W] X, float[R,5] rois, bool mirrored) => (float[R,C,2,3] Y)
{
    Y = If (mirrored) <
        then_branch = pool_mirrored () => (float[R,C,2,3] pooled_mirrored)
        {
            start = Constant <value_ints = [-1]> ()
            end = Constant <value_ints = [-9223372036854775807]> ()
            columns = Constant <value_ints = [3]> ()
            backward = Constant <value_ints = [-1]> ()
            reversed = Slice (X, start, end, columns, backward)
            pooled_mirrored = MaxRoiPool <pooled_shape = [2, 3], spatial_scale = 0.5> (reversed, rois)
        },
        else_branch = pool () => (float[R,C,2,3] pooled)
        {
            pooled = MaxRoiPool <pooled_shape = [2, 3], spatial_scale = 0.5> (X, rois)
        }
    >
}
"""


def roi_in_if() -> onnx.ModelProto:
    """Opset 22. X (N, C, H, W), rois (R, 5) and a scalar `mirrored`, to Y (R, C, 2, 3).

    Where `mirrored` is true, the features are reversed from left to right before pooling.
    """
    return parsed(IN_IF)


def roi_in_if_inputs() -> dict[str, Array]:
    """Two images of 10 x 14 cells, three ROIs, mirrored."""
    rois = [[0, 2, 2, 25, 17], [1, 6, 0, 11, 30], [1, -4, -4, 8, 8]]
    return {
        "X": quarters(3, (2, 3, 10, 14), np.dtype(np.float32)),
        "rois": np.array(rois, np.float32),
        "mirrored": np.array(True),
    }


IN_FUNCTION = f"""
roi_in_function (float[1,C,H,W] fine, float[1,C,h,w] coarse, float[R,4] boxes) => (float[R,D,4,4] Y)
{{
    from_fine = {LOCAL_DOMAIN}.PoolBoxes <scale = 0.25> (fine, boxes)
    from_coarse = {LOCAL_DOMAIN}.PoolBoxes <scale = 0.125> (coarse, boxes)
    Y = Concat <axis = 1> (from_fine, from_coarse)
}}

<domain: "{LOCAL_DOMAIN}", opset_import: ["": 22]>
PoolBoxes <scale> (features, boxes) => (pooled)
{{
    batch_column = Constant <value = int64[4] {{0, 1, 0, 0}}> ()
    rois = Pad (boxes, batch_column)
    pooled = MaxRoiPool <pooled_shape = [4, 4], spatial_scale: float = @scale> (features, rois)
}}
"""


def roi_in_function() -> onnx.ModelProto:
    """Opset 22. Two levels of one image's features, (1, C, H, W) and (1, C, h, w), and boxes (R, 4).

    Y is (R, 2C, 4, 4): every box pooled from both levels by the same function.
    """
    return parsed(IN_FUNCTION)


def roi_in_function_inputs() -> dict[str, Array]:
    """Levels of 16 x 20 and 8 x 10 cells, three boxes."""
    boxes = [[4, 4, 75, 59], [30, 12, 41, 50], [60, 40, 120, 90]]
    return {
        "fine": quarters(4, (1, 3, 16, 20), np.dtype(np.float32)),
        "coarse": quarters(5, (1, 3, 8, 10), np.dtype(np.float32)),
        "boxes": np.array(boxes, np.float32),
    }
