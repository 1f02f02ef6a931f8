"""The windows of one output cell, drawn on the map."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Sequence

import numpy as np

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.oracle.windows import RefusedError, Window, plan
from onnx_maxpool.types import Array

SIDE = 26
"""Of a cell, in units of the picture."""
GAP = 12
MARGIN = 34
LARGEST = 34
"""Longer axes are cut to this many cells around the window."""


def picture(case: Case, index: Sequence[int], obtained: object = None) -> str:
    """An SVG of the map that output cell `index` looks at, with its window and the cells of the maximum marked.

    Cells that hold the value `obtained` in the maximum's place are marked as wrong. A map of three spatial dimensions
    is drawn slice by slice. Empty where the cell has no window, as where the rule refuses.
    """
    try:
        x, window, at = seen(case, index)
    except (RefusedError, LookupError):
        return ""
    slices = x.reshape(-1, *x.shape[-2:]) if x.ndim > 1 else x[None, None]
    ranges = (range(1),) * (3 - len(window.ranges)) + window.ranges
    rows, columns = shown(ranges[1], slices.shape[1]), shown(ranges[2], slices.shape[2])
    width = MARGIN + len(columns) * SIDE + 2
    height = (MARGIN + len(rows) * SIDE + GAP) * len(slices)
    svg = ElementTree.Element(
        "svg",
        {"viewBox": f"0 0 {width} {height}", "width": str(width), "height": str(height), "role": "img"},
    )
    ElementTree.SubElement(svg, "title").text = describe(case, index, at, window)
    for depth, plane in enumerate(slices):
        top = depth * (MARGIN + len(rows) * SIDE + GAP)
        inside = depth in ranges[0]
        covered = [(i, j) for i in ranges[1] for j in ranges[2]] if inside else []
        _plane(svg, plane, (rows, columns), covered, obtained, top)
    return ElementTree.tostring(svg, encoding="unicode")


def seen(case: Case, index: Sequence[int]) -> tuple[Array, Window, tuple[int, int]]:
    """The map of one image and channel that an output cell looks at, its window, and the image and channel.

    Raises RefusedError and LookupError.
    """
    x = next(iter(case.inputs.values()))
    parts = plan(case.operator, list(case.inputs.values()), case.attributes)
    first, channel, *rest = index
    of_roi = case.version.plan == "roi"
    window = parts[first if of_roi else 0][rest]
    image = window.image if of_roi else first
    if image is None:
        raise LookupError(case.name)
    return x[image, channel], window, (image, channel)


def describe(case: Case, index: Sequence[int], at: tuple[int, int], window: Window) -> str:
    """The picture in words."""
    cells = " x ".join(f"[{r.start}, {r.stop})" for r in window.ranges)
    return f"{case.outputs[0]}{list(index)} is the maximum of {cells} in image {at[0]}, channel {at[1]}"


def shown(window: range, size: int) -> range:
    """The part of an axis that is drawn."""
    if size <= LARGEST:
        return range(size)
    middle = (window.start + window.stop) // 2 if window else window.start
    start = min(max(middle - LARGEST // 2, 0), size - LARGEST)
    return range(start, start + LARGEST)


def _plane(
    svg: ElementTree.Element,
    plane: Array,
    axes: tuple[range, range],
    covered: Sequence[tuple[int, int]],
    obtained: object,
    top: int,
) -> None:
    rows, columns = axes
    best = _best(plane, covered)
    for place, j in enumerate(columns):
        _text(svg, MARGIN + (place + 0.5) * SIDE, top + MARGIN - 8, str(j), "axis")
    for line, i in enumerate(rows):
        y = top + MARGIN + line * SIDE
        _text(svg, MARGIN - 6, y + SIDE / 2 + 4, str(i), "axis end")
        for place, j in enumerate(columns):
            kind = "cell best" if (i, j) in best else "cell in" if (i, j) in covered else "cell"
            if (i, j) not in best and obtained is not None and plane[i, j] == obtained:
                kind = "cell wrong"
            x = MARGIN + place * SIDE
            box = {"x": str(x), "y": str(y), "width": str(SIDE), "height": str(SIDE), "class": kind}
            ElementTree.SubElement(svg, "rect", box)
            _text(svg, x + SIDE / 2, y + SIDE / 2 + 4, short(plane[i, j]), "value")


def _best(plane: Array, covered: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    values = {at: plane[at] for at in covered}
    nans = {at for at, value in values.items() if value != value}
    if nans or not values:
        return nans
    most = max(values.values())
    return {at for at, value in values.items() if value == most}


def _text(svg: ElementTree.Element, x: float, y: float, text: str, kind: str) -> None:
    ElementTree.SubElement(svg, "text", {"x": f"{x:g}", "y": f"{y:g}", "class": kind}).text = text


def short(value: object) -> str:
    """A number in at most about four characters."""
    number = float(np.asarray(value).astype(np.float64))
    return "NaN" if np.isnan(number) else f"{number:.3g}".replace("e+0", "e").replace("e-0", "e-").replace("inf", "∞")
