"""tvm: MaxRoiPool-1 answers where an error is expected

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
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, None),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


def inputs():
    X = np.array([[[[1.0]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 1, 1, 1])
    rois = np.array([[1.0, 0.0, 0.0, 0.0, 0.0]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 5])
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
