"""A session of ONNX Runtime whose inputs and outputs are bound: as stock, as ours, and as our portable forms."""

from __future__ import annotations

from collections.abc import Mapping

import onnxruntime as ort

from onnx_maxpool.adapters.arrays import from_ort_value, to_ort_value
from onnx_maxpool.benchmark.peers import Call
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
