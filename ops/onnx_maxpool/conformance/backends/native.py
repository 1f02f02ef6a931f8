"""Our library in ONNX Runtime."""

from __future__ import annotations

import onnx
import onnxruntime as ort

from onnx_maxpool import load, run
from onnx_maxpool.conformance.backends.adapter import Adapter, Run


class Native(Adapter):
    """`onnx_maxpool.load`, on ONNX Runtime's CPU provider."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session; also raises OperatorError."""
        options = ort.SessionOptions()
        options.log_severity_level = 4
        session = load(model, options)
        names = [value.name for value in session.get_inputs()]
        return lambda inputs: run(session, dict(zip(names, inputs, strict=True)))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """ONNX Runtime's version and provider."""
        return {"onnxruntime": ort.__version__, "provider": "CPUExecutionProvider", "bin edges": "exact"}
