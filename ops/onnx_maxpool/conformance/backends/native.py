"""Our library in ONNX Runtime."""

from __future__ import annotations

import onnx
import onnxruntime as ort

from onnx_maxpool.adapters.onnxruntime import load
from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.backends.onnxruntime import in_session


class Native(Adapter):
    """`onnx_maxpool.load`, on ONNX Runtime's CPU provider."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session; also raises OperatorError."""
        options = ort.SessionOptions()
        options.log_severity_level = 4
        session = load(model, options)
        return in_session(session)

    @classmethod
    def describe(cls) -> dict[str, str]:
        """ONNX Runtime's version and provider."""
        return {"onnxruntime": ort.__version__, "provider": "CPUExecutionProvider", "bin edges": "by operator"}
