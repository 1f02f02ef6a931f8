"""Which cells each output cell covers, with any choices: with fractions, from nothing but the published texts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import ml_dtypes
import numpy as np

from onnx_maxpool.conformance.oracle.answers import REFUSED, Choices, answers_of
from onnx_maxpool.operators.registry import newest_version
from onnx_maxpool.types import Array, Attributes

FAR = 2**40
MOST_INT32 = 2**31
LEAST_INT32 = -(2**31)


class RefusedError(Exception):
    """The answer chosen is an error."""


@dataclass(frozen=True)
class Window:
    """The cells that one output cell covers."""

    image: int | None
    """None where the ROI names no image and the answer chosen is zeros."""
    ranges: tuple[range, ...]
    """Per spatial axis, as they lie in the map."""
    reaches_out: bool = False
    """Whether it also covers padding."""


Axis = list[tuple[range, bool]]
"""The cells of each window along a spatial axis, and whether it also covers padding there."""


def unpadded(windows: Iterable[range]) -> Axis:
    """An axis on which no window covers padding."""
    return [(cells, False) for cells in windows]


@dataclass(frozen=True)
class Windows:
    """The windows of a plane's output cells, by their places. Each is made when it is asked for: there may be many."""

    axes: Sequence[Axis]
    image: int | None = None

    @property
    def dims(self) -> tuple[int, ...]:
        """How many output cells there are along each axis."""
        return tuple(map(len, self.axes))

    def __getitem__(self, place: Sequence[int]) -> Window:
        """The window of the output cell at a place."""
        parts = [axis[i] for axis, i in zip(self.axes, place, strict=True)]
        return Window(self.image, tuple(cells for cells, _ in parts), any(padded for _, padded in parts))


class Chosen:
    """Choices, completed: `chosen("rounding")` is its answer to a question."""

    def __init__(self, choices: Choices, operator: str) -> None:
        self.choices = choices
        self.operator = operator

    def __call__(self, question: str) -> str:
        """The answer."""
        return self.choices.get(question, answers_of(question, self.operator)[0])


def roi_plan(x: Array, rois: Array, pooled: Sequence[int], scale: float, chosen: Chosen) -> Iterator[Windows]:
    """The windows of each ROI; `rois` (R, 5)."""
    if scale <= 0 and chosen("scale of 0") == REFUSED:
        raise RefusedError("scale")
    images, _, height, width = x.shape
    for row in rois:
        image = batch_number(float(row[0]), images, chosen)
        x1, y1, x2, y2 = (roi_edge(value, rois.dtype, scale, chosen) for value in row[1:])
        if chosen("order") == "y before x":
            x1, y1, x2, y2 = y1, x1, y2, x2
        axes = (
            unpadded(bins(y1, y2, pooled[0], height, rois.dtype, chosen)),
            unpadded(bins(x1, x2, pooled[1], width, rois.dtype, chosen)),
        )
        yield Windows(axes, image)


def batch_number(value: float, images: int, chosen: Chosen) -> int | None:
    """M10: the image, None for one that is read as zeros. Raises RefusedError."""
    if math.isnan(value):
        if chosen("nan batch") == REFUSED:
            raise RefusedError("batch")
        value = 0.0
    if value != math.trunc(value) and chosen("fractional batch") == REFUSED:
        raise RefusedError("batch")
    number = round(value) if chosen("fractional batch") == "batch rounded" else math.trunc(value)
    if 0 <= number < images:
        return number
    answer = chosen("batch")
    if answer == REFUSED:
        raise RefusedError("batch")
    return {"batch modulo N": number % images, "nearest batch": min(max(number, 0), images - 1)}.get(answer)


def roi_edge(value: Any, dtype: np.dtype[Any], scale: float, chosen: Chosen) -> int:
    """M5 and M11: a coordinate in cells. Raises RefusedError."""
    if chosen("coordinates") != "coordinates as given":
        value = value.astype(np.float16 if chosen("coordinates").split()[-1] == "float16" else ml_dtypes.bfloat16)
    number = float(value)
    if math.isnan(number):
        answer = chosen("nan coordinate")
        if answer == REFUSED:
            raise RefusedError("coordinate")
        return 0 if answer == "NaN coordinate is 0" else LEAST_INT32
    in_double = dtype == np.float64
    if chosen("product") != "product in the type's precision":
        in_double = chosen("product") == "product in double"
    kind = np.float64 if in_double else np.float32
    factor = 1.0 if chosen("scale") == "scale ignored" else scale
    with np.errstate(over="ignore"):
        product = kind(number) * kind(np.float32(factor))
    if abs(float(product)) >= MOST_INT32:
        if chosen("saturation") == REFUSED:
            raise RefusedError("coordinate")
        if chosen("saturation") == "far coordinates wrap around 32 bits":
            return LEAST_INT32  # what x86 makes of a float beyond an int32
    if abs(float(product)) >= FAR:
        return FAR if product > 0 else -FAR
    return rounded(product, chosen("rounding"))


def computes_in_32_bits(chosen: Chosen) -> bool:
    """Whether the least integer of 32 bits stands for a coordinate that does not fit: it may be a ROI's own, too."""
    wraps = chosen("saturation") == "far coordinates wrap around 32 bits"
    return wraps or chosen("nan coordinate") == "NaN coordinate becomes the least int32"


