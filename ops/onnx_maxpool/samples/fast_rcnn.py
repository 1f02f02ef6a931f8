"""A Fast R-CNN that every example can use: the head, small enough for a file with its weights inside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_maxpool.hashing import integers
from onnx_maxpool.samples.fast_rcnn_head import (
    LARGEST_FEATURE,
    POOLED,
    STRIDE,
    HeadSize,
    fast_rcnn_head,
    fast_rcnn_head_inputs,
)

SIZE = HeadSize(hidden=128, name="fast_rcnn", features="features")
ROWS = 8
ROW_GROUP = 2
"""Rows that one worker of a batch run reads at least."""
MAP = (4, 5)
"""Height and width of the feature maps of the rows."""


def fast_rcnn() -> onnx.ModelProto:
    """Opset 22. `features` float (N, 512, H, W) and `rois` (R, 5), `[batch, x1, y1, x2, y2]` in pixels of the image.

    Outputs: `pooled` (R, 512, 7, 7), `cls_score` (R, 21) and `bbox_pred` (R, 84). Exact in float32 for features that
    are integers from 0 to 15, as `fast_rcnn_head` explains.
    """
    model = fast_rcnn_head(SIZE)
    weights = {f"{layer.name}_w": layer for layer in SIZE.layers()}
    for tensor in model.graph.initializer:
        if layer := weights.get(tensor.name):
            values = np.zeros((layer.rows, layer.columns), np.float32)
            layer.fill(values)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    pooled = helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["R", SIZE.channels, POOLED, POOLED])
    model.graph.output.insert(0, pooled)
    return model


def write_model(path: Path) -> None:
    """`fast_rcnn`, with its weights."""
    path.write_bytes(fast_rcnn().SerializeToString(deterministic=True))


def write_inputs(path: Path) -> None:
    """One image's features, (1, 512, 38, 50), and 64 ROIs."""
    inputs = fast_rcnn_head_inputs(SIZE)
    np.savez(path, features=inputs["features"], rois=inputs["rois"])


def write_rows(path: Path) -> None:
    """Columns `id`, `features` (512, 4, 5) and `rois`, lists of `[x1, y1, x2, y2]`: 0, 1, 2, 3, 0, ... of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    features = integers(8, (ROWS, SIZE.channels, *MAP), 0, LARGEST_FEATURE + 1).astype(np.float32)
    height, width = (STRIDE * cells for cells in MAP)
    corners = integers(9, (ROWS, 3, 2, 2), 0, min(height, width)).astype(np.float32)
    boxes = np.concatenate([corners.min(axis=2), corners.max(axis=2)], axis=2)
    columns = {
        "id": [f"image {row}" for row in range(ROWS)],
        "features": pa.FixedShapeTensorArray.from_numpy_ndarray(features),
        "rois": pa.array([boxes[row, : row % 4].tolist() for row in range(ROWS)], pa.list_(pa.list_(pa.float32()))),
    }
    pq.write_table(pa.table(columns), path, row_group_size=ROW_GROUP)
