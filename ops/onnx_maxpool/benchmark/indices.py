"""Indices as our operators number them, from the ways in which peers do."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from onnx_maxpool.types import Array


def whole_tensor(outputs: Sequence[Array], x: tuple[int, ...]) -> list[Array]:
    """Outputs whose indices, if there are any, number each channel's cells: numbered over all of `x` (P5)."""
    values, *indices = outputs
    channels = np.arange(x[0] * x[1], dtype=np.int64).reshape(*x[:2], *(1 for _ in x[2:]))
    return [values, *(index + channels * math.prod(x[2:]) for index in indices)]


def per_channel(outputs: Sequence[Array], x: tuple[int, ...]) -> list[Array]:
    """Outputs whose indices number the cells of `x`: numbered in each channel (A3)."""
    values, *indices = outputs
    return [values, *(index % math.prod(x[2:]) for index in indices)]
