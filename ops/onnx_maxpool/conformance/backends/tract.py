"""tract."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

import numpy as np
import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs
from onnx_maxpool.types import Array


class Tract(Adapter):
    """Models through tract's ONNX front end."""

    lacking = ("Unimplemented(", "Unknown DatumType")

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs of a runnable."""
        import os
        import tempfile

        import tract

        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save_model(model, path)
            runnable = tract.onnx().load(path).into_model().into_runnable()
        return [y.to_numpy() for y in runnable.run([np.ascontiguousarray(array) for array in inputs.values()])]

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        import tract  # noqa: F401

        return {"tract": importlib.metadata.version("tract"), "device": "CPU"}
