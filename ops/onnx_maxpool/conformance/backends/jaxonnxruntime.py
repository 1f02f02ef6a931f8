"""jaxonnxruntime."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

import numpy as np
import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs
from onnx_maxpool.types import Array


class JaxOnnxRuntime(Adapter):
    """Models as functions of JAX. It raises a NotImplementedError for operators that it does not have."""

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The function's outputs."""
        import jax
        from jaxonnxruntime.backend import BackendRep

        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_enable_x64", True)  # else double and int64 become 32 bits
        return [np.asarray(y) for y in BackendRep(model).run(list(inputs.values()))]

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Both versions."""
        import jax
        import jaxonnxruntime.backend  # noqa: F401

        return {"jaxonnxruntime": importlib.metadata.version("jaxonnxruntime"), "jax": jax.__version__, "device": "CPU"}
