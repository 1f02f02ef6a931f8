"""OpenVINO's CPU plugin."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import onnx
import openvino as ov
import openvino.opset8 as ops

from onnx_maxpool.conformance.attempt import UnsupportedError
from onnx_maxpool.conformance.backends.adapter import Adapter, OneNode, Run

LACKING = ("No conversion rule", "operator only supports")
"""How the ONNX frontend says that it has no such operator, or none of the type."""


@cache
def core() -> Any:
    """The one core of this process."""
    return ov.Core()


class OpenVino(Adapter):
    """Models through OpenVINO's ONNX frontend, AdaptiveMaxPool through its own operator; computed in float32."""

    precision = "f32"

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A compiled model."""
        if OneNode.of(model).operator == "AdaptiveMaxPool":
            network = adaptive_max_pool(model)
        else:
            try:
                network = core().read_model(model.SerializeToString(), b"")
            except RuntimeError as error:
                if any(words in str(error) for words in LACKING):
                    raise UnsupportedError(str(error)) from error
                raise
        compiled = core().compile_model(network, "CPU", cls.settings())
        return lambda inputs: list(compiled(list(inputs)).values())

    @classmethod
    def settings(cls) -> dict[str, str]:
        """What the plugin is told."""
        return {"INFERENCE_PRECISION_HINT": cls.precision}

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version, processor and the precision that the plugin takes."""
        parameter = ops.parameter([1], np.float32)
        compiled = core().compile_model(ov.Model([ops.relu(parameter)], [parameter]), "CPU", cls.settings())
        precision = compiled.get_property("INFERENCE_PRECISION_HINT")
        return {"openvino": ov.__version__, "device": "CPU", "inference precision": precision.to_string()}


class OpenVinoDefault(OpenVino):
    """The same at the precision that the plugin chooses for the processor."""

    @classmethod
    def settings(cls) -> dict[str, str]:
        """Nothing."""
        return {}


def adaptive_max_pool(model: onnx.ModelProto) -> Any:
    """A network of OpenVINO's AdaptiveMaxPool-8, whose outputs are as many as the model's."""
    parameters = []
    for value in model.graph.input:
        tensor = value.type.tensor_type
        dims = [dim.dim_value for dim in tensor.shape.dim]
        if tensor.elem_type == onnx.TensorProto.BFLOAT16:
            raise UnsupportedError("OpenVINO's Python interface takes no bfloat16 arrays")
        parameters.append(ops.parameter(dims, onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)))
    node = OneNode.of(model)
    pooled = ops.adaptive_max_pool(*parameters, node.attributes.get("index_element_type", "i64"))
    return ov.Model([pooled.output(i) for i in range(node.outputs)], parameters)
