"""onnx2pytorch."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

import onnx
import torch
import torchvision
from onnx2pytorch import ConvertModel

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.backends.torch import array, tensor
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.types import Array


class Onnx2Pytorch(Adapter):
    """Models as torch's modules. It raises a NotImplementedError for operators that it does not have."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A module."""
        module = ConvertModel(model)

        def run(arrays: Sequence[Array]) -> list[Array]:
            with torch.no_grad():
                results = module(*map(tensor, arrays))
            outputs = results if isinstance(results, list | tuple) else [results]
            if len(outputs) < len(model.graph.output):
                raise UnsupportedError(f"the module gives {len(outputs)} of {len(model.graph.output)} outputs")
            return [array(y) for y in outputs]

        return run

    @classmethod
    def describe(cls) -> dict[str, str]:
        """All three versions."""
        return {
            "onnx2pytorch": importlib.metadata.version("onnx2pytorch"),
            "torchvision": torchvision.__version__,
            "torch": torch.__version__,
            "device": "CPU",
        }
