"""MNN: a graph of one node, saved, and run as a module.

A session of MNN's older interface is no faster, and gives its inputs' memory to other tensors, so that they would have
to be copied in before every run. MNN's converter is not used: importing `MNN.tools` installs a package for logging.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

import MNN
import numpy as np
from MNN import expr

from onnx_maxpool.benchmark.peers import Call
from onnx_maxpool.benchmark.rows import RoiCase, Row
from onnx_maxpool.types import Array


def versions() -> dict[str, str]:
    """Versions by distribution."""
    return {"MNN": version("MNN")}


def prepare(row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
    """The row, ready to run on so many threads."""
    if row.type != "float" or not isinstance(row.case, RoiCase):
        raise ValueError("asked only for ROIs on float maps, because it has no indices")
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
        runtime = MNN.nn.create_runtime_manager(({"backend": "CPU", "numThread": threads, "precision": "high"},))
        module = MNN.nn.load_module_from_file(path, ["X", "rois"], ["Y"], runtime_manager=runtime)
    constants = [expr.const(inputs[name], list(inputs[name].shape), expr.NCHW) for name in ("X", "rois")]
    return Call(
        run=lambda: module.forward(constants),
        outputs=lambda: [np.array(module.forward(constants)[0].read())],
        keeps=(runtime, inputs),
    )
