"""OpenVINO's CPU plugin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs, Run, unsupported_where
from onnx_maxpool.types import Array


def network(core: Any, model: onnx.ModelProto, inputs: Inputs) -> Any:
    """What the ONNX frontend reads. An operator of OpenVINO's own, AdaptiveMaxPool, is not in it: it is made here."""
    import openvino

    if model.graph.node[0].domain != "org.openvinotoolkit":
        return core.read_model(model.SerializeToString(), b"")
    ops = openvino.opset8
    kinds = [openvino.Type.bf16 if x.dtype.name == "bfloat16" else openvino.Type(x.dtype) for x in inputs.values()]
    parameters = [ops.parameter(x.shape, kind) for x, kind in zip(inputs.values(), kinds, strict=True)]
    pooled = ops.adaptive_max_pool(*parameters, "i32")
    outputs = [pooled.output(0), ops.convert(pooled.output(1), "i64").output(0)]
    return openvino.Model(outputs[: len(model.graph.output)], parameters)


def settings_of(model: onnx.ModelProto) -> dict[str, str]:
    """float32, of which the plugin would choose bfloat16 on some processors; of double, as exact as the plugin can."""
    if onnx.TensorProto.DOUBLE in {value.type.tensor_type.elem_type for value in model.graph.input}:
        return {"EXECUTION_MODE_HINT": "ACCURACY"}
    return {"INFERENCE_PRECISION_HINT": "f32"}


def infer(compiled: Any, inputs: Sequence[Array]) -> list[Array]:
    """The outputs of a compiled model."""
    request = compiled.create_infer_request()
    request.infer([to_tensor(array) for array in inputs])
    return [to_array(request.get_output_tensor(i)) for i in range(len(compiled.outputs))]


def to_tensor(array: Array) -> Any:
    """OpenVINO knows no NumPy type for bfloat16: that goes as its bits."""
    import openvino

    if array.dtype.name != "bfloat16":
        return array
    return openvino.Tensor(np.ascontiguousarray(array).view(np.float16), array.shape, openvino.Type.bf16)


def to_array(tensor: Any) -> Array:
    """What OpenVINO gave, in a NumPy array."""
    import openvino

    array = np.array(tensor.data)
    if tensor.element_type != openvino.Type.bf16:
        return array
    return array.view(onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16))


@cache
def core_with_extensions() -> Any:
    """The one core of this process, with the extension for AdaptiveMaxPool."""
    import openvino

    from onnx_maxpool.adapters.openvino import openvino_extensions

    core = openvino.Core()
    core.add_extension(openvino_extensions())
    return core


class OpenVino(Adapter):
    """Models through OpenVINO's ONNX frontend, which has AdaptiveMaxPool by `openvino_extensions`.

    In float32; for double, no precision is set.
    """

    settings: Mapping[str, str] = {"INFERENCE_PRECISION_HINT": "f32"}
    lacking = ("No conversion rule", "operator only supports")
    helpers = (network, settings_of, infer, to_tensor, to_array)

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs at float32, or as exact as the plugin can in double."""
        import openvino

        core = openvino.Core()
        compiled = core.compile_model(network(core, model, inputs), "CPU", settings_of(model))
        return infer(compiled, list(inputs.values()))

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A compiled model, from a core that reads every operator."""
        core = core_with_extensions()
        with unsupported_where(cls.lacking):
            read = core.read_model(model.SerializeToString(), b"")
        compiled = core.compile_model(read, "CPU", settings_of(model) if cls.settings else {})
        return lambda inputs: infer(compiled, inputs)

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version, processor and the precision that the plugin takes."""
        import openvino

        parameter = openvino.opset8.parameter([1], np.float32)
        network = openvino.Model([openvino.opset8.relu(parameter)], [parameter])
        compiled = core_with_extensions().compile_model(network, "CPU", cls.settings)
        precision = compiled.get_property("INFERENCE_PRECISION_HINT")
        return {"openvino": openvino.__version__, "device": "CPU", "inference precision": precision.to_string()}


class OpenVinoDefault(OpenVino):
    """The same at the precision that the plugin chooses for the processor."""

    settings: Mapping[str, str] = {}

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs at the precision that the plugin chooses for the processor: bfloat16, on some."""
        import openvino

        core = openvino.Core()
        return infer(core.compile_model(network(core, model, inputs), "CPU"), list(inputs.values()))
