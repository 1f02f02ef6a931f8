"""Our Python operators in ONNX Runtime."""

from __future__ import annotations

import onnx
import onnxruntime as ort
import onnxruntime_extensions

from onnx_maxpool import load, run
from onnx_maxpool.conformance.backends.adapter import Adapter, Run


class Python(Adapter):
    """`onnx_maxpool.load(model, implementation="python")`, on ONNX Runtime's CPU provider."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session; also raises OperatorError."""
        options = ort.SessionOptions()
        options.log_severity_level = 4
        session = load(model, options, implementation="python")
        names = [value.name for value in session.get_inputs()]
        return lambda inputs: run(session, dict(zip(names, inputs, strict=True)))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """The versions of both runtimes."""
        return {
            "onnxruntime": ort.__version__,
            "onnxruntime-extensions": onnxruntime_extensions.__version__,
            "bin edges": "exact",
        }
