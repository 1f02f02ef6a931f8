"""openvino: MaxPool-12 gives other values

It needs NumPy, onnx and openvino. Exit code: 1 where the difference shows, 0 where it does not.
"""

import importlib.metadata
import platform

import numpy as np
import onnx
from onnx import TensorProto, helper

import openvino

PACKAGES = ("openvino",)
SETTINGS = {"INFERENCE_PRECISION_HINT": "f32"}


def run(model, inputs):
    core = openvino.Core()
    compiled = core.compile_model(network(core, model, inputs), "CPU", SETTINGS)
    request = compiled.create_infer_request()
    request.infer([tensor(array) for array in inputs.values()])
    return [array(request.get_output_tensor(i)) for i in range(len(compiled.outputs))]


def network(core, model, inputs):
    """What the ONNX frontend reads; AdaptiveMaxPool, which is OpenVINO's own, is made here."""
    if model.graph.node[0].op_type != "AdaptiveMaxPool":
        return core.read_model(model.SerializeToString(), b"")
    ops = openvino.opset8
    kinds = [openvino.Type.bf16 if x.dtype.name == "bfloat16" else openvino.Type(x.dtype) for x in inputs.values()]
    parameters = [ops.parameter(x.shape, kind) for x, kind in zip(inputs.values(), kinds)]
    pooled = ops.adaptive_max_pool(*parameters, "i32")
    outputs = [pooled.output(0), ops.convert(pooled.output(1), "i64").output(0)]
    return openvino.Model(outputs[: len(model.graph.output)], parameters)


def tensor(array):
    """OpenVINO knows no NumPy type for bfloat16: that goes as its bits."""
    if array.dtype.name != "bfloat16":
        return array
    return openvino.Tensor(np.ascontiguousarray(array).view(np.float16), array.shape, openvino.Type.bf16)


def array(given):
    data = np.array(given.data)
    if given.element_type != openvino.Type.bf16:
        return data
    import ml_dtypes

    return data.view(ml_dtypes.bfloat16)


inf, nan = float("inf"), float("nan")


def model():
    node = helper.make_node("MaxPool", ["X"], ["Y", "Indices"], kernel_shape=[1, 3])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 1, 3]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 1, 1, 1]),
        helper.make_tensor_value_info("Indices", TensorProto.INT64, [1, 1, 1, 1]),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)


def inputs():
    X = np.array([[[[-inf, -inf, -3.4028234663852886e+38]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 1, 1, 3])
    return {"X": X}


NAMES = ["Y", "Indices"]


def expected():
    Y = np.array([[[[-3.4028234663852886e+38]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 1, 1, 1])
    Indices = np.array([[[[2]]]], helper.tensor_dtype_to_np_dtype(TensorProto.INT64)).reshape([1, 1, 1, 1])
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
