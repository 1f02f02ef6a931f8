"""Run models in one runtime: `runtime_worker.py RUNTIME FOLDER FIRST`; it needs NumPy, the runtime and nothing of ours.

The folder has one for each job, with `model.onnx` and `inputs.npz`; each gets `outputs.npz`, or `error.txt` with what
the runtime says. Jobs before the number FIRST are left out. A runtime may end this process: `started` tells where.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, Any]


def onnxruntime(path: Path, feeds: Arrays, **options: Any) -> Sequence[Any]:
    import onnxruntime as ort

    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    return ort.InferenceSession(str(path), settings, **options).run(None, feeds)


def onnxruntime_openvino(path: Path, feeds: Arrays) -> Sequence[Any]:
    settings = {"device_type": "CPU", "precision": "ACCURACY"}
    return onnxruntime(path, feeds, providers=[("OpenVINOExecutionProvider", settings)])


def onnxruntime_qnn(path: Path, feeds: Arrays) -> Sequence[Any]:
    """On a simulated chip that has float16, as newer ones do (here a Snapdragon 8 Gen 2), and not on the CPU."""
    import onnxruntime as ort
    import onnxruntime_qnn as qnn

    if not any(device.ep_name == "QNNExecutionProvider" for device in ort.get_ep_devices()):
        ort.register_execution_provider_library("QNNExecutionProvider", qnn.get_library_path())
    device = next(device for device in ort.get_ep_devices() if device.ep_name == "QNNExecutionProvider")
    settings = ort.SessionOptions()
    settings.log_severity_level = 4
    settings.add_session_config_entry("session.disable_cpu_ep_fallback", "1")
    chip = {"soc_model": "43", "htp_arch": "73"}
    settings.add_provider_for_devices([device], {"backend_path": qnn.get_qnn_htp_path(), **chip})
    return ort.InferenceSession(str(path), settings).run(None, feeds)


def onnx_reference(path: Path, feeds: Arrays) -> Sequence[Any]:
    import onnx
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(onnx.load(path)).run(None, feeds)


def openvino(path: Path, feeds: Arrays) -> Sequence[Any]:
    import openvino as ov

    core = ov.Core()
    compiled = core.compile_model(core.read_model(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    results = compiled.create_infer_request().infer(feeds)
    return [np.array(results[i]) for i in range(len(compiled.outputs))]


def opencv(path: Path, feeds: Arrays) -> Sequence[Any]:
    import cv2
    import onnx

    outputs = [value.name for value in onnx.load(path).graph.output]
    net = cv2.dnn.readNetFromONNX(str(path))
    for name, array in feeds.items():
        net.setInput(array, name)
    return [np.array(y) for y in net.forward(outputs)]


def tract(path: Path, feeds: Arrays) -> Sequence[Any]:
    import tract

    kinds = {"float": "f", "int": "i", "uint": "u"}
    model = tract.onnx().load(str(path))
    names = [model.input_name(i) for i in range(model.input_count())]
    for i, name in enumerate(names):
        kind = feeds[name].dtype.name.rstrip("0123456789")
        facts = [*map(str, feeds[name].shape), f"{kinds[kind]}{feeds[name].dtype.itemsize * 8}"]
        model.set_input_fact(i, ",".join(facts))
    runnable = model.into_model().into_runnable()
    return [y.to_numpy() for y in runnable.run([feeds[name] for name in names])]


def iree(path: Path, feeds: Arrays) -> Sequence[Any]:
    import iree.runtime as rt
    from iree.compiler.tools.import_onnx import __main__ as importer

    tools = Path(sys.executable).parent
    source, compiled = path.with_suffix(".mlir"), path.with_suffix(".vmfb")
    importer.main(importer.parse_arguments([str(path), "-o", str(source)]))  # in this process: starting takes longest
    target = ["--iree-hal-target-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host"]
    run(tools / "iree-compile", source, "-o", compiled, *target, "--iree-input-demote-f64-to-f32=false")
    module = rt.load_vm_flatbuffer_file(str(compiled), driver="local-sync")
    functions = module.vm_module.function_names
    (name,) = (name for name in functions if not name.startswith("_") and not name.endswith("$async"))
    results = getattr(module, name)(*feeds.values())
    return [np.array(y.to_host()) for y in (results if isinstance(results, list | tuple) else [results])]


def emx_onnx_cgen(path: Path, feeds: Arrays) -> Sequence[Any]:
    import onnx
    from emx_onnx_cgen.cli import main as emx
    from onnx import helper

    source, library = path.with_suffix(".c"), path.with_suffix(".so")
    weights = ["--large-weight-threshold", "1000000000"]
    with redirect_stdout(StringIO()) as told:
        code = emx(["compile", str(path), str(source), "--model-name", "entry", *weights])
    if code:
        raise RuntimeError(told.getvalue().rpartition("Result: ")[2].strip())
    run("cc", "-O0", "-shared", "-fPIC", source, "-o", library, "-lm")
    graph = onnx.load(path).graph
    outputs = []
    for value in graph.output:
        dtype = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        outputs.append(np.empty([dim.dim_value for dim in value.type.tensor_type.shape.dim], dtype))
    arrays = [np.ascontiguousarray(feeds[value.name]) for value in graph.input] + outputs
    ctypes.CDLL(str(library)).entry(*[array.ctypes.data_as(ctypes.c_void_p) for array in arrays])
    return outputs


def onnx2torch(path: Path, feeds: Arrays) -> Sequence[Any]:
    import torch
    from onnx2torch import convert

    with torch.no_grad():
        results = convert(str(path))(*map(torch.from_numpy, feeds.values()))
    return [y.numpy() for y in (results if isinstance(results, list | tuple) else [results])]


def run(*command: str | Path) -> None:
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr or done.stdout).strip())


FUNCTIONS = (
    *(onnxruntime, onnxruntime_openvino, onnxruntime_qnn, onnx_reference, openvino),
    *(opencv, tract, iree, emx_onnx_cgen, onnx2torch),
)
RUNTIMES: dict[str, Callable[..., Sequence[Any]]] = {function.__name__: function for function in FUNCTIONS}


def arrays(outputs: Sequence[Any]) -> list[Any]:
    """The outputs as arrays of numbers. Raises TypeError where one is something else: OpenCV may give None."""
    found = [np.asarray(output) for output in outputs]
    for i, array in enumerate(found):
        if array.dtype.kind not in "biuf":
            raise TypeError(f"output {i} is {type(outputs[i]).__name__} of {array.dtype}, expected an array of numbers")
    return found


def main(name: str, folder: str, first: str) -> None:
    for job in sorted(Path(folder).iterdir())[int(first) :]:
        (job / "started").touch()
        with np.load(job / "inputs.npz") as file:
            feeds = dict(file)
        try:
            outputs = arrays(RUNTIMES[name](job / "model.onnx", feeds))
        except Exception as error:
            (job / "error.txt").write_text(f"{type(error).__name__}: {error}")
        else:
            np.savez(job / "writing.npz", *outputs)
            (job / "writing.npz").replace(job / "outputs.npz")  # so that it is whole where it is there


if __name__ == "__main__":
    main(*sys.argv[1:])
