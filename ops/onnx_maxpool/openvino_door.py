"""The operators that OpenVINO has itself, for its ONNX frontend."""

from __future__ import annotations

from typing import Any


def openvino_extensions() -> list[Any]:
    """Extensions with which OpenVINO's ONNX frontend reads `org.openvinotoolkit::AdaptiveMaxPool` as its own operator.

    For `core.add_extension(extensions)` before `core.read_model`. The operator is OpenVINO's: it computes in float32
    at most, and a NaN wins only where it stands first in a window. Raises ModuleNotFoundError without OpenVINO.
    """
    from openvino.frontend.onnx import ConversionExtension

    return [ConversionExtension("AdaptiveMaxPool", "org.openvinotoolkit", _adaptive_max_pool)]


def _adaptive_max_pool(context: Any) -> list[Any]:
    """The operator's two outputs, for an ONNX node's context."""
    import openvino as ov

    spelling = context.get_attribute("index_element_type", "i64")
    # The CPU plugin compiles no 64-bit indices.
    pooled = ov.opset8.adaptive_max_pool(context.get_input(0), context.get_input(1), "i32")
    indices = pooled.output(1)
    if spelling == "i64":
        indices = ov.opset8.convert(indices, "i64").output(0)
    return [pooled.output(0), indices]
