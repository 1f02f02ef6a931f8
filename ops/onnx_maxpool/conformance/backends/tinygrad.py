"""tinygrad."""

from __future__ import annotations

import importlib.metadata
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import onnx

os.environ.setdefault("DEV", "PYTHON")  # the one device that needs no compiler; tinygrad reads this once

from tinygrad import Device
from tinygrad.nn.onnx import OnnxRunner

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.types import Array

LACKING = "is not a valid Domain"
"""How it says that it has no such domain."""


class Tinygrad(Adapter):
    """Models through tinygrad's runner. It raises a NotImplementedError for operators that it does not have."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A runner."""
        with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as folder:
            path = Path(folder) / "model.onnx"
            onnx.save_model(model, path)
            try:
                runner = OnnxRunner(path)
            except ValueError as error:
                if LACKING in str(error):
                    raise UnsupportedError(str(error)) from error
                raise
        names = [value.name for value in model.graph.input]
        outputs = [value.name for value in model.graph.output]

        def run(arrays: Sequence[Array]) -> list[Array]:
            results = runner(dict(zip(names, arrays, strict=True)))
            return [results[name].numpy() for name in outputs]

        return run

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version and device."""
        return {"tinygrad": importlib.metadata.version("tinygrad"), "device": Device.DEFAULT}
