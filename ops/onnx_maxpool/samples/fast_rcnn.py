"""Fast R-CNN from its feature map on: the head at VGG-16's shape, and a small one, which has its weights inside.

The weights make float32 exact. Two runtimes that sum a matrix product in different orders get different float32
results, and a comparison then needs a tolerance, which would hide the very differences that matter here: a maximum has
none (G6). So the weights and the sample features are chosen such that *every* order gives the same bits:

- features are integers from 0 to 15;
- a column of weights holds at most `FC6_TERMS`, `FC7_TERMS` or `OUTPUT_TERMS` values that are not 0, each plus or minus
  one and the same power of two per layer;
- a bias is at most one such power of two (the layer's unit) in size.

In units of a layer's smallest step, every partial sum, in any order, is then an integer of at most

    fc6      15 * 256 + 1                      =      3,841
    fc7      3,841 * 64 + 1                    =    245,825
    outputs  245,825 * 64 + 1                  = 15,732,801  <  2^24 = 16,777,216

and float32 holds every integer up to 2^24. Nothing rounds, with or without fused multiply-add. The zeros cost as much
time as any other weight: the matrices are dense to a runtime.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from onnx_maxpool.graph.building import finished
from onnx_maxpool.hashing import integers, splitmix64
from onnx_maxpool.types import Array

LARGEST_FEATURE = 15
FC6_TERMS = 256
FC7_TERMS = 64
OUTPUT_TERMS = 64
POOLED = 7
STRIDE = 16
"""Pixels per cell of VGG-16's conv5_3."""
PAGE = 4096
"""Weights start at multiples of this, so that a runtime can map them into memory."""


@dataclass(frozen=True)
class HeadSize:
    """The head's dimensions; the defaults are those of VGG-16 and PASCAL VOC."""

    channels: int = 512
    hidden: int = 4096
    classes: int = 21
    name: str = "fast_rcnn_head"
    features: str = "conv5_3"
    """The name of the input that holds the feature map."""

    def layers(self) -> Iterator[Layer]:
        """The fully connected layers in the order of the weights file."""
        pooled = self.channels * POOLED * POOLED
        yield Layer("fc6", "pooled_flat", pooled, self.hidden, FC6_TERMS, -7, relu=True)
        yield Layer("fc7", "fc6_relu", self.hidden, self.hidden, FC7_TERMS, -3, relu=True)
        yield Layer("cls_score", "fc7_relu", self.hidden, self.classes, OUTPUT_TERMS, -5, relu=False)
        yield Layer("bbox_pred", "fc7_relu", self.hidden, 4 * self.classes, OUTPUT_TERMS, -7, relu=False)


@dataclass(frozen=True)
class Layer:
    """A Gemm, with a Relu behind it or not: weights (rows, columns), bias (columns,), float32."""

    name: str
    source: str
    """The tensor that it reads."""
    rows: int
    columns: int
    terms: int
    """At most so many weights of a column are not 0."""
    exponent: int
    """A weight is plus or minus 2 to this, or 0."""
    relu: bool

    @property
    def seed(self) -> int:
        """Differs from layer to layer."""
        return int.from_bytes(self.name.encode(), "little") % 2**63

    @property
    def bytes(self) -> int:
        """The size of the weights."""
        return self.rows * self.columns * 4

    def bias(self, step: float) -> npt.NDArray[np.float32]:
        """-1, 0 or 1 `step`, the smallest step of the layer's sums."""
        return (integers(self.seed + 1, (self.columns,), -1, 2) * step).astype(np.float32)

    def fill(self, weights: npt.NDArray[np.float32]) -> None:
        """Set the weights that are not 0, in a zero array of shape (rows, columns).

        Where two terms of a column draw the same row, one of them remains: the bound holds all the same.
        """
        drawn = splitmix64(self.seed, self.terms * self.columns).reshape(self.terms, self.columns)
        row = ((drawn >> np.uint64(1)) % np.uint64(self.rows)).astype(np.int64)
        sign = np.where(drawn & np.uint64(1), np.float32(1), np.float32(-1))
        # Term by term, for the order of assignments to one place within a single call is not defined.
        for r, s in zip(row, sign, strict=True):
            weights[r, np.arange(self.columns)] = s * np.float32(2.0**self.exponent)


def fast_rcnn_head(size: HeadSize | None = None) -> onnx.ModelProto:
    """Opset 22. The features, float (N, C, H, W), and `rois` (R, 5), to `cls_score` (R, classes) and `bbox_pred`.

    `bbox_pred` is (R, 4 classes). MaxRoiPool 7 x 7 at scale 1/16, two hidden layers with Relu, two outputs; the pooled
    tensor is no output. The weights are external, in `<name>.weights`, which `write_weights` writes.
    """
    size = size or HeadSize()
    nodes = [
        helper.make_node(
            "MaxRoiPool", [size.features, "rois"], ["pooled"], pooled_shape=[POOLED, POOLED], spatial_scale=1 / STRIDE
        ),
        helper.make_node("Flatten", ["pooled"], ["pooled_flat"]),
    ]
    initializers = []
    offset = 0
    steps = {"pooled_flat": 1.0}
    for layer in size.layers():
        step = steps[layer.source] * 2.0**layer.exponent
        steps[f"{layer.name}_relu"] = step
        initializers += [external_weights(layer, f"{size.name}.weights", offset), inline_bias(layer, step)]
        nodes.append(helper.make_node("Gemm", [layer.source, f"{layer.name}_w", f"{layer.name}_b"], [layer.name]))
        if layer.relu:
            nodes.append(helper.make_node("Relu", [layer.name], [f"{layer.name}_relu"]))
        offset += padded(layer.bytes)
    graph = helper.make_graph(
        nodes,
        size.name,
        [
            helper.make_tensor_value_info(size.features, TensorProto.FLOAT, ["N", size.channels, "H", "W"]),
            helper.make_tensor_value_info("rois", TensorProto.FLOAT, ["R", 5]),
        ],
        [
            helper.make_tensor_value_info("cls_score", TensorProto.FLOAT, ["R", size.classes]),
            helper.make_tensor_value_info("bbox_pred", TensorProto.FLOAT, ["R", 4 * size.classes]),
        ],
        initializers,
    )
    return finished(graph, {"": 22})


