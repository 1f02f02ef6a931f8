"""onnxruntime: MaxPool-12 fails on a valid model

It needs NumPy, onnx and onnxruntime. Exit code: 1 where the difference shows, 0 where it does not.
"""

import importlib.metadata
import platform

import numpy as np
import onnx
from onnx import TensorProto, helper

import onnxruntime

PACKAGES = ("onnxruntime",)


def run(model, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, inputs)


inf, nan = float("inf"), float("nan")


def model():
    node = helper.make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[1, 1])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 0, 1, 1]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 0, 1, 1]),
        helper.make_tensor_value_info("Indices", TensorProto.INT64, [1, 0, 1, 1]),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)


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
