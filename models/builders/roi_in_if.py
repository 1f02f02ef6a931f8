"""MaxRoiPool in both branches of an If."""

from __future__ import annotations

import numpy as np
import onnx

from onnx_maxpool.graph.building import parsed
from onnx_maxpool.hashing import quarters
from onnx_maxpool.types import Array

GRAPH = """
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
    return parsed(GRAPH)


def roi_in_if_inputs() -> dict[str, Array]:
    """Two images of 10 x 14 cells, three ROIs, mirrored."""
    rois = [[0, 2, 2, 25, 17], [1, 6, 0, 11, 30], [1, -4, -4, 8, 8]]
    return {
        "X": quarters(3, (2, 3, 10, 14), np.dtype(np.float32)),
        "rois": np.array(rois, np.float32),
        "mirrored": np.array(True),
    }
