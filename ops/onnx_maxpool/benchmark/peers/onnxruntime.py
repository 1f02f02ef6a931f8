"""ONNX Runtime as it is installed, with the operators of the ONNX standard; and sessions whose tensors are bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from importlib.metadata import version

import onnxruntime as ort

from onnx_maxpool.adapters.arrays import from_ort_value, to_ort_value
from onnx_maxpool.benchmark.models import idle_model, standard_model
from onnx_maxpool.benchmark.peers import Call, per_channel
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


class SessionAlone:
    """A session whose only node does next to nothing."""

    def versions(self) -> dict[str, str]:
        """Versions by distribution."""
        return versions()

    def prepare(self, row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
        """A graph with the row's inputs, ready to run on so many threads."""
        model = idle_model(inputs).SerializeToString()
        return bound_call(ort.InferenceSession(model, session_options(threads), ["CPUExecutionProvider"]), inputs)


SESSION_ALONE = SessionAlone()


def session_options(threads: int) -> ort.SessionOptions:
    """ONNX Runtime's defaults but for the number of threads."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    return options


def bound_call(session: ort.InferenceSession, inputs: Mapping[str, Array]) -> Call:
    """A run that allocates and copies nothing: outputs go where a first run's went.

    It calls the runtime's binding itself. The Python code around it is 40 % of a small run, and no part of the runtime.
    """
    names = [output.name for output in session.get_outputs()]
    feeds = {value.name: to_ort_value(inputs[value.name]) for value in session.get_inputs()}
    outputs = session.run_with_ort_values(names, feeds)
    binding = session.io_binding()
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, value)
    for name, value in zip(names, outputs, strict=True):
        binding.bind_ortvalue_output(name, value)
    return Call(
        run=partial(session._sess.run_with_iobinding, binding._iobinding, ort.RunOptions()),
        outputs=lambda: [from_ort_value(value) for value in outputs],
        keeps=(session, binding, feeds),
    )
