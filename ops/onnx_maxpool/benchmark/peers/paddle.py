"""PaddlePaddle's pooling, in its eager mode."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch
from importlib.metadata import version
from typing import Any

import numpy as np
import paddle
from paddle.nn import functional
from paddle.vision.ops import roi_pool

from onnx_maxpool.benchmark.peers import Call, whole_tensor
from onnx_maxpool.benchmark.rows import AdaptiveCase, Case, RoiCase, Row, SlidingCase
from onnx_maxpool.types import Array


def versions() -> dict[str, str]:
    """Versions by distribution."""
    return {"paddlepaddle": version("paddlepaddle")}


def prepare(row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
    """The row, ready to run; the environment has told Paddle the number of threads."""
    if row.type != "float":
        raise ValueError("pools only float and double on the CPU")
    paddle.set_device("cpu")
    paddle.disable_signal_handler()
    run = operation(row.case, inputs)
    results: list[Any] = []

    def run_and_keep() -> None:
        results[:] = run()

    def outputs() -> list[Array]:
        arrays = [np.asarray(result.numpy()) for result in results]
        return whole_tensor(arrays, inputs["X"].shape) if isinstance(row.case, SlidingCase) else arrays

    return Call(run_and_keep, outputs)


@singledispatch
def operation(case: Case, inputs: Mapping[str, Array]) -> Any:
    """A function of no arguments that returns a list of tensors."""
    raise TypeError(f"asked for single operators only, found {case.operator}")


@operation.register
def _(case: RoiCase, inputs: Mapping[str, Array]) -> Any:
    counts = np.bincount(inputs["rois"][:, 0].astype(np.int64), minlength=case.batch).astype(np.int32)
    x, boxes, per_image = map(paddle.to_tensor, (inputs["X"], np.ascontiguousarray(inputs["rois"][:, 1:]), counts))
    return lambda: [roi_pool(x, boxes, per_image, case.pooled, case.scale)]


@operation.register
def _(case: AdaptiveCase, inputs: Mapping[str, Array]) -> Any:
    x, size = paddle.to_tensor(inputs["X"]), list(case.output_size)
    pool = getattr(functional, f"adaptive_max_pool{len(size)}d")
    return lambda: pool(x, size if len(size) > 1 else size[0], return_mask=True)


@operation.register
def _(case: SlidingCase, inputs: Mapping[str, Array]) -> Any:
    x = paddle.to_tensor(inputs["X"])
    pool = getattr(functional, f"max_pool{len(case.window)}d")
    arguments = list(case.window), list(case.strides), list(case.padding)
    if case.indices:
        return lambda: pool(x, *arguments, return_mask=True)
    return lambda: [pool(x, *arguments)]
