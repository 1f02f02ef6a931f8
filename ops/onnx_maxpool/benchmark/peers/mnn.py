"""MNN: a graph of one node, saved and run as MNN's converter would have it.

The converter itself is not used: importing `MNN.tools` installs a package for logging.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import MNN
import numpy as np
from MNN import expr

from onnx_maxpool.aliases import Array
from onnx_maxpool.benchmark.peers import Call
from onnx_maxpool.benchmark.rows import RoiCase, Row


def versions() -> dict[str, str]:
    """Versions by distribution."""
    return {"MNN": version("MNN")}


def prepare(row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
    """The row, ready to run on so many threads."""
    if row.type != "float" or not isinstance(row.case, RoiCase):
        raise ValueError("timed for ROIs on float maps alone: it has no indices")
    placeholders = {name: expr.placeholder(list(array.shape), expr.NCHW, expr.float) for name, array in inputs.items()}
    for name, placeholder in placeholders.items():
        placeholder.name = name
    x, rois = placeholders["X"], placeholders["rois"]
    pooled = expr.roi_pooling(expr.convert(x, expr.NC4HW4), rois, row.case.pooled, row.case.pooled, row.case.scale)
    result = expr.convert(pooled, expr.NCHW)
    result.name = "Y"
    with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as folder:
        path = str(Path(folder) / "row.mnn")
        expr.save([result], path)
        interpreter = MNN.Interpreter(path)
    session = interpreter.createSession({"backend": "CPU", "numThread": threads, "precision": "high"})
    for name, array in inputs.items():
        interpreter.getSessionInput(session, name).copyFrom(host_tensor(array))

    def outputs() -> list[Array]:
        tensor = interpreter.getSessionOutput(session, "Y")
        host = host_tensor(np.zeros(tensor.getShape(), np.float32))
        tensor.copyToHostTensor(host)
        return [np.array(host.getNumpyData())]

    return Call(lambda: interpreter.runSession(session), outputs)


def host_tensor(array: Array) -> Any:
    """A copy of a float array, in NCHW order."""
    return MNN.Tensor(array.shape, MNN.Halide_Type_Float, array, MNN.Tensor_DimensionType_Caffe)
