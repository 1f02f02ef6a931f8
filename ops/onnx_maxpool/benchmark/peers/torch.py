"""torch's own pooling, and torchvision's ROI pooling where torchvision is installed."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import singledispatch
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import torch

from onnx_maxpool.benchmark.peers import Call, whole_tensor
from onnx_maxpool.benchmark.rows import AdaptiveCase, Case, RoiCase, Row, SlidingCase
from onnx_maxpool.types import Array


def versions() -> dict[str, str]:
    """Versions by distribution."""
    found = {"torch": version("torch")}
    with suppress(PackageNotFoundError):
        found["torchvision"] = version("torchvision")
    return found


def prepare(row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
    """The row, ready to run on so many threads."""
    if row.type == "bfloat16":
        raise ValueError("torchvision has no bfloat16 on the CPU")
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    run = operation(row.case, {name: torch.from_numpy(array) for name, array in inputs.items()})
    results: list[Any] = []

    def run_and_keep() -> None:
        results[:] = run()

    def outputs() -> list[Array]:
        arrays = [np.asarray(result.numpy()) for result in results]
        return whole_tensor(arrays, inputs["X"].shape) if isinstance(row.case, SlidingCase) else arrays

    return Call(run_and_keep, outputs)


@singledispatch
def operation(case: Case, inputs: Mapping[str, Any]) -> Any:
    """A function of no arguments that returns a list of tensors."""
    raise TypeError(f"asked for single operators only, found {case.operator}")


@operation.register
def _(case: RoiCase, inputs: Mapping[str, Any]) -> Any:
    from torchvision.ops import roi_pool  # not on PyPI for every torch

    return lambda: [roi_pool(inputs["X"], inputs["rois"], case.pooled, case.scale)]


@operation.register
def _(case: AdaptiveCase, inputs: Mapping[str, Any]) -> Any:
    dims, size = len(case.output_size), list(case.output_size)
    if dims == 1:
        return lambda: torch.ops.aten.adaptive_max_pool1d(inputs["X"], size)
    pool = getattr(torch.ops.aten, f"adaptive_max_pool{dims}d")
    return with_buffers(pool, inputs["X"], size)


@operation.register
def _(case: SlidingCase, inputs: Mapping[str, Any]) -> Any:
    dims, x = len(case.window), inputs["X"]
    arguments = list(case.window), list(case.strides), list(case.padding)
    if case.indices:
        return with_buffers(getattr(torch.ops.aten, f"max_pool{dims}d_with_indices"), x, *arguments)
    pool = getattr(torch.ops.aten, f"max_pool{dims}d")
    return lambda: [pool(x, *arguments)]


def with_buffers(pool: Any, *arguments: Any) -> Any:
    """`pool`, writing to the outputs of a first run."""
    values, indices = pool(*arguments)
    return lambda: pool.out(*arguments, out=values, indices=indices)
