"""MNN."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.types import Array


class Mnn(Adapter):
    """Models through MNN's converter; only float32."""

    lacking = ("MNN's converter writes no model",)

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs of a module."""
        import os
        import tempfile

        import _tools as converter  # MNN's converter itself: its Python wrapper installs packages and calls a server
        import MNN.expr as expr
        import MNN.nn as nn

        with tempfile.TemporaryDirectory() as folder:
            source, converted = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.mnn")
            onnx.save_model(model, source)
            files = ["--modelFile", source, "--MNNModel", converted]
            converter.mnnconvert(["mnnconvert", "-f", "ONNX", *files, "--bizCode", "conformance"])
            if not os.path.exists(converted):
                raise RuntimeError("MNN's converter writes no model")
            module = nn.load_module_from_file(converted, list(inputs), [value.name for value in model.graph.output])
        variables = []
        for array in inputs.values():
            variable = expr.placeholder(list(array.shape), expr.NCHW)
            variable.write(np.ascontiguousarray(array))
            variables.append(variable)
        results = module.forward(variables)
        if len(results) != len(model.graph.output):  # which is all that MNN says of an error
            raise RuntimeError(f"MNN gives {len(results)} outputs, expected {len(model.graph.output)}")
        return [np.array(expr.convert(result, expr.NCHW).read()) for result in results]

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """What runs a model whose inputs are float32."""
        for value in model.graph.input:
            if value.type.tensor_type.elem_type != onnx.TensorProto.FLOAT:
                raise UnsupportedError("MNN is asked only in float32")
        return super().load(model)

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        import _tools  # noqa: F401
        import MNN

        return {"MNN": MNN.version(), "device": "CPU"}
