"""Runtimes that know nothing of our operators, for models of `to_portable`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import openvino as ov
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import onnx_maxpool
from onnx_maxpool.difference import first_difference
from onnx_maxpool.types import Array

Feeds = Mapping[str, Array]
Run = Callable[[onnx.ModelProto, Feeds], list[Array]]

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
CORE = ov.Core()


def in_onnxruntime(model: onnx.ModelProto, feeds: Feeds) -> list[Array]:
    """Without our library."""
    return onnx_maxpool.run(_session(model.SerializeToString(deterministic=True)), feeds)


@lru_cache(maxsize=8)
def _session(model: bytes) -> ort.InferenceSession:
    return ort.InferenceSession(model, providers=["CPUExecutionProvider"])


def in_reference(model: onnx.ModelProto, feeds: Feeds) -> list[Array]:
    """Without our classes."""
    return list(ReferenceEvaluator(model).run(None, dict(feeds)))


def in_openvino(model: onnx.ModelProto, feeds: Feeds) -> list[Array]:
    """Its arrays have no bfloat16: those travel as their bits, which it calls float16."""
    ranked = onnx.ModelProto()
    ranked.CopyFrom(model)
    for value in ranked.graph.input:
        set_rank(value, feeds[value.name].ndim)  # the plugin wants to know the rank
    tensors = {
        name: ov.Tensor(np.ascontiguousarray(array).view(np.float16), array.shape, ov.Type.bf16)
        if array.dtype == BFLOAT16
        else array
        for name, array in feeds.items()
    }
    results = _compiled(ranked.SerializeToString(deterministic=True)).create_infer_request().infer(tensors)
    declared = [output.type.tensor_type.elem_type for output in model.graph.output]
    return [
        np.array(results[i]).view(BFLOAT16) if data_type == onnx.TensorProto.BFLOAT16 else np.array(results[i])
        for i, data_type in enumerate(declared)
    ]


@lru_cache(maxsize=8)
def _compiled(model: bytes) -> ov.CompiledModel:
    """It takes half a second, on one processor, and tens of megabytes."""
    return CORE.compile_model(CORE.read_model(model), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})


everywhere = pytest.mark.parametrize("run", [in_onnxruntime, in_reference, in_openvino])


def set_rank(value: onnx.ValueInfoProto, rank: int) -> None:
    """Leave only the rank of a value's shape."""
    dims = [f"{value.name}_{axis}" for axis in range(rank)]
    value.CopyFrom(helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, dims))


def assert_equal(actual: Iterable[Array], expected: Iterable[Array]) -> None:
    for a, e in zip(actual, expected, strict=True):
        assert first_difference(np.asarray(e), np.asarray(a)) is None
