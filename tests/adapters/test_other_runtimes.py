"""Whole models without control flow in runtimes of the extra `runtimes`, each in a child process, as some crash.

Single operators are run in them by `scripts/try_runtimes.py --beside`, a step of scripts/check.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from builders import MODELS
from onnx import TensorProto, helper, numpy_helper
from support.child import run_python
from support.portable_runtimes import Feeds, assert_equal

import onnx_maxpool
from onnx_maxpool import to_portable
from onnx_maxpool.types import Array

pytestmark = pytest.mark.slow("starts a process for each runtime and model")

WORKER = Path(__file__).resolve().parents[2] / "scripts" / "runtime_worker.py"
RUNTIMES = ["onnxruntime", "openvino", "opencv", "tract"]


def run_in(runtime: str, model: onnx.ModelProto, feeds: Feeds, folder: Path) -> list[Array]:
    """What a runtime gives, in another process."""
    job = folder / "job" / "0000"
    job.mkdir(parents=True)
    onnx.save_model(model, job / "model.onnx")
    np.savez(job / "inputs.npz", **feeds)
    done = run_python(WORKER, runtime, job.parent, "0")
    assert done.returncode == 0, done.stderr
    assert not (job / "error.txt").exists(), (job / "error.txt").read_text()
    with np.load(job / "outputs.npz") as file:
        return [file[key] for key in file.files]


def sized(name: str, folder: Path) -> tuple[Path, dict[str, Array], dict[str, int]]:
    """A sample model, its inputs, and the sizes that its symbolic dimensions have in them."""
    path, *_ = MODELS[name].write(folder)
    inputs = MODELS[name].inputs()
    declared = {value.name: value.type.tensor_type.shape.dim for value in onnx.load(path).graph.input}
    dims = {
        dim.dim_param: size
        for value, array in inputs.items()
        for dim, size in zip(declared[value], array.shape, strict=True)
        if dim.dim_param
    }
    return path, inputs, dims


def in_float(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with float in the place of double: OpenCV multiplies no matrices of doubles."""
    narrow = onnx.ModelProto()
    narrow.CopyFrom(model)
    for node in narrow.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.DOUBLE:
                attribute.i = TensorProto.FLOAT
    for tensor in narrow.graph.initializer:
        if tensor.data_type == TensorProto.DOUBLE:
            array = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for value in narrow.graph.output:
        if value.type.tensor_type.elem_type == TensorProto.DOUBLE:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    return narrow


@pytest.mark.parametrize("runtime", RUNTIMES[2:])
def test_fast_rcnn_head(runtime: str, tmp_path: Path) -> None:
    """With the numbers of the native library: this head is exact in float32. test_static has the other runtimes."""
    path, inputs, dims = sized("fast_rcnn_head", tmp_path)
    model = to_portable(path, control_flow=False, dims=dims)
    assert_equal(run_in(runtime, model, inputs, tmp_path), onnx_maxpool.run(onnx_maxpool.load(path), inputs))


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_region_search(runtime: str, tmp_path: Path) -> None:
    """What MaxRoiPool gives is equal in every cell, scores to their last digits, and the same regions are found."""
    path, inputs, dims = sized("region_search", tmp_path)
    model = in_float(onnx.load(path))
    model.graph.output.append(helper.make_tensor_value_info("pooled", TensorProto.FLOAT, None))
    scores, best, pooled = onnx_maxpool.run(onnx_maxpool.load(model), inputs)
    converted = to_portable(model, control_flow=False, dims=dims)
    actual: list[Any] = run_in(runtime, converted, inputs, tmp_path)
    np.testing.assert_allclose(actual[0], scores, rtol=2e-6)
    assert_equal(actual[1:], [best, pooled])
