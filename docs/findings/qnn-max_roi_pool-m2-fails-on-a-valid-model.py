"""qnn: MaxRoiPool-22 fails on a valid model

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
    node = helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], pooled_shape=[1, 1])
    inputs = [
        helper.make_tensor_value_info("X", TensorProto.FLOAT16, [1, 1, 1, 1]),
        helper.make_tensor_value_info("rois", TensorProto.FLOAT16, [1, 5]),
    ]
    outputs = [
        helper.make_tensor_value_info("Y", TensorProto.FLOAT16, [1, 1, 1, 1]),
    ]
    graph = helper.make_graph([node], "graph", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


def inputs():
    X = np.array([[[[0.0]]]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT16)).reshape([1, 1, 1, 1])
    rois = np.array([[0.0, 0.0, 0.0, 0.0, 0.0]], helper.tensor_dtype_to_np_dtype(TensorProto.FLOAT16)).reshape([1, 5])
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
