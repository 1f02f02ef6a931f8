"""opencv: MaxPool-12 fails on a valid model

It needs NumPy, onnx and opencv-python-headless. Exit code: 1 where the difference shows, 0 where it does not.
"""

import importlib.metadata
import platform

import numpy as np
import onnx
from onnx import TensorProto, helper

import cv2

PACKAGES = ("opencv-python-headless",)


def run(model, inputs):
    net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
    for name, array in inputs.items():
        net.setInput(array, name)
    return [np.array(y) for y in net.forward([value.name for value in model.graph.output])]


inf, nan = float("inf"), float("nan")


def model():
    node = helper.make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[1, 1])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.INT8, [1, 1, 1, 1]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.INT8, [1, 1, 1, 1]),
        helper.make_tensor_value_info("Indices", TensorProto.INT64, [1, 1, 1, 1]),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)


def inputs():
    X = np.array([[[[0]]]], helper.tensor_dtype_to_np_dtype(TensorProto.INT8)).reshape([1, 1, 1, 1])
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
