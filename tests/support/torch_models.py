"""Torch models out of torch's two exporters, and in ONNX Runtime."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import onnx
import onnxruntime as ort
import torch

import onnx_maxpool
from onnx_maxpool.torch_export import translation_table
from onnx_maxpool.types import Array

Way = Literal["torchscript", "custom", "portable"] | None
"""torch's older exporter, or its newer one with one of our tables or with none."""

DynamicShapes = Sequence[Mapping[int, Any]] | None
"""Of each input, the axes that are dynamic, each with torch's hint."""


class Model(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def export(
    way: Way, module: torch.nn.Module, inputs: Sequence[torch.Tensor], dynamic_shapes: DynamicShapes = None
) -> onnx.ModelProto:
    """A valid model."""
    if way == "torchscript":
        names = [f"input_{index}" for index in range(len(inputs))]
        axes = {name: list(each) for name, each in zip(names, dynamic_shapes or [], strict=False)}
        file = io.BytesIO()
        torch.onnx.export(module, tuple(inputs), file, dynamo=False, input_names=names, dynamic_axes=axes)
        proto = onnx.load_from_string(file.getvalue())
    else:
        proto = program(way, module, inputs, dynamic_shapes).model_proto
    onnx.checker.check_model(proto, full_check=True)
    return proto


def program(
    way: Way, module: torch.nn.Module, inputs: Sequence[torch.Tensor], dynamic_shapes: DynamicShapes = None
) -> Any:
    """What the newer exporter gives."""
    shapes = tuple(dynamic_shapes) if dynamic_shapes else None
    return torch.onnx.export(
        module,
        tuple(inputs),
        dynamo=True,
        verbose=False,
        custom_translation_table=None if way is None else translation_table(way),
        # All that `*inputs` takes is one argument to torch.
        dynamic_shapes=(shapes,) if shapes and isinstance(module, Model) else shapes,
    )


def session(way: Way, proto: onnx.ModelProto) -> Callable[..., list[Array]]:
    """The model as a function of tensors: our operators with our library, standard ones without."""
    if way in {"torchscript", "custom"}:
        made = onnx_maxpool.load(proto)
    else:
        assert {node.domain for node in proto.graph.node} <= {"", "ai.onnx"}
        made = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    names = [node.name for node in made.get_inputs()]

    def run(*inputs: torch.Tensor) -> list[Array]:
        return list(made.run(None, dict(zip(names, (x.numpy() for x in inputs), strict=True))))

    return run


def first_cause(error: BaseException) -> BaseException:
    """torch raises errors from errors."""
    while error.__cause__ is not None:
        error = error.__cause__
    return error
