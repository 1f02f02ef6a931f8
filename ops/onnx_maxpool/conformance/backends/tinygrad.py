"""tinygrad."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Sequence

import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs
from onnx_maxpool.types import Array


class Tinygrad(Adapter):
    """Models through tinygrad's runner. It raises a NotImplementedError for operators that it does not have."""

    lacking = ("is not a valid Domain",)

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The runner's outputs."""
        import os
        import tempfile

        os.environ.setdefault("DEV", "PYTHON")  # the one device that needs no compiler; tinygrad reads this once
        from tinygrad.nn.onnx import OnnxRunner

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save_model(model, path)
            runner = OnnxRunner(path)
        results = runner(inputs)
        return [results[value.name].numpy() for value in model.graph.output]

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version and device."""
        os.environ.setdefault("DEV", "PYTHON")
        from tinygrad import Device

        return {"tinygrad": importlib.metadata.version("tinygrad"), "device": Device.DEFAULT}
