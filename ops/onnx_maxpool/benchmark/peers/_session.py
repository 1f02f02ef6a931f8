"""A session of ONNX Runtime whose inputs and outputs are bound: as stock, as ours, and as our portable forms."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version

import numpy as np
import onnxruntime as ort
from onnx import numpy_helper

from onnx_maxpool.adapters.arrays import from_ort_value, to_ort_value
from onnx_maxpool.adapters.portable import to_portable
from onnx_maxpool.benchmark.models import FORM_OPSETS, model, our_node
from onnx_maxpool.benchmark.peers import Call
from onnx_maxpool.benchmark.rows import Row
from onnx_maxpool.types import Array


def session_options(threads: int) -> ort.SessionOptions:
    """ONNX Runtime's defaults but for the number of threads."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return options


def bound_call(session: ort.InferenceSession, inputs: Mapping[str, Array]) -> Call:
    """A run that allocates and copies nothing: outputs go where a first run's went."""
    names = [output.name for output in session.get_outputs()]
    feeds = {value.name: to_ort_value(inputs[value.name]) for value in session.get_inputs()}
    outputs = session.run_with_ort_values(names, feeds)
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, value)
    for name, value in zip(names, outputs, strict=True):
        binding.bind_ortvalue_output(name, value)
    return Call(
        run=lambda: session.run_with_iobinding(binding),
        outputs=lambda: [from_ort_value(value) for value in outputs],
        keeps=feeds,
    )


def form_versions() -> dict[str, str]:
    """Versions by distribution."""
    return {"onnxruntime": version("onnxruntime")}


def portable_call(row: Row, inputs: Mapping[str, Array], threads: int, *, control_flow: bool) -> Call:
    """The row in one of our portable forms; raises ValueError for other types than float."""
    if row.type != "float":
        raise ValueError("timed in float only")
    given = model(our_node(row.case), row, inputs, FORM_OPSETS)
    if not control_flow and "output_size" in inputs:  # the form wants it as a constant
        (size,) = (value for value in given.graph.input if value.name == "output_size")
        given.graph.input.remove(size)
        given.graph.initializer.append(numpy_helper.from_array(np.asarray(inputs["output_size"]), "output_size"))
    converted = to_portable(given, control_flow=control_flow)
    session = ort.InferenceSession(converted.SerializeToString(), session_options(threads), ["CPUExecutionProvider"])
    return bound_call(session, inputs)
