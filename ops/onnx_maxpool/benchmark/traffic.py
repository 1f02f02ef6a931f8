"""How many bytes a row must move: its inputs once, its outputs once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import singledispatch

from onnx_maxpool.benchmark.rows import AdaptiveCase, Case, RoiCase, Row, SlidingCase
from onnx_maxpool.types import Array, dtype_of

ADAPTIVE_INDEX, SLIDING_INDEX = 8, 4
"""Bytes per index, of the types that the operators have by default."""


def input_bytes(inputs: Mapping[str, Array]) -> int:
    """Of all inputs."""
    return sum(array.nbytes for array in inputs.values())


def output_bytes(row: Row) -> int:
    """Of the values and the indices."""
    cells, index = outputs(row.case)
    return cells * (dtype_of(row.type).itemsize + index)


@singledispatch
def outputs(case: Case) -> tuple[int, int]:
    """The number of cells of the output, and the bytes of a cell's index."""
    raise TypeError(f"no outputs for {case!r}")


@outputs.register
def _(case: RoiCase) -> tuple[int, int]:
    return case.rois * case.channels * case.pooled**2, 0


@outputs.register
def _(case: AdaptiveCase) -> tuple[int, int]:
    return math.prod(case.shape[:2]) * math.prod(case.output_size), ADAPTIVE_INDEX


@outputs.register
def _(case: SlidingCase) -> tuple[int, int]:
    sides = zip(case.shape[2:], case.window, case.strides, case.padding, strict=True)
    sizes = [(side + 2 * padding - window) // stride + 1 for side, window, stride, padding in sides]
    return math.prod(case.shape[:2]) * math.prod(sizes), SLIDING_INDEX if case.indices else 0
