"""Our library, inside an ONNX Runtime session."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

from onnx_maxpool.adapters.onnxruntime import load
from onnx_maxpool.benchmark.models import our_model
from onnx_maxpool.benchmark.peers import Call
from onnx_maxpool.benchmark.peers.onnxruntime import bound_call, session_options
from onnx_maxpool.benchmark.rows import Row
from onnx_maxpool.types import Array


def versions() -> dict[str, str]:
    """Versions by distribution."""
    return {name: version(name) for name in ("onnx", "onnxruntime")}


def prepare(row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
    """The row, ready to run on so many threads."""
    return bound_call(load(our_model(row, inputs), session_options(threads)), inputs)
