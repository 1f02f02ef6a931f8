"""MaxRoiPool in a local function, which gets `spatial_scale` by attribute reference."""

from __future__ import annotations

import numpy as np
import onnx

from onnx_maxpool.graph.building import LOCAL_DOMAIN, parsed
from onnx_maxpool.hashing import quarters
from onnx_maxpool.types import Array

GRAPH = f"""
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
    return parsed(GRAPH)


def roi_in_function_inputs() -> dict[str, Array]:
    """Levels of 16 x 20 and 8 x 10 cells, three boxes."""
    boxes = [[4, 4, 75, 59], [30, 12, 41, 50], [60, 40, 120, 90]]
    return {
        "fine": quarters(4, (1, 3, 16, 20), np.dtype(np.float32)),
        "coarse": quarters(5, (1, 3, 8, 10), np.dtype(np.float32)),
        "boxes": np.array(boxes, np.float32),
    }
