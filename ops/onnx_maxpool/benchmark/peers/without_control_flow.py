"""Our operators as standard ones, without control flow: in ONNX Runtime without our library."""

from __future__ import annotations

from collections.abc import Mapping

from onnx_maxpool.benchmark.peers import Call
from onnx_maxpool.benchmark.peers._session import form_versions, portable_call
from onnx_maxpool.benchmark.rows import Row
from onnx_maxpool.types import Array

versions = form_versions


def prepare(row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
    """The row, ready to run on so many threads; raises ValueError for other types than float."""
    return portable_call(row, inputs, threads, control_flow=False)
