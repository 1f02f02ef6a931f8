"""iree: MaxRoiPool-1 fails on a valid model

It needs NumPy, onnx and iree-base-compiler and iree-base-runtime. Exit code: 1 where the difference shows, 0 where it does not.
"""

import importlib.metadata
import platform

import numpy as np
import onnx
from onnx import TensorProto, helper

import iree.compiler
import iree.runtime
from iree.compiler.extras import onnx_importer

PACKAGES = ("iree-base-compiler", "iree-base-runtime")


def run(model, inputs):
    info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
    module = info.create_module(context=iree.compiler.ir.Context()).operation
    onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
    flags = ["--iree-llvmcpu-target-cpu=host"]
    binary = iree.compiler.compile_str(
        str(module), input_type="onnx", target_backends=["llvm-cpu"], extra_args=flags
    )
    loaded = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")
    results = getattr(loaded, model.graph.name)(*inputs.values())
    return [np.array(y.to_host()) for y in (results if isinstance(results, (list, tuple)) else [results])]


inf, nan = float("inf"), float("nan")


def model():
    node = helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], pooled_shape=[1, 1])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 1, 4]),
        helper.make_tensor_value_info("rois", TensorProto.FLOAT, [2, 5]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, [2, 1, 1, 1]),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=8)


def inputs():
    X = np.array([[[[1.0000001192092896, 1.000000238418579, 1.000000238418579, 1.0000001192092896]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 1, 1, 4])
    rois = np.array([[0.0, 0.0, 0.0, 1.0, 0.0], [0.0, 2.0, 0.0, 3.0, 0.0]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([2, 5])
    return {"X": X, "rois": rois}



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