def rounded(product: Any, rounding: str) -> int:
    """A finite number as an integer."""
    exact = Fraction(float(product))
    half = Fraction(1, 2)
    sign = -1 if exact < 0 else 1
    return {
        "half away from zero": lambda: sign * math.floor(abs(exact) + half),
        "half to even": lambda: round(exact),
        "floor(x + 0.5)": lambda: math.floor(float(product + type(product)(0.5))),
        "half toward zero": lambda: sign * math.ceil(abs(exact) - half),
        "floor": lambda: math.floor(exact),
        "truncation": lambda: math.trunc(exact),
    }[rounding]()


def bins(first: int, last: int, count: int, size: int, dtype: np.dtype[Any], chosen: Chosen) -> list[range]:
    """M6 to M8: the bins along one axis, clipped to the map."""
    if last < first:
        if chosen("malformed") == REFUSED:
            raise RefusedError("malformed")
        if chosen("malformed") == "malformed ROI is turned round":
            first, last = last, first
    if chosen("clipping") == "ROIs clipped to the map before they are cut":
        first, last = max(first, 0), min(last, size - 1)
    extent = last - first + (chosen("corners") == "corners inclusive")
    if LEAST_INT32 in (first, last) and computes_in_32_bits(chosen):
        extent = (extent - LEAST_INT32) % 2**32 + LEAST_INT32
    if chosen("malformed") == "malformed ROI is empty" and extent <= 0:
        return [range(0)] * count
    extent = max(extent, 1)
    limit = size - (chosen("clipping") == "clipped one cell short")
    cuts = even_cuts(extent, count, dtype, chosen)
    return [range(max(first + start, 0), min(first + end, limit)) for start, end in cuts]


def even_cuts(extent: int, count: int, dtype: np.dtype[Any], chosen: Chosen) -> list[tuple[int, int]]:
    """M7 and A2: where the windows that share out `extent` cells start and end."""
    edges: list[tuple[Any, Any]]
    answer = chosen("edges")
    if answer == "exact integers":
        edges = [(Fraction(p * extent, count), Fraction((p + 1) * extent, count)) for p in range(count)]
    elif answer == "accumulated float32 edges":
        edges, at = [], np.float32(0)
        for _ in range(count):
            edges.append((at, at + np.float32(extent) / np.float32(count)))
            at = edges[-1][1]
    else:
        in_double = answer == "double edges" or (answer == "edges in the type's precision" and dtype == np.float64)
        kind: Any = np.float64 if in_double else np.float32
        edges = [
            (kind(p) * (kind(extent) / kind(count)), kind(p + 1) * (kind(extent) / kind(count))) for p in range(count)
        ]
    start = {
        "start rounded down": math.floor,
        "start rounded up": math.ceil,
        "start rounded to nearest": lambda edge: math.floor(edge + Fraction(1, 2)),
    }[chosen("start")]
    end = {
        "end rounded up": math.ceil,
        "end rounded down": lambda edge: math.floor(edge),
        "one cell too far": lambda edge: math.ceil(edge) + 1,
    }[chosen("end")]
    return [(int(start(a)), int(end(b))) for a, b in edges]


def plan(
    operator: str, inputs: Sequence[Array], attributes: Attributes, choices: Choices | None = None
) -> list[Windows]:
    """The windows of all output cells: of ROI operators those of each ROI, of the others those of every plane.

    Raises RefusedError, and KeyError for an operator that the registry has no row for.
    """
    chosen = Chosen(choices or {}, operator)
    x = inputs[0]
    version = newest_version(operator)
    if version.plan == "roi":
        scale = float(np.float32(attributes.get("spatial_scale", 1.0)))
        return list(roi_plan(x, inputs[1].reshape(-1, 5), attributes[version.size_attribute], scale, chosen))
    planned = {
        "sliding": lambda: sliding_plan(x.shape[2:], attributes, chosen),
        "adaptive": lambda: adaptive_plan(x, inputs[1], chosen),
    }
    return [planned[version.plan]()]


def adaptive_plan(x: Array, counts: Array, chosen: Chosen) -> Windows:
    """A2 and A5."""
    if 0 in x.shape[2:] and chosen("no cells") == REFUSED:
        raise RefusedError("cells")
    axes = [
        unpadded(range(start, min(end, size)) for start, end in even_cuts(size, int(count), x.dtype, chosen))
        for size, count in zip(x.shape[2:], counts, strict=True)
    ]
    return Windows(axes)


def sliding_plan(dims: Sequence[int], attributes: Attributes, chosen: Chosen) -> Windows:
    """P3 and P4."""
    ones, zeros = [1] * len(dims), [0] * len(dims)
    padding = attributes.get("start_padding", zeros), attributes.get("end_padding", zeros)
    windows, strides = attributes["window_size"], attributes.get("strides", ones)
    too_large = any(p >= size for side in padding for p, size in zip(side, windows, strict=True))
    if too_large and chosen("large padding") == REFUSED:
        raise RefusedError("padding")
    axes = []
    for size, window, stride, before, after in zip(dims, windows, strides, *padding, strict=True):
        free = Fraction(size + before + after - window, stride)
        count = 1 + (math.floor if chosen("count") == "output size rounded down" else math.ceil)(free)
        starts = [i * stride - before for i in range(count)]
        axes.append([(range(max(s, 0), min(s + window, size)), s < 0 or s + window > size) for s in starts])
    return Windows(axes)
