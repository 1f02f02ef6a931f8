"""onnx2torch."""

from __future__ import annotations

import importlib.metadata

import onnx
import torch
from onnx2torch import convert

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.backends.torch import module_run


class Onnx2Torch(Adapter):
    """Models as torch's modules. It raises a NotImplementedError for operators that it does not have."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A module."""
        return module_run(convert(model), len(model.graph.output))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Both versions."""
        return {"onnx2torch": importlib.metadata.version("onnx2torch"), "torch": torch.__version__, "device": "CPU"}
