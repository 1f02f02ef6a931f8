"""ONNX Runtime as it is installed, with the operators of the ONNX standard."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.metadata import version

import onnxruntime as ort

from onnx_maxpool.benchmark.models import standard_model
from onnx_maxpool.benchmark.peers import Call, per_channel
from onnx_maxpool.benchmark.peers._session import bound_call, session_options
from onnx_maxpool.benchmark.rows import AdaptiveCase, Row
from onnx_maxpool.types import Array


def versions() -> dict[str, str]:
    """Versions by distribution."""
    return {"onnxruntime": version("onnxruntime")}


def prepare(row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
    """The row, ready to run on so many threads; raises ValueError where the standard has no such operator."""
    if row.type == "bfloat16":
        raise ValueError("no kernel for bfloat16")
    model = standard_model(row, inputs).SerializeToString()
    session = ort.InferenceSession(model, session_options(threads), ["CPUExecutionProvider"])
    call = bound_call(session, inputs)
    if not isinstance(row.case, AdaptiveCase):
        return call
    return replace(call, outputs=lambda: per_channel(call.outputs(), inputs["X"].shape))
