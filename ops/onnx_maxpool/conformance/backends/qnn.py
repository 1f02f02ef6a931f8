"""Qualcomm's QNN provider in ONNX Runtime, on the simulator of its accelerator."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

import onnx
import onnxruntime as ort
import onnxruntime_qnn
from onnx import numpy_helper

from onnx_maxpool.conformance.backends.adapter import Run
from onnx_maxpool.conformance.backends.onnxruntime import ONLY_THIS_PROVIDER, OnnxRuntime, in_session
from onnx_maxpool.types import Array

PROVIDER = "QNNExecutionProvider"


def device() -> ort.OrtEpDevice:
    """The simulator."""
    ort.register_execution_provider_library(PROVIDER, onnxruntime_qnn.get_library_path())
    return next(device for device in ort.get_ep_devices() if device.ep_name == PROVIDER)


DEVICE = device()


class Qnn(OnnxRuntime):
    """A session on that provider only. It wants ROIs as constants: every input but the first is made an initializer."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session, made for the inputs of each run where the model has more than one."""
        if len(model.graph.input) == 1:
            return super().load(model)

        def run(inputs: Sequence[Array]) -> Sequence[Array]:
            made = onnx.ModelProto()
            made.CopyFrom(model)
            for value, array in zip(model.graph.input[1:], inputs[1:], strict=True):
                made.graph.initializer.append(numpy_helper.from_array(array, value.name))
            del made.graph.input[1:]
            return in_session(cls.session(made))(inputs[:1])

        return run

    @classmethod
    def options(cls) -> ort.SessionOptions:
        """Options of a session on the simulator."""
        options = super().options()
        options.add_session_config_entry(*ONLY_THIS_PROVIDER)
        options.add_provider_for_devices([DEVICE], {"backend_path": onnxruntime_qnn.get_qnn_htp_path()})
        return options

    @classmethod
    def providers(cls) -> list[str]:
        """None beside the device of the options."""
        return []

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Versions, and how ROIs are given."""
        return {
            "onnxruntime-qnn": importlib.metadata.version("onnxruntime-qnn"),
            "onnxruntime": ort.__version__,
            "provider": PROVIDER,
            "device": "HTP simulator, its default chip",
            "ROIs": "as an initializer",
        }
