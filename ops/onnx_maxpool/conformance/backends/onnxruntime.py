"""ONNX Runtime as it is installed, and its providers that run on a CPU."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs
from onnx_maxpool.types import Array

LACKING = (
    "is not a registered function/op",
    "No Op registered for",
    "Could not find an implementation for",
    "Failed to find kernel for",
    "fallback to CPU EP has been explicitly disabled",
)
"""How ONNX Runtime says that it has no such operator, or none of the version and type, or none in the provider."""


class OnnxRuntime(Adapter):
    """A session on the CPU provider, without our library."""

    lacking = LACKING

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs of a session."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        providers = ["CPUExecutionProvider"]
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers, enable_fallback=False)
        return list(session.run(None, inputs))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version and provider."""
        import onnxruntime

        return {"onnxruntime": onnxruntime.__version__, "provider": "CPUExecutionProvider"}


class OnnxRuntimeOpenVino(Adapter):
    """A session on OpenVINO's provider only: a node that it does not take is unsupported, not left to the CPU's."""

    lacking = LACKING

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs of a session."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        provider = ("OpenVINOExecutionProvider", {"device_type": "CPU", "precision": "ACCURACY"})
        # Otherwise a second try, with the CPU provider, puts its own error in the place of the first one's.
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, [provider], enable_fallback=False)
        return list(session.run(None, inputs))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version, and the provider with its settings."""
        import onnxruntime

        version, provider = importlib.metadata.version("onnxruntime-openvino"), "OpenVINOExecutionProvider"
        if provider not in onnxruntime.get_available_providers():
            raise ModuleNotFoundError(f"this onnxruntime has no {provider}", name="onnxruntime-openvino")
        return {"onnxruntime-openvino": version, "provider": provider, "device_type": "CPU", "precision": "ACCURACY"}


class Qnn(Adapter):
    """A session on Qualcomm's QNN provider only, on the simulator of its accelerator. It wants ROIs as constants."""

    lacking = LACKING

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs of a session. Every input but the first is made a constant."""
        import onnxruntime
        import onnxruntime_qnn

        made = onnx.ModelProto()
        made.CopyFrom(model)
        first, *others = (value.name for value in model.graph.input)
        made.graph.initializer.extend(onnx.numpy_helper.from_array(inputs[name], name) for name in others)
        del made.graph.input[1:]
        name = "QNNExecutionProvider"
        if all(device.ep_name != name for device in onnxruntime.get_ep_devices()):
            onnxruntime.register_execution_provider_library(name, onnxruntime_qnn.get_library_path())
        device = next(device for device in onnxruntime.get_ep_devices() if device.ep_name == name)
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
        options.add_provider_for_devices([device], {"backend_path": onnxruntime_qnn.get_qnn_htp_path()})
        session = onnxruntime.InferenceSession(made.SerializeToString(), options, enable_fallback=False)
        return list(session.run(None, {first: inputs[first]}))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Versions, and how ROIs are given."""
        import onnxruntime
        import onnxruntime_qnn  # noqa: F401

        return {
            "onnxruntime-qnn": importlib.metadata.version("onnxruntime-qnn"),
            "onnxruntime": onnxruntime.__version__,
            "provider": "QNNExecutionProvider",
            "device": "HTP simulator, its default chip",
            "ROIs": "as an initializer",
        }
