"""iree: MaxPool-12 differs: numbered per channel

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
    node = helper.make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[2, 3])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 2, 3, 4]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 2, 2, 2]),
        helper.make_tensor_value_info("Indices", TensorProto.INT64, [1, 2, 2, 2]),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)


def inputs():
    X = np.array([[[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0], [9.0, 10.0, 11.0, 12.0]], [[12.0, 11.0, 10.0, 9.0], [8.0, 7.0, 6.0, 5.0], [4.0, 3.0, 2.0, 1.0]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 2, 3, 4])
    return {"X": X}


NAMES = ["Y", "Indices"]


def expected():
    Y = np.array([[[[7.0, 8.0], [11.0, 12.0]], [[12.0, 11.0], [8.0, 7.0]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 2, 2, 2])
    Indices = np.array([[[[6, 7], [10, 11]], [[12, 13], [16, 17]]]], helper.tensor_dtype_to_np_dtype(TensorProto.INT64)).reshape([1, 2, 2, 2])
    return [Y, Indices]


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
