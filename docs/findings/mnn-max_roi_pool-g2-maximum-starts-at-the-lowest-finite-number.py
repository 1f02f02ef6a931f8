"""mnn: MaxRoiPool-22 differs: maximum starts at the lowest finite number

It needs NumPy, onnx and MNN. Exit code: 1 where the difference shows, 0 where it does not.
"""

import importlib.metadata
import platform

import numpy as np
import onnx
from onnx import TensorProto, helper

import os
import tempfile

import _tools as converter  # MNN's converter itself: its Python wrapper installs packages
import MNN.expr as expr
import MNN.nn as nn

PACKAGES = ("MNN",)


def run(model, inputs):
    with tempfile.TemporaryDirectory() as folder:
        source, converted = os.path.join(folder, "model.onnx"), os.path.join(folder, "model.mnn")
        onnx.save_model(model, source)
        files = ["--modelFile", source, "--MNNModel", converted, "--bizCode", "bug"]
        converter.mnnconvert(["mnnconvert", "-f", "ONNX", *files])
        module = nn.load_module_from_file(converted, list(inputs), [value.name for value in model.graph.output])
    variables = []
    for array in inputs.values():
        variable = expr.placeholder(list(array.shape), expr.NCHW)
        variable.write(np.ascontiguousarray(array))
        variables.append(variable)
    return [np.array(expr.convert(result, expr.NCHW).read()) for result in module.forward(variables)]


inf, nan = float("inf"), float("nan")


def model():
    node = helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], pooled_shape=[1, 1])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 1, 1]),
        helper.make_tensor_value_info("rois", TensorProto.FLOAT, [1, 5]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 1, 1, 1]),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def inputs():
    X = np.array([[[[-inf]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 1, 1, 1])
    rois = np.array([[0.0, 0.0, 0.0, 0.0, 0.0]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 5])
    return {"X": X, "rois": rois}


NAMES = ["Y"]


def expected():
    Y = np.array([[[[-inf]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 1, 1, 1])
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
