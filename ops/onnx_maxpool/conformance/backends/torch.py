"""torch's pooling functions, called with what a node says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import torch
import torch.nn.functional as functions

from onnx_maxpool.conformance.backends.adapter import Adapter, OneNode, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.graph.checking import check_model
from onnx_maxpool.graph.inference import Survey
from onnx_maxpool.operators.definition import index_type
from onnx_maxpool.operators.registry import newest_version, versions_of
from onnx_maxpool.types import Array

ADAPTIVE = {1: functions.adaptive_max_pool1d, 2: functions.adaptive_max_pool2d, 3: functions.adaptive_max_pool3d}
SLIDING = {2: functions.max_pool2d, 3: functions.max_pool3d}


class Torch(Adapter):
    """Adaptive and sliding windows; torch itself has no ROI pooling, which is torchvision's."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A call of the function, once the node is what its version allows: functions know of no versions."""
        check_model(Survey(model))
        node = OneNode.of(model)
        pools = {row.name: POOLS[row.plan] for row in versions_of(node.domain, node.operator) if row.plan in POOLS}
        if node.operator not in pools:
            raise UnsupportedError(f"torch has no {node.operator}")
        return lambda inputs: outputs(node, inputs[0], *pools[node.operator](node, *inputs))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        return {"torch": torch.__version__, "device": "CPU", "nodes checked by": "onnx_maxpool"}


def adaptive(node: OneNode, x: Array, size: Array) -> tuple[Any, Any]:
    """Values and indices per channel."""
    y, index = ADAPTIVE[x.ndim - 2](tensor(x), size.tolist(), return_indices=True)
    return y, index


def sliding(node: OneNode, x: Array) -> tuple[Any, Any]:
    """Values and indices per channel."""
    window = node.attributes["window_size"]
    padding = node.attributes.get("start_padding", [0] * len(window))
    if padding != node.attributes.get("end_padding", [0] * len(window)):
        raise UnsupportedError("torch pads both ends alike")
    strides = node.attributes.get("strides", [1] * len(window))
    y, index = SLIDING[len(window)](tensor(x), window, strides, padding, return_indices=True)
    return y, index


POOLS: dict[str, Callable[..., tuple[Any, Any]]] = {"adaptive": adaptive, "sliding": sliding}
"""By the plan of an operator's windows."""


def outputs(node: OneNode, x: Array, y: Any, index: Any) -> list[Array]:
    """What the node gives. Where its index counts in the whole tensor (P5), where each channel starts is added."""
    version = newest_version(node.operator)
    numbers = index.numpy()
    if version.index_scope == "tensor":
        channels = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * (x.ndim - 2))
        numbers = numbers + channels * int(np.prod(x.shape[2:]))
    return [array(y), numbers.astype(index_type(version, node.attributes))][: node.outputs]


def module_run(module: Callable[..., Any], count: int) -> Run:
    """What runs a converted model, a module of torch. Where it gives fewer outputs than `count`, it lacks one."""

    def run(arrays: Sequence[Array]) -> list[Array]:
        with torch.no_grad():
            results = module(*map(tensor, arrays))
        outputs = results if isinstance(results, list | tuple) else [results]
        if len(outputs) < count:
            raise UnsupportedError(f"the module gives {len(outputs)} of {count} outputs")
        return [array(y) for y in outputs]

    return run


def tensor(x: Array) -> Any:
    """A NumPy array in torch."""
    if x.dtype == ml_dtypes.bfloat16:
        return torch.from_numpy(np.ascontiguousarray(x).view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(x))


def array(y: Any) -> Array:
    """A tensor in NumPy; bfloat16 is ml_dtypes'."""
    if y.dtype == torch.bfloat16:
        return np.asarray(y.view(torch.int16).numpy().view(ml_dtypes.bfloat16))
    return np.asarray(y.numpy())
