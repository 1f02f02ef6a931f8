"""What the rules say of one output cell, step by step: its window, the cells in it, and the maximum."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.oracle.windows import Window, plan
from onnx_maxpool.errors import OperatorError, number, shape
from onnx_maxpool.types import Array

AXES = {1: "W", 2: "HW", 3: "DHW"}
"""Names of the spatial axes, by how many there are."""

MOST_CELLS = 30
"""Of a window, that are listed."""


def derivation(case: Case, cell: Sequence[int]) -> Iterator[str]:
    """The steps to one cell of the first output, each with the rules that it rests on."""
    windows = plan(case.operator, list(case.inputs.values()), case.attributes)
    x = case.inputs["X"]
    if case.version.plan == "roi":
        window = windows[cell[0]][cell[2:]]
        image: int = window.image or 0
        yield from _roi_steps(case, cell)
    else:
        window = windows[0][cell[2:]]
        image = cell[0]
        yield from _window_steps(case, cell)
    names = AXES[x.ndim - 2]
    ranges = [_range(name, cells) for name, cells in zip(names, window.ranges, strict=True)]
    clip = "M8, G1" if case.version.plan == "roi" else "G1"
    yield f"clipped to the map {shape(x.shape[2:])}: {', '.join(ranges)} ({clip})"
    yield from _maximum(case, cell, image, window)


def refusal(case: Case) -> str:
    """Why the rules refuse a case, in the reference's words."""
    try:
        case.expected  # noqa: B018
    except OperatorError as error:
        return str(error)
    raise ValueError(f"{case.name}: the rules give outputs")


def _range(name: str, cells: range) -> str:
    return f"{name} {cells.start} to {cells.stop - 1}" if len(cells) else f"{name} none"


def _roi_steps(case: Case, cell: Sequence[int]) -> Iterator[str]:
    rois = case.inputs["rois"].reshape(-1, 5)
    row, size = rois[cell[0]], case.attributes[case.version.size_attribute]
    scale = case.attributes.get("spatial_scale", 1.0)
    numbers = ", ".join(number(value, rois.dtype) for value in row)
    yield f"ROI {cell[0]} is [{numbers}]: batch, x1, y1, x2, y2 (M4); spatial_scale {scale:g} (M3)"
    from onnx_maxpool.windows import bins, roi_edges

    x1, y1, x2, y2 = (int(edge) for edge in roi_edges(row[1:], scale))
    yield f"edges in cells, rounded: x from {x1} to {x2}, y from {y1} to {y2}, both included (M5, M11)"
    edges = case.version.bin_edges or "exact"
    for name, place, count, first, last in (("H", cell[2], size[0], y1, y2), ("W", cell[3], size[1], x1, x2)):
        extent = max(last - first + 1, 1)
        starts, ends = bins(np.array(extent, np.int64), count, edges, rois.dtype)
        start, end = first + int(starts[place]), first + int(ends[place])
        yield f"along {name}: {extent} cells (M6), bin {place} of {count} is cells {start} to {end - 1} (M7)"


def _window_steps(case: Case, cell: Sequence[int]) -> Iterator[str]:
    dims = case.inputs["X"].shape[2:]
    for axis, (name, place, size) in enumerate(zip(AXES[len(dims)], cell[2:], dims, strict=True)):
        if case.version.plan == "adaptive":
            count = int(case.inputs["output_size"][axis])
            start, end = place * size // count, -(-(place + 1) * size // count)
            yield (
                f"along {name}: window {place} of {count} over {size} cells is cells floor({place}*{size}/{count}) = "
                f"{start} to ceil({place + 1}*{size}/{count}) - 1 = {end - 1} (A2)"
            )
            continue
        window = case.attributes["window_size"][axis]
        stride = case.attributes.get("strides", [1] * len(dims))[axis]
        padding = case.attributes.get("start_padding", [0] * len(dims))[axis]
        start = place * stride - padding
        yield f"along {name}: window {place} starts at {place}*{stride} - {padding} = {start}, {window} cells (P4)"


def _maximum(case: Case, cell: Sequence[int], image: int, window: Window) -> Iterator[str]:
    x = case.inputs["X"]
    places = list(itertools.product(*window.ranges))
    if not places:
        yield "it has no cell, so it gives 0 (M9)"
        return
    values = [
        number(x[(image, cell[1], *at)], x.dtype) if x.dtype.kind not in "iu" else str(x[(image, cell[1], *at)])
        for at in places
    ]
    listed = ", ".join(values[:MOST_CELLS]) + (", ..." if len(values) > MOST_CELLS else "")
    yield f"its cells in image {image}, channel {cell[1]}: {listed}"
    y = case.expected[0][tuple(cell)]
    rule = "G3" if y != y else "G2"
    yield f"the maximum is {y} ({rule})"
    if len(case.outputs) > 1:
        rule = "P5" if case.version.index_scope == "tensor" else "A3"
        yield f"its index is {case.expected[1][tuple(cell)]} ({rule}, G5)"


def listed_array(array: Array) -> str:
    """A small array as it stands in a page."""
    return f"{array.dtype} {shape(array.shape)} {array.tolist()}"
