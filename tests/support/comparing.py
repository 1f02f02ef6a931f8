"""A network for the tests of `compare`, with MaxRoiPool in its middle, and how what the command prints is read."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import onnx
from onnx import helper, numpy_helper

Command = Callable[..., tuple[int, str]]
SIZES = ["--dim", "N=2", "--dim", "H=40", "--dim", "W=56", "--dim", "R=9"]


def network(seed: int = 0) -> onnx.ModelProto:
    """Two Conv and Relu, MaxRoiPool on an eighth of the image's cells, and two Gemm, of random weights."""
    random = np.random.default_rng(seed)
    shapes = {"w1": (16, 3, 3, 3), "w2": (32, 16, 3, 3), "w3": (32 * 49, 64), "w4": (64, 10)}
    weights = {
        name: (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:] if len(shape) == 4 else shape[:1]))).astype(
            "f4"
        )
        for name, shape in shapes.items()
    }
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["c1"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c2"], ["features"]),
        helper.make_node(
            "MaxRoiPool", ["features", "rois"], ["pooled"], name="pool", pooled_shape=[7, 7], spatial_scale=0.5
        ),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w3"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "w4"], ["scores"]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "network",
        [value("image", onnx.TensorProto.FLOAT, ["N", 3, "H", "W"]), value("rois", onnx.TensorProto.FLOAT, ["R", 5])],
        [value("scores", onnx.TensorProto.FLOAT, ["R", 10])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def row(out: str, start: str) -> list[str]:
    """The words of the one line that starts so."""
    (line,) = (line for line in out.splitlines() if line.startswith(start))
    return line.split()
