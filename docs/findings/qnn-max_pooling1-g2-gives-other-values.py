"""qnn: MaxPool-12 without Indices gives other values

It needs NumPy, onnx and onnxruntime-qnn and onnxruntime. Exit code: 1 where the difference shows, 0 where it does not.
"""

import importlib.metadata
import platform

import numpy as np
import onnx
from onnx import TensorProto, helper

import onnxruntime
import onnxruntime_qnn

PACKAGES = ("onnxruntime-qnn", "onnxruntime")


def run(model, inputs):
    """On the simulator of the accelerator, and there only. ROIs must be constants: all inputs but the first are."""
    graph = model.graph
    constants = [onnx.numpy_helper.from_array(inputs[value.name], value.name) for value in graph.input[1:]]
    graph.initializer.extend(constants)
    del graph.input[1:]
    provider = "QNNExecutionProvider"
    onnxruntime.register_execution_provider_library(provider, onnxruntime_qnn.get_library_path())
    device = next(device for device in onnxruntime.get_ep_devices() if device.ep_name == provider)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    options.add_provider_for_devices([device], {"backend_path": onnxruntime_qnn.get_qnn_htp_path()})
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    first = graph.input[0].name
    return session.run(None, {first: inputs[first]})


inf, nan = float("inf"), float("nan")


def model():
    node = helper.make_node("MaxPool", ["X"], ["Y"], kernel_shape=[1, 1])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT, [1, 1, 1, 1]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT, [1, 1, 1, 1]),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)


def inputs():
    X = np.array([[[[-inf]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT)).reshape([1, 1, 1, 1])
    return {"X": X}


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
