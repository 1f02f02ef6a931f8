"""onnx2pytorch."""

from __future__ import annotations

import importlib.metadata

import onnx
import torch
import torchvision
from onnx2pytorch import ConvertModel

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.backends.torch import module_run


class Onnx2Pytorch(Adapter):
    """Models as torch's modules. It raises a NotImplementedError for operators that it does not have."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A module."""
        return module_run(ConvertModel(model), len(model.graph.output))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """All three versions."""
        return {
            "onnx2pytorch": importlib.metadata.version("onnx2pytorch"),
            "torchvision": torchvision.__version__,
            "torch": torch.__version__,
            "device": "CPU",
        }
