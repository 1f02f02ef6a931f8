"""torch's pooling functions, called with what a node says."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import torch
import torch.nn.functional as functions

from onnx_maxpool.conformance.backends.adapter import Adapter, OneNode, Run
from onnx_maxpool.conformance.run.attempt import UnsupportedError
from onnx_maxpool.graph.check import check_model
from onnx_maxpool.graph.survey import Survey
from onnx_maxpool.types import Array

ADAPTIVE = {1: functions.adaptive_max_pool1d, 2: functions.adaptive_max_pool2d, 3: functions.adaptive_max_pool3d}
SLIDING = {2: functions.max_pool2d, 3: functions.max_pool3d}


class Torch(Adapter):
    """AdaptiveMaxPool and MaxPooling1; torch itself has no ROI pooling, which is torchvision's."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A call of the function, once the node is what its version allows: functions know of no versions."""
        check_model(Survey(model))
        node = OneNode.of(model)
        if node.operator == "AdaptiveMaxPool":
            return lambda inputs: adaptive(node, inputs[0], inputs[1])
        if node.operator == "MaxPooling1":
            return lambda inputs: sliding(node, inputs[0])
        raise UnsupportedError(f"torch has no {node.operator}")

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        return {"torch": torch.__version__, "device": "CPU", "nodes checked by": "onnx_maxpool"}


def adaptive(node: OneNode, x: Array, size: Array) -> list[Array]:
    """Values and indices per channel (A3)."""
    y, index = ADAPTIVE[x.ndim - 2](tensor(x), size.tolist(), return_indices=True)
    kind = np.dtype(f"int{node.attributes.get('index_element_type', 'i64')[1:]}")
    return [array(y, x.dtype), index.numpy().astype(kind)][: node.outputs]


def sliding(node: OneNode, x: Array) -> list[Array]:
    """Values, and indices per channel to which the adapter adds where the channel starts (P5)."""
    window = node.attributes["window_size"]
    padding = node.attributes.get("start_padding", [0] * len(window))
    if padding != node.attributes.get("end_padding", [0] * len(window)):
        raise UnsupportedError("torch pads both ends alike")
    strides = node.attributes.get("strides", [1] * len(window))
    y, index = SLIDING[len(window)](tensor(x), window, strides, padding, return_indices=True)
    channels = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * len(window))
    whole = index.numpy() + channels * int(np.prod(x.shape[2:]))
    kind = np.dtype(f"uint{node.attributes.get('index_element_type', 'u32')[1:]}")
    return [array(y, x.dtype), whole.astype(kind)][: node.outputs]


def tensor(x: Array) -> Any:
    """A NumPy array in torch."""
    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(np.ascontiguousarray(x).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(x))


def array(y: Any, dtype: np.dtype[Any]) -> Array:
    """A tensor in NumPy; bfloat16 is ml_dtypes'."""
    if dtype == ml_dtypes.bfloat16:
        return np.asarray(y.view(torch.int16).numpy().view(ml_dtypes.bfloat16))
    return np.asarray(y.numpy())
