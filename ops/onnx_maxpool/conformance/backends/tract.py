"""tract."""

from __future__ import annotations

import importlib.metadata
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import tract

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.types import Array

LACKING = ("Unimplemented(", "Unknown DatumType")
"""How it says that it has no such operator or element type."""


class Tract(Adapter):
    """Models through tract's ONNX front end."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A runnable."""
        with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as folder:
            path = Path(folder) / "model.onnx"
            onnx.save_model(model, path)
            try:
                runnable = tract.onnx().load(str(path)).into_model().into_runnable()
            except tract.TractError as error:
                if any(words in str(error) for words in LACKING):
                    raise UnsupportedError(str(error)) from error
                raise

        def run(arrays: Sequence[Array]) -> list[Array]:
            return [y.to_numpy() for y in runnable.run(list(map(np.ascontiguousarray, arrays)))]

        return run

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        return {"tract": importlib.metadata.version("tract"), "device": "CPU"}
