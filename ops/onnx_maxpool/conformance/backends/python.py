"""Our Python operators in ONNX Runtime."""

from __future__ import annotations

import onnx
import onnxruntime as ort
import onnxruntime_extensions

from onnx_maxpool.adapters.onnxruntime import load
from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.backends.onnxruntime import in_session


class Python(Adapter):
    """`onnx_maxpool.load(model, implementation="python")`, on ONNX Runtime's CPU provider."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session; also raises OperatorError."""
        options = ort.SessionOptions()
        options.log_severity_level = 4
        session = load(model, options, implementation="python")
        return in_session(session)

    @classmethod
    def describe(cls) -> dict[str, str]:
        """The versions of both runtimes."""
        return {
            "onnxruntime": ort.__version__,
            "onnxruntime-extensions": onnxruntime_extensions.__version__,
            "bin edges": "by operator",
        }
