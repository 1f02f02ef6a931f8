"""torch's and torchvision's pooling functions, called with what a node says, and models converted to modules."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs, OneNode, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.graph.checking import check_model
from onnx_maxpool.graph.survey import Survey
from onnx_maxpool.operators.definition import index_type
from onnx_maxpool.operators.registry import newest_version, versions_of
from onnx_maxpool.types import Array


def to_torch(array: Array) -> Any:
    """A tensor of a NumPy array; bfloat16 goes as its bits."""
    import torch

    if array.dtype.name == "bfloat16":
        return torch.from_numpy(np.ascontiguousarray(array).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(array))


def to_numpy(tensor: Any) -> Array:
    """A NumPy array of a tensor; bfloat16 is ml_dtypes'."""
    import torch

    if tensor.dtype == torch.bfloat16:
        bfloat16 = onnx.helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16)
        return np.asarray(tensor.view(torch.int16).numpy().view(bfloat16))
    return np.asarray(tensor.numpy())


def pool(model: onnx.ModelProto, x: Array, sizes: Sequence[Array]) -> tuple[Any, Any]:
    """Call torch's function with the node's attributes: values, and indices in each channel."""
    import torch.nn.functional as functions

    rank = x.ndim - 2
    if sizes:
        adaptive = getattr(functions, f"adaptive_max_pool{rank}d")
        y, index = adaptive(to_torch(x), sizes[0].tolist(), return_indices=True)
        return y, index
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in model.graph.node[0].attribute}
    settings = attributes.get("strides", [1] * rank), attributes.get("start_padding", [0] * rank)
    sliding = getattr(functions, f"max_pool{rank}d")
    y, index = sliding(to_torch(x), attributes["window_size"], *settings, return_indices=True)
    return y, index


def in_whole_tensor(index: Any, shape: Sequence[int]) -> Array:
    """Indices that count in the whole tensor: where each channel starts is added."""
    channels = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *[1] * (len(shape) - 2))
    return np.asarray(index.numpy() + channels * int(np.prod(shape[2:])))


class Torch(Adapter):
    """Adaptive and sliding windows; torch itself has no ROI pooling, which is torchvision's."""

    helpers = (pool, in_whole_tensor, to_torch, to_numpy)

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The function's answer. Where windows slide, the index is to count in the whole tensor."""
        x, *sizes = inputs.values()
        y, index = pool(model, x, sizes)
        numbers = index.numpy() if sizes else in_whole_tensor(index, x.shape)
        kinds = [value.type.tensor_type.elem_type for value in model.graph.output]
        return [to_numpy(y), *(numbers.astype(onnx.helper.tensor_dtype_to_np_dtype(kind)) for kind in kinds[1:])]

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A call of the function, once the node is what its version allows: functions know of no versions."""
        check_model(Survey(model))
        node = OneNode.of(model)
        if not any(row.plan in ("adaptive", "sliding") for row in versions_of(node.domain, node.operator)):
            raise UnsupportedError(f"torch has no {node.operator}")
        none = [0] * len(node.attributes.get("window_size", ()))
        if node.attributes.get("start_padding", none) != node.attributes.get("end_padding", none):
            raise UnsupportedError("torch pads both ends alike")
        version = newest_version(node.operator)

        def function(arrays: Sequence[Array]) -> list[Array]:
            x, *sizes = arrays
            y, index = pool(model, x, sizes)
            numbers = in_whole_tensor(index, x.shape) if version.index_scope == "tensor" else index.numpy()
            return [to_numpy(y), numbers.astype(index_type(version, node.attributes))][: node.outputs]

        return function

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        import torch

        return {"torch": torch.__version__, "device": "CPU", "nodes checked by": "onnx_maxpool"}


class TorchVision(Adapter):
    """`torchvision.ops.roi_pool` for every operator that pools ROIs. It says itself which types it does not have."""

    lacking = ("not implemented for",)
    helpers = (to_torch, to_numpy)

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The function's answer, with the node's attributes: the size is the one that is several numbers."""
        from torchvision.ops import roi_pool

        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in model.graph.node[0].attribute}
        size = next(tuple(value) for value in attributes.values() if isinstance(value, list))
        x, rois = map(to_torch, inputs.values())
        rows = rois.reshape(rois.shape[-2:])  # fails where a dimension that is left out is not 1
        return [to_numpy(roi_pool(x, rows, size, attributes.get("spatial_scale", 1.0)))]

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A call of the function, once the node is what its version allows: functions know of no versions."""
        check_model(Survey(model))
        node = OneNode.of(model)
        rank = next((row.roi_rank for row in versions_of(node.domain, node.operator) if row.plan == "roi"), None)
        if rank is None:
            raise UnsupportedError(f"torchvision has no {node.operator}")
        call = super().load(model)

        def run(inputs: Sequence[Array]) -> Sequence[Array]:
            if inputs[1].ndim != rank:
                raise ValueError(f"ROIs have {inputs[1].ndim} dimensions, expected {rank}")
            return call(inputs)

        return run

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Both versions."""
        import torch
        import torchvision

        return {
            "torchvision": torchvision.__version__,
            "torch": torch.__version__,
            "device": "CPU",
            "nodes checked by": "onnx_maxpool",
        }


def outputs_of(module: Any, inputs: Inputs) -> list[Array]:
    """What a converted model, a module of torch, gives for inputs."""
    import torch

    with torch.no_grad():
        results = module(*map(to_torch, inputs.values()))
    return [to_numpy(y) for y in (results if isinstance(results, (list, tuple)) else [results])]


class Converted(Adapter):
    """Models as torch's modules. The converter raises a NotImplementedError for operators that it does not have."""

    helpers = (outputs_of, to_torch, to_numpy)

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A module. Where it gives fewer outputs than the model, it lacks one."""
        function, count = super().load(model), len(model.graph.output)

        def complete(arrays: Sequence[Array]) -> Sequence[Array]:
            outputs = function(arrays)
            if len(outputs) < count:
                raise UnsupportedError(f"the module gives {len(outputs)} of {count} outputs")
            return outputs

        return complete


class Onnx2Torch(Converted):
    """onnx2torch's modules."""

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The module's outputs."""
        from onnx2torch import convert

        return outputs_of(convert(model), inputs)

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Both versions."""
        import onnx2torch  # noqa: F401
        import torch

        return {"onnx2torch": importlib.metadata.version("onnx2torch"), "torch": torch.__version__, "device": "CPU"}


class Onnx2Pytorch(Converted):
    """onnx2pytorch's modules."""

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The module's outputs."""
        from onnx2pytorch import ConvertModel

        return outputs_of(ConvertModel(model), inputs)

    @classmethod
    def describe(cls) -> dict[str, str]:
        """All three versions."""
        import onnx2pytorch  # noqa: F401
        import torch
        import torchvision

        return {
            "onnx2pytorch": importlib.metadata.version("onnx2pytorch"),
            "torchvision": torchvision.__version__,
            "torch": torch.__version__,
            "device": "CPU",
        }
