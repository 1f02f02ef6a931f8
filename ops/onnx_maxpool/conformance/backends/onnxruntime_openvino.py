"""ONNX Runtime's OpenVINO provider."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import onnxruntime as ort

from onnx_maxpool.conformance.backends.onnxruntime import ONLY_THIS_PROVIDER, OnnxRuntime

PROVIDER = "OpenVINOExecutionProvider"
SETTINGS = {"device_type": "CPU", "precision": "ACCURACY"}

if PROVIDER not in ort.get_available_providers():
    raise ModuleNotFoundError(f"this onnxruntime has no {PROVIDER}", name="onnxruntime-openvino")


class OnnxRuntimeOpenVino(OnnxRuntime):
    """A session on that provider only: a node that it does not take is unsupported, not left to the CPU provider."""

    @classmethod
    def options(cls) -> ort.SessionOptions:
        """Options of a session."""
        options = super().options()
        options.add_session_config_entry(*ONLY_THIS_PROVIDER)
        return options

    @classmethod
    def providers(cls) -> list[Any]:
        """The provider, with its settings."""
        return [(PROVIDER, SETTINGS)]

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Versions and the provider with its settings."""
        return {
            "onnxruntime-openvino": importlib.metadata.version("onnxruntime-openvino"),
            "provider": PROVIDER,
            **SETTINGS,
        }