def external_weights(layer: Layer, location: str, offset: int) -> TensorProto:
    """A reference to the layer's weights in the weights file."""
    tensor = TensorProto(
        name=f"{layer.name}_w",
        data_type=TensorProto.FLOAT,
        dims=[layer.rows, layer.columns],
        data_location=TensorProto.EXTERNAL,
    )
    for key, value in {"location": location, "offset": offset, "length": layer.bytes}.items():
        tensor.external_data.add(key=key, value=str(value))
    return tensor


def inline_bias(layer: Layer, step: float) -> TensorProto:
    """The layer's bias, in the model itself."""
    return numpy_helper.from_array(layer.bias(step), f"{layer.name}_b")


def write_weights(folder: Path, size: HeadSize | None = None) -> Path:
    """Write `<name>.weights` into `folder`; 458 MiB at full size.

    The file is filled through a memory map, so the process never holds the weights.
    """
    size = size or HeadSize()
    path = folder / f"{size.name}.weights"
    with path.open("wb") as file:
        file.truncate(sum(padded(layer.bytes) for layer in size.layers()))
    offset = 0
    for layer in size.layers():
        weights = np.memmap(path, np.dtype("<f4"), mode="r+", offset=offset, shape=(layer.rows, layer.columns))
        layer.fill(weights)
        offset += padded(layer.bytes)
    return path


def padded(count: int) -> int:
    """`count` bytes, rounded up to whole pages."""
    return -(-count // PAGE) * PAGE


def fast_rcnn_head_inputs(size: HeadSize | None = None) -> dict[str, Array]:
    """Features (1, C, 38, 50) of a 600 x 800 image, integers from 0 to 15, three in four of them 0; 64 ROIs."""
    size = size or HeadSize()
    drawn = integers(6, (1, size.channels, 38, 50), 0, 4 * (LARGEST_FEATURE + 1))
    features = np.where(drawn <= LARGEST_FEATURE, drawn, 0)
    corners = integers(7, (64, 2, 2), -40, 840).astype(np.float32)
    rois = np.zeros((64, 5), np.float32)
    rois[:, 1:3] = corners.min(axis=1)
    rois[:, 3:5] = corners.max(axis=1)
    return {size.features: features.astype(np.float32), "rois": rois}


SMALL = HeadSize(hidden=128, name="fast_rcnn", features="features")
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
    model = fast_rcnn_head(SMALL)
    weights = {f"{layer.name}_w": layer for layer in SMALL.layers()}
    for tensor in model.graph.initializer:
        if layer := weights.get(tensor.name):
            values = np.zeros((layer.rows, layer.columns), np.float32)
            layer.fill(values)
            tensor.CopyFrom(numpy_helper.from_array(values, tensor.name))
    pooled = helper.make_tensor_value_info("pooled", TensorProto.FLOAT, ["R", SMALL.channels, POOLED, POOLED])
    model.graph.output.insert(0, pooled)
    return model


def write_model(path: Path) -> None:
    """`fast_rcnn`, with its weights."""
    path.write_bytes(fast_rcnn().SerializeToString(deterministic=True))


def write_inputs(path: Path) -> None:
    """One image's features, (1, 512, 38, 50), and 64 ROIs."""
    inputs = fast_rcnn_head_inputs(SMALL)
    np.savez(path, features=inputs["features"], rois=inputs["rois"])


def write_rows(path: Path) -> None:
    """Columns `id`, `features` (512, 4, 5) and `rois`, lists of `[x1, y1, x2, y2]`: 0, 1, 2, 3, 0, ... of them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    features = integers(8, (ROWS, SMALL.channels, *MAP), 0, LARGEST_FEATURE + 1).astype(np.float32)
    height, width = (STRIDE * cells for cells in MAP)
    corners = integers(9, (ROWS, 3, 2, 2), 0, min(height, width)).astype(np.float32)
    boxes = np.concatenate([corners.min(axis=2), corners.max(axis=2)], axis=2)
    columns = {
        "id": [f"image {row}" for row in range(ROWS)],
        "features": pa.FixedShapeTensorArray.from_numpy_ndarray(features),
        "rois": pa.array([boxes[row, : row % 4].tolist() for row in range(ROWS)], pa.list_(pa.list_(pa.float32()))),
    }
    pq.write_table(pa.table(columns), path, row_group_size=ROW_GROUP)
