"""tract: MaxPool-12 ends the process

It needs NumPy, onnx and tract. Exit code: 1 where the difference shows, 0 where it does not.
"""

import importlib.metadata
import platform
import subprocess
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper

import os
import tempfile

import tract

PACKAGES = ("tract",)


def run(model, inputs):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        onnx.save_model(model, path)
        runnable = tract.onnx().load(path).into_model().into_runnable()
    return [y.to_numpy() for y in runnable.run(list(inputs.values()))]


inf, nan = float("inf"), float("nan")


def model():
    node = helper.make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[2, 0], pads=[0, 0, 0, 0], strides=[1, 1])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 2, 3, 4]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, None),
        helper.make_tensor_value_info("Indices", TensorProto.INT64, None),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)


def inputs():
    X = np.array([[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]], [[12.0, 11.0, 10.0, 9.0], [8.0, 7.0, 6.0, 5.0], [4.0, 3.0, 2.0, 1.0]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 2, 3, 4])
    return {"X": X}



def main():
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in (*PACKAGES, "onnx", "numpy"))
    print(f"{versions}, Python {platform.python_version()}, {platform.platform()}")
    given = inputs()
    # The process that runs it ends, so that is another one.
    if sys.argv[1:] == ["run"]:
        run(model(), given)
        return 0
    try:
        code = subprocess.run([sys.executable, __file__, "run"], timeout=60).returncode
    except subprocess.TimeoutExpired:
        code = "none: it hangs"
    print(f"exit code of the process that runs the model: {code}")
    print("The difference does not show." if code in (0, 1) else "The difference shows.")
    return int(code not in (0, 1))


if __name__ == "__main__":
    raise SystemExit(main())
