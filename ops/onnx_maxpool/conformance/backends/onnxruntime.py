"""ONNX Runtime as it is installed."""

from __future__ import annotations

import onnx
import onnxruntime as ort
from onnxruntime.capi import onnxruntime_pybind11_state as ort_errors

from onnx_maxpool.adapters.arrays import run
from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError

LACKING = (
    "is not a registered function/op",
    "No Op registered for",
    "Could not find an implementation for",
    "Failed to find kernel for",
)
"""How ONNX Runtime says that it has no such operator, or none of the version and type."""


def in_session(session: ort.InferenceSession) -> Run:
    """The function that runs a session on inputs in the model's order."""
    names = [value.name for value in session.get_inputs()]
    return lambda inputs: run(session, dict(zip(names, inputs, strict=True)))


class OnnxRuntime(Adapter):
    """A session on the CPU provider, without our library."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session."""
        options = ort.SessionOptions()
        options.log_severity_level = 4
        try:
            session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
        except (ort_errors.Fail, ort_errors.InvalidGraph, ort_errors.NotImplemented) as error:
            if any(words in str(error) for words in LACKING):
                raise UnsupportedError(str(error)) from error
            raise
        return in_session(session)

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version and provider."""
        return {"onnxruntime": ort.__version__, "provider": "CPUExecutionProvider"}
