"""opencv: MaxPool-12 differs: result is float32

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
    node = helper.make_node("MaxPool", ["X"], ["Y"], kernel_shape=[1, 1])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT16, [1, 1, 1, 1]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT16, [1, 1, 1, 1]),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)


def inputs():
    X = np.array([[[[0.0]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT16)).reshape([1, 1, 1, 1])
    return {"X": X}


NAMES = ["Y"]


def expected():
    Y = np.array([[[[0.0]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT16)).reshape([1, 1, 1, 1])
    return [Y]


def main():
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in (*PACKAGES, "onnx", "numpy"))
    print(f"{versions}, Python {platform.python_version()}, {platform.platform()}")
    given = inputs()
    outputs = run(model(), given)
    shows = False
    for name, wanted, got in zip(NAMES, expected(), outputs):
        got = np.asarray(got)
        print(f"{name}: expected {wanted.dtype} {list(wanted.shape)}, got {got.dtype} {list(got.shape)}")
        if got.dtype != wanted.dtype or got.shape != wanted.shape:
            shows = True
            continue
        differs = (got != wanted) & ~((got != got) & (wanted != wanted))
        for cell in np.argwhere(differs)[:10]:
            print(f"  {name}{cell.tolist()} is {got[tuple(cell)]}, expected {wanted[tuple(cell)]}")
        shows = shows or bool(differs.any())
    if len(outputs) != len(NAMES):
        print(f"{len(outputs)} outputs, expected {len(NAMES)}")
        shows = True
    print("The difference shows." if shows else "Equal: the difference does not show.")
    return int(shows)


if __name__ == "__main__":
    raise SystemExit(main())
