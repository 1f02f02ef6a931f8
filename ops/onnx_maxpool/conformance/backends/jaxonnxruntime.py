"""jaxonnxruntime."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

import jax
import numpy as np
import onnx
from jaxonnxruntime.backend import BackendRep

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.types import Array

jax.config.update("jax_platforms", "cpu")
jax.config.update("jax_enable_x64", True)  # else double and int64 become 32 bits


class JaxOnnxRuntime(Adapter):
    """Models as functions of JAX. It raises a NotImplementedError for operators that it does not have."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A function."""
        prepared = BackendRep(model)

        def run(arrays: Sequence[Array]) -> list[Array]:
            return [np.asarray(y) for y in prepared.run(list(arrays))]

        return run

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Both versions."""
        return {"jaxonnxruntime": importlib.metadata.version("jaxonnxruntime"), "jax": jax.__version__, "device": "CPU"}
