"""Our operators as standard ones, with loops and without control flow: in ONNX Runtime without our library."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version

import numpy as np
import onnxruntime as ort
from onnx import numpy_helper

from onnx_maxpool.adapters.portable import to_portable
from onnx_maxpool.benchmark.models import model_for_forms
from onnx_maxpool.benchmark.peers import Call
from onnx_maxpool.benchmark.peers.onnxruntime import bound_call, session_options
from onnx_maxpool.benchmark.rows import Row
from onnx_maxpool.types import Array


@dataclass(frozen=True)
class Form:
    """One of the forms of `to_portable`, as a peer."""

    control_flow: bool

    def versions(self) -> dict[str, str]:
        """Versions by distribution."""
        return {"onnxruntime": version("onnxruntime")}

    def prepare(self, row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
        """The row, ready to run on so many threads; raises ValueError for other types than float."""
        if row.type != "float":
            raise ValueError("timed in float only")
        given = model_for_forms(row, inputs)
        if not self.control_flow and "output_size" in inputs:  # the form wants it as a constant
            (size,) = (value for value in given.graph.input if value.name == "output_size")
            given.graph.input.remove(size)
            given.graph.initializer.append(numpy_helper.from_array(np.asarray(inputs["output_size"]), "output_size"))
        converted = to_portable(given, control_flow=self.control_flow).SerializeToString()
        session = ort.InferenceSession(converted, session_options(threads), ["CPUExecutionProvider"])
        return bound_call(session, inputs)


WITH_CONTROL_FLOW = Form(control_flow=True)
WITHOUT_CONTROL_FLOW = Form(control_flow=False)
