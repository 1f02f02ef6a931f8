"""torch: AdaptiveMaxPool-8 answers where an error is expected

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
    node = helper.make_node("AdaptiveMaxPool", ["X", "output_size"], ["Y", "Indices"], domain="org.openvinotoolkit", index_element_type="i32")
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 1, 1]),
        helper.make_tensor_value_info("output_size", TensorProto.INT64, [2]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("Indices", TensorProto.INT32, None),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("org.openvinotoolkit", 8)], ir_version=8)


def inputs():
    X = np.array([[[[0.0]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 1, 1, 1])
    output_size = np.array([1, 0], helper.tensor_dtype_to_np_dtype(TensorProto.INT64)).reshape([2])
    return {"X": X, "output_size": output_size}



def main():
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in (*PACKAGES, "onnx", "numpy"))
    print(f"{versions}, Python {platform.python_version()}, {platform.platform()}")
    given = inputs()
    try:
        outputs = run(model(), given)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        print("An error, as expected: the difference does not show.")
        return 0
    print("expected an error, got", *(np.asarray(output).tolist() for output in outputs))
    print("The difference shows.")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
