"""ONNX Runtime as it is installed."""

from __future__ import annotations

from typing import Any

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
    "fallback to CPU EP has been explicitly disabled",
)
"""How ONNX Runtime says that it has no such operator, or none of the version and type, or none in the provider."""

ONLY_THIS_PROVIDER = ("session.disable_cpu_ep_fallback", "1")
"""The setting with which no node is left to the CPU provider."""


def in_session(session: ort.InferenceSession) -> Run:
    """The function that runs a session on inputs in the model's order."""
    names = [value.name for value in session.get_inputs()]
    return lambda inputs: run(session, dict(zip(names, inputs, strict=True)))


class OnnxRuntime(Adapter):
    """A session on the CPU provider, without our library."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session."""
        return in_session(cls.session(model))

    @classmethod
    def session(cls, model: onnx.ModelProto) -> ort.InferenceSession:
        """A session. Raises UnsupportedError where ONNX Runtime says that it lacks the node."""
        try:
            # Otherwise a second try, with the CPU provider, puts its own error in the place of the first one's.
            return ort.InferenceSession(
                model.SerializeToString(), cls.options(), cls.providers(), enable_fallback=False
            )
        except (ort_errors.Fail, ort_errors.InvalidGraph, ort_errors.NotImplemented) as error:
            if any(words in str(error) for words in LACKING):
                raise UnsupportedError(str(error)) from error
            raise

    @classmethod
    def options(cls) -> ort.SessionOptions:
        """Options of a session."""
        options = ort.SessionOptions()
        options.log_severity_level = 4
        return options

    @classmethod
    def providers(cls) -> list[Any]:
        """The session's providers."""
        return ["CPUExecutionProvider"]

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version and provider."""
        return {"onnxruntime": ort.__version__, "provider": "CPUExecutionProvider"}
