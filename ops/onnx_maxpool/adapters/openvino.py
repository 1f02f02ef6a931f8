"""The operators that OpenVINO has itself, for its ONNX frontend."""

from __future__ import annotations

from typing import Any

from onnx_maxpool.facts import INDEX_ATTRIBUTE, INDEX_SPELLINGS
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.definition import index_type
from onnx_maxpool.operators.registry import versions_of


def openvino_extensions() -> list[Any]:
    """Extensions with which OpenVINO reads `org.openvinotoolkit::AdaptiveMaxPool` from ONNX files.

    Pass them to `core.add_extension(extensions)` before you call `core.read_model`. The operator is OpenVINO's own: it
    computes in float32 or less, a NaN wins only if it is the first value of a window, and subnormal bfloat16 outputs
    are 0 on processors with an instruction that converts to bfloat16. `core.read_model` fails for another index type
    than the operator's (A3). Raises ModuleNotFoundError without OpenVINO.
    """
    from openvino.frontend.onnx import ConversionExtension

    return [ConversionExtension("AdaptiveMaxPool", "org.openvinotoolkit", _adaptive_max_pool)]


def _adaptive_max_pool(context: Any) -> list[Any]:
    """The operator's two outputs, for an ONNX node's context."""
    import openvino as ov

    (version,) = versions_of("org.openvinotoolkit", "AdaptiveMaxPool")
    attributes = operator(version.name).complete(
        version, {INDEX_ATTRIBUTE: context.get_attribute(INDEX_ATTRIBUTE, INDEX_SPELLINGS[version.index_types[0]])}
    )
    # The CPU plugin compiles no 64-bit indices.
    pooled = ov.opset8.adaptive_max_pool(context.get_input(0), context.get_input(1), "i32")
    indices = pooled.output(1)
    if index_type(version, attributes) == "int64":
        indices = ov.opset8.convert(indices, "i64").output(0)
    return [pooled.output(0), indices]
