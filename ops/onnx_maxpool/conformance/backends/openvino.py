"""OpenVINO's CPU plugin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import openvino as ov
import openvino.opset8 as ops

from onnx_maxpool.adapters.openvino import openvino_extensions
from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.types import Array

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

LACKING = ("No conversion rule", "operator only supports")
"""How the ONNX frontend says that it has no such operator, or none of the type."""


@cache
def core() -> Any:
    """The one core of this process, with the extension for AdaptiveMaxPool."""
    made = ov.Core()
    made.add_extension(openvino_extensions())
    return made


class OpenVino(Adapter):
    """Models through OpenVINO's ONNX frontend, which has AdaptiveMaxPool by `openvino_extensions`; in float32."""

    precision = "f32"

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A compiled model."""
        try:
            network = core().read_model(model.SerializeToString(), b"")
        except RuntimeError as error:
            if any(words in str(error) for words in LACKING):
                raise UnsupportedError(str(error)) from error
            raise
        compiled = core().compile_model(network, "CPU", cls.settings())

        def run(inputs: Sequence[Array]) -> list[Array]:
            request = compiled.create_infer_request()
            request.infer(list(map(tensor, inputs)))
            return [to_array(request.get_output_tensor(i)) for i in range(len(compiled.outputs))]

        return run

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


def tensor(array: Array) -> Any:
    """An array as OpenVINO takes it. It knows no NumPy type for bfloat16: that goes as its bits."""
    if array.dtype != BFLOAT16:
        return array
    return ov.Tensor(np.ascontiguousarray(array).view(np.float16), array.shape, ov.Type.bf16)


def to_array(given: Any) -> Array:
    """What OpenVINO gave, in a NumPy array."""
    array = np.array(given.data)
    return array.view(BFLOAT16) if given.element_type == ov.Type.bf16 else array
