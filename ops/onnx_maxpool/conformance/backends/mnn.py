"""MNN."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import _tools as converter  # MNN's converter itself: its Python wrapper installs packages and calls a server
import MNN
import MNN.expr as expr
import MNN.nn as nn
import numpy as np
import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.types import Array


class Mnn(Adapter):
    """Models through MNN's converter; only float32."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A module."""
        for value in model.graph.input:
            if value.type.tensor_type.elem_type != onnx.TensorProto.FLOAT:
                raise UnsupportedError("MNN is asked only in float32")
        inputs = [value.name for value in model.graph.input]
        outputs = [value.name for value in model.graph.output]
        with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as folder:
            source, converted = Path(folder) / "model.onnx", Path(folder) / "model.mnn"
            onnx.save_model(model, source)
            files = ["--modelFile", str(source), "--MNNModel", str(converted)]
            converter.mnnconvert(["mnnconvert", "-f", "ONNX", *files, "--bizCode", "conformance"])
            if not converted.exists():
                raise UnsupportedError("MNN's converter writes no model")
            module = nn.load_module_from_file(str(converted), inputs, outputs)

        def run(arrays: Sequence[Array]) -> list[Array]:
            variables = []
            for array in arrays:
                variable = expr.placeholder(list(array.shape), expr.NCHW)
                variable.write(np.ascontiguousarray(array))
                variables.append(variable)
            return [np.array(expr.convert(result, expr.NCHW).read()) for result in module.forward(variables)]

        return run

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        return {"MNN": MNN.version(), "device": "CPU"}
