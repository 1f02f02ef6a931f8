"""mnn: MaxRoiPool-22 answers where an error is expected

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
        helper.make_tensor_value_info("rois", TensorProto.FLOAT, [1, 4]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, None),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def inputs():
    X = np.array([[[[0.0]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 1, 1, 1])
    rois = np.array([[0.0, 0.0, 0.0, 3.0]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 4])
    return {"X": X, "rois": rois}



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
