"""What is timed: one `Row` per operator, case and element type."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import singledispatch

from onnx_maxpool.types import Array, dtype_of


@dataclass(frozen=True)
class RoiCase:
    """MaxRoiPool on a feature map."""

    channels: int
    height: int
    width: int
    rois: int
    pooled: int
    """Bins along either axis."""
    scale: float
    batch: int = 1
    cells: tuple[int, int] | None = None
    """Height and width of every ROI on the map; None for sizes like those of a detector's proposals."""

    operator = "MaxRoiPool"

    def __str__(self) -> str:
        batch = f"{self.batch}x" if self.batch > 1 else ""
        size = f" of {self.cells[0]}x{self.cells[1]}" if self.cells else ""
        rois = count_of(self.rois, "ROI")
        return f"{batch}{self.channels}x{self.height}x{self.width}, {rois}{size} to {self.pooled}x{self.pooled}"


@dataclass(frozen=True)
class AdaptiveCase:
    """AdaptiveMaxPool, with indices."""

    shape: tuple[int, ...]
    output_size: tuple[int, ...]

    operator = "AdaptiveMaxPool"

    def __str__(self) -> str:
        return f"{times(self.shape)} to {times(self.output_size)}"

    def as_sliding(self) -> SlidingCase | None:
        """The same windows as a case of MaxPooling1, which there is where every size divides its dimension."""
        sides = self.shape[2:]
        if len(sides) == 1 or any(side % size for side, size in zip(sides, self.output_size, strict=True)):
            return None
        window = tuple(side // size for side, size in zip(sides, self.output_size, strict=True))
        return SlidingCase(self.shape, window, window, (0,) * len(window), indices=True)


@dataclass(frozen=True)
class SlidingCase:
    """MaxPooling1, with or without indices."""

    shape: tuple[int, ...]
    window: tuple[int, ...]
    strides: tuple[int, ...]
    padding: tuple[int, ...]
    """At either end."""
    indices: bool

    operator = "MaxPooling1"

    def __str__(self) -> str:
        window, strides, padding = map(brief, (self.window, self.strides, self.padding))
        padded = f" p{padding}" if any(self.padding) else ""
        indices = ", indices" if self.indices else ""
        return f"{times(self.shape)} k{window} s{strides}{padded}{indices}"


@dataclass(frozen=True)
class GraphCase:
    """MaxRoiPool between a convolution of 1x1, which writes its map, and a matrix product, which reads its output."""

    rois: int
    channels: int = 256
    """Of the map; the convolution reads an eighth as many."""
    height: int = 38
    width: int = 50
    pooled: int = 7
    scale: float = 1 / 16
    features: int = 32
    """Columns of the product's constant."""

    operator = "Conv, MaxRoiPool, MatMul"

    def __str__(self) -> str:
        return str(self.pool)

    @property
    def pool(self) -> RoiCase:
        """The node in the middle."""
        return RoiCase(self.channels, self.height, self.width, self.rois, self.pooled, self.scale)

    @property
    def input_shape(self) -> tuple[int, int, int, int]:
        """Of what the convolution reads."""
        return 1, self.channels // 8, self.height, self.width

    @property
    def pooled_cells(self) -> int:
        """Cells of a ROI's bins: the product's inner dimension."""
        return self.channels * self.pooled**2


Case = RoiCase | AdaptiveCase | SlidingCase | GraphCase
CASES: dict[str, Callable[..., Case]] = {
    case.operator: case for case in (RoiCase, AdaptiveCase, SlidingCase, GraphCase)
}
"""The classes of cases by operator."""


@dataclass(frozen=True)
class Row:
    """One case in one element type."""

    case: Case
    type: str = "float"
    """By ONNX's name; ROIs have it too."""
    quick: bool = False
    """Whether `--quick` times it."""
    curve: str | None = None
    """The growth curve of which it is a point."""
    at: float = 0
    """The point's place on the curve's horizontal axis."""

    @property
    def name(self) -> str:
        """`MaxRoiPool 512x38x50, 300 ROIs to 7x7, float`."""
        return f"{self.case.operator} {self.case}, {self.type}"


def count_of(count: int, noun: str) -> str:
    """`1 thread`, `2 threads`."""
    return f"{count} {noun}{'s' * (count != 1)}"


def times(sizes: tuple[int, ...]) -> str:
    """`8x64x112x112`."""
    return "x".join(map(str, sizes))


def brief(sizes: tuple[int, ...]) -> str:
    """`3x5`, or `3` where all are the same."""
    return times(sizes) if len(set(sizes)) > 1 else str(sizes[0])


ROI_CASES = (
    RoiCase(512, 38, 50, 300, 7, 1 / 16),
    RoiCase(512, 38, 50, 2000, 7, 1 / 16),
    RoiCase(256, 200, 304, 1000, 7, 1 / 4),
    RoiCase(1024, 14, 14, 128, 14, 1 / 16),
    RoiCase(512, 38, 50, 1, 7, 1 / 16, cells=(12, 16)),
    RoiCase(3, 64, 64, 8, 2, 1.0),
    RoiCase(256, 200, 304, 1000, 14, 1 / 4),
    RoiCase(256, 38, 50, 800, 7, 1 / 16, batch=8),
)
QUICK_ROI_CASES = (ROI_CASES[0], ROI_CASES[5])
NARROW_ROI_CASES = ROI_CASES[:3]

GRAPH_CASES = tuple(map(GraphCase, (20, 80, 120, 160, 640)))
"""Outputs of the node in the middle from 1 to 32 MB: those of the same size as a processor's caches matter most."""

ADAPTIVE_CASES = (
    AdaptiveCase((8, 512, 38, 50), (7, 7)),
    AdaptiveCase((1, 256, 200, 304), (6, 6)),
    AdaptiveCase((32, 2048, 7, 7), (1, 1)),
    AdaptiveCase((64, 128, 4096), (23,)),
    AdaptiveCase((2, 64, 16, 56, 56), (4, 7, 7)),
)

PICTURES, VOLUMES = (8, 64, 112, 112), (2, 64, 16, 56, 56)
SLIDING_CASES = tuple(
    case
    for indices in (True, False)
    for case in (
        SlidingCase(PICTURES, (3, 3), (2, 2), (1, 1), indices),
        SlidingCase(VOLUMES, (2, 2, 2), (2, 2, 2), (0, 0, 0), indices),
        SlidingCase(PICTURES, (3, 3), (1, 1), (1, 1), indices),
        SlidingCase(VOLUMES, VOLUMES[2:], (1, 1, 1), (0, 0, 0), indices),
    )
)
SLIDING_TYPES = ("float", "float16", "int8", "uint8", "int32")

ROIS, AREA = "number of ROIs", "cells per ROI"
"""The growth curves' horizontal axes."""
ROI_COUNTS = (1, 3, 10, 30, 100, 300, 1000, 3000, 10000)
ROI_SIDES = ((1, 1), (4, 4), (7, 7), (14, 14), (28, 28), (56, 56), (112, 112), (200, 304))
QUICK_CURVE_POINTS = {ROIS: (1, 100, 1000), AREA: (1, 784, 60800)}


def main_rows() -> Iterator[Row]:
    """The rows of the table."""
    for roi in ROI_CASES:
        yield Row(roi, quick=roi in QUICK_ROI_CASES)
    for type_ in ("float16", "bfloat16"):
        for roi in NARROW_ROI_CASES:
            yield Row(roi, type_, quick=roi in QUICK_ROI_CASES)
    for graph in GRAPH_CASES:
        yield Row(graph, quick=graph == GRAPH_CASES[1])
    for adaptive in ADAPTIVE_CASES:
        yield Row(adaptive, quick=adaptive == ADAPTIVE_CASES[2])
    for adaptive in ADAPTIVE_CASES:
        yield Row(adaptive, "float16")
    for indices in (True, False):
        yield Row(SlidingCase(VOLUMES, (3, 3, 3), (1, 1, 1), (1, 1, 1), indices))
    for type_ in SLIDING_TYPES:
        for sliding in SLIDING_CASES:
            yield Row(sliding, type_, quick=sliding == SLIDING_CASES[0] and type_ == "float")


def growth_rows() -> Iterator[Row]:
    """The points of the growth curves."""
    case = RoiCase(64, 38, 50, 1, 7, 1 / 16)
    for rois in ROI_COUNTS:
        yield Row(replace(case, rois=rois), curve=ROIS, at=rois)
    case = RoiCase(64, 200, 304, 100, 7, 1 / 4)
    for cells in ROI_SIDES:
        yield Row(replace(case, cells=cells), curve=AREA, at=math.prod(cells))


ROWS = (
    *main_rows(),
    *(replace(row, quick=row.at in QUICK_CURVE_POINTS[row.curve or ""]) for row in growth_rows()),
)


def chosen(patterns: tuple[str, ...] = (), *, quick: bool = False) -> list[Row]:
    """The rows whose name or curve contains one of `patterns`, if there are any; of a quick run if `quick`."""
    return [
        row
        for row in ROWS
        if (row.quick or not quick)
        and (not patterns or any(p.casefold() in f"{row.name} {row.curve or ''}".casefold() for p in patterns))
    ]


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
def _(case: GraphCase) -> tuple[int, int]:
    return case.rois * case.features, 0


@outputs.register
def _(case: SlidingCase) -> tuple[int, int]:
    sides = zip(case.shape[2:], case.window, case.strides, case.padding, strict=True)
    sizes = [(side + 2 * padding - window) // stride + 1 for side, window, stride, padding in sides]
    return math.prod(case.shape[:2]) * math.prod(sizes), SLIDING_INDEX if case.indices else 0
