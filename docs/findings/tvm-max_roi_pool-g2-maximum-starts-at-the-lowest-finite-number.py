"""tvm: MaxRoiPool-1 differs: maximum starts at the lowest finite number

It needs NumPy, onnx and apache-tvm. Exit code: 1 where the difference shows, 0 where it does not.
"""

import importlib.metadata
import platform

import numpy as np
import onnx
from onnx import TensorProto, helper

import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

PACKAGES = ("apache-tvm",)


def run(model, inputs):
    module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
    machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
    outputs = machine["main"](*(tvm.runtime.tensor(array) for array in inputs.values()))
    return [output.numpy() for output in (outputs if len(model.graph.output) > 1 else [outputs])]


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
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


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
