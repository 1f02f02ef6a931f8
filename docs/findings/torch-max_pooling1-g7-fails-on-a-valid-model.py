"""torch: MaxPooling1-5 fails on a valid model

It needs NumPy, onnx and torch. Exit code: 1 where the difference shows, 0 where it does not.
"""

import importlib.metadata
import platform

import numpy as np
import onnx
from onnx import TensorProto, helper

import torch
import torch.nn.functional as functions

PACKAGES = ("torch",)


def run(model, inputs):
    """torch's function with the node's attributes. Where its index is to count in the whole tensor, that is added."""
    (node,) = model.graph.node
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    x, *sizes = inputs.values()
    rank = x.ndim - 2
    if node.op_type == "AdaptiveMaxPool":
        pool = getattr(functions, f"adaptive_max_pool{rank}d")
        y, index = pool(to_torch(x), sizes[0].tolist(), return_indices=True)
    else:
        pool = getattr(functions, f"max_pool{rank}d")
        window = attributes["window_size"]
        settings = attributes.get("strides", [1] * rank), attributes.get("start_padding", [0] * rank)
        y, index = pool(to_torch(x), window, *settings, return_indices=True)
        planes = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *[1] * rank)
        index = index + torch.from_numpy(planes * int(np.prod(x.shape[2:])))
    kinds = [onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in model.graph.output]
    return [to_numpy(y, x.dtype), *(index.numpy().astype(kind) for kind in kinds[1:])]


def to_torch(array):
    if array.dtype.name == "bfloat16":
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(array)


def to_numpy(y, dtype):
    return y.view(torch.int16).numpy().view(dtype) if dtype.name == "bfloat16" else y.numpy()


inf, nan = float("inf"), float("nan")


def model():
    node = helper.make_node("MaxPooling1", ["X"], ["Y"], domain="directml", window_size=[1, 1])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 0, 1, 1]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 0, 1, 1]),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("directml", 5)], ir_version=8)


def inputs():
    X = np.array([[]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 0, 1, 1])
    return {"X": X}



def main():
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in (*PACKAGES, "onnx", "numpy"))
    print(f"{versions}, Python {platform.python_version()}, {platform.platform()}")
    given = inputs()
    try:
        run(model(), given)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        print("The difference shows: an error where the model is valid.")
        return 1
    print("No error: the difference does not show.")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
