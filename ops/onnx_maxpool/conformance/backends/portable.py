"""Our operators as standard ones, in ONNX Runtime as it is installed."""

from __future__ import annotations

import onnx

from onnx_maxpool.adapters.portable import to_portable
from onnx_maxpool.conformance.backends.adapter import Run
from onnx_maxpool.conformance.backends.onnxruntime import OnnxRuntime
from onnx_maxpool.graph.checking import check_model
from onnx_maxpool.graph.inference import Survey


class Portable(OnnxRuntime):
    """`to_portable(model)` in a session without our library."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session; also raises OperatorError."""
        check_model(Survey(model))
        return super().load(to_portable(model))
