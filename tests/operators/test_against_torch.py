"""AdaptiveMaxPool and MaxPooling1 against PyTorch's adaptive_max_pool and max_pool, values and indices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from support.one_node import Array, Run, assert_same, both, mixed, model

from onnx_maxpool.types import dtype_of

pytestmark = [pytest.mark.slow("computes in torch and in ONNX Runtime for many draws"), pytest.mark.extras]

ADAPTIVE: dict[int, Callable[..., Any]] = {1: F.adaptive_max_pool1d, 2: F.adaptive_max_pool2d, 3: F.adaptive_max_pool3d}
SLIDING: dict[int, Callable[..., Any]] = {2: F.max_pool2d, 3: F.max_pool3d}


def in_torch(x: Array, pool: Callable[[torch.Tensor], Any]) -> list[Array]:
    """What `pool` gives, in NumPy; a bfloat16 travels as its bits."""
    if x.dtype.name == "bfloat16":
        values, indices = pool(torch.from_numpy(x.view(np.int16)).view(torch.bfloat16))
        return [values.view(torch.int16).numpy().view(x.dtype), indices.numpy()]
    return [result.numpy() for result in pool(torch.from_numpy(x))]


def sizes(rng: np.random.Generator, low: Any, high: Any, count: int) -> tuple[int, ...]:
    return tuple(int(value) for value in rng.integers(low, high, count))


@both
@pytest.mark.parametrize("element_type", ["float16", "bfloat16", "float", "double"])
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_adaptive_max_pool(run: Run, element_type: str, rank: int) -> None:
    """A2, A3. PyTorch gives the last NaN's index, so with NaN in the input only the values are compared."""
    rng = np.random.default_rng(rank)
    for i in range(10):
        spatial = sizes(rng, 1, {1: 200, 2: 30, 3: 12}[rank], rank)
        output_size = sizes(rng, 1, {1: 40, 2: 9, 3: 6}[rank], rank)
        x = mixed(rng, (*sizes(rng, 1, 4, 2), *spatial), dtype_of(element_type), nan=i % 2 == 1)
        feeds = {"X": x, "output_size": np.array(output_size)}
        y, indices = run(model("AdaptiveMaxPool", 8, feeds, with_index=True), feeds)
        expected, expected_indices = in_torch(x, lambda t: ADAPTIVE[rank](t, output_size, return_indices=True))  # noqa: B023
        assert_same(y, expected)
        if i % 2 == 0:
            assert_same(indices, expected_indices)


@both
@pytest.mark.parametrize("element_type", ["float16", "float", "int8", "uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("rank", [2, 3])
def test_max_pooling1(run: Run, element_type: str, rank: int) -> None:
    """P2 to P5. PyTorch pads both ends alike and by half a window at most, and numbers each channel from 0."""
    rng = np.random.default_rng(10 + rank)
    for i in range(10):
        window, strides = sizes(rng, 1, 5, rank), sizes(rng, 1, 4, rank)
        padding = tuple(int(rng.integers(0, side // 2 + 1)) for side in window)
        spatial = tuple(side + extra for side, extra in zip(window, sizes(rng, 0, 8, rank), strict=True))
        x = mixed(rng, (*sizes(rng, 1, 4, 2), *spatial), dtype_of(element_type), nan=i % 2 == 1)
        attributes = {"window_size": window, "strides": strides, "start_padding": padding, "end_padding": padding}
        y, indices = run(model("MaxPooling1", 5, {"X": x}, with_index=True, **attributes), {"X": x})
        pool = SLIDING[rank]
        expected, in_channel = in_torch(
            x,
            lambda t: pool(t, window, strides, padding, return_indices=True),  # noqa: B023
        )
        assert_same(y, expected)
        if i % 2 == 0 or x.dtype.kind in "iu":
            channel = np.arange(x.shape[0] * x.shape[1]).reshape(*x.shape[:2], *(1,) * rank)
            assert_same(indices, (in_channel + channel * int(np.prod(spatial))).astype(np.uint32))
