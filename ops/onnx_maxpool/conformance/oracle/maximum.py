"""The operators by brute force, cell by cell, from the published texts: shares no code with the reference.

A maximum is a loop over a list. Every open question (`answers.ANSWERS`) is a switch, so that this also computes what a
backend with other answers would give. Slow, and meant for cases small enough to read.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from onnx_maxpool.conformance.oracle.answers import Choices
from onnx_maxpool.conformance.oracle.windows import Chosen, Window, plan
from onnx_maxpool.operators.registry import OperatorVersion, newest_version
from onnx_maxpool.types import Array, Attributes

Cells = Collection[tuple[int, ...]]
"""Of an output: the image, or the ROI, the channel, and the place in its plane."""


def evaluate(
    operator: str,
    inputs: Sequence[Array],
    attributes: Attributes,
    choices: Choices | None = None,
    *,
    outputs: int = 1,
    only: Cells | None = None,
) -> tuple[Array, ...]:
    """The outputs that the choices lead to; the index is the second.

    Where `only` some cells are wanted, the others of the outputs are 0. Raises RefusedError, and KeyError for an
    operator that the registry has no row for.
    """
    with np.errstate(over="ignore"):  # a cast to a narrower type may give infinity
        return _evaluate(operator, inputs, attributes, choices or {}, outputs, only)


def _evaluate(
    operator: str, inputs: Sequence[Array], attributes: Attributes, choices: Choices, outputs: int, only: Cells | None
) -> tuple[Array, ...]:
    chosen = Chosen(choices, operator)
    x = inputs[0]
    version = newest_version(operator)
    if version.plan == "roi":
        return (with_type(_roi_values(version, inputs, attributes, chosen, only), chosen),)
    (windows,) = plan(operator, inputs, attributes, choices)
    cells = numbers(x, chosen)
    y = np.zeros((*x.shape[:2], *windows.dims), x.dtype)
    index = np.zeros(y.shape, np.dtype(index_type(version, attributes)))
    for n, c, *place in np.ndindex(y.shape) if only is None else only:
        value, at = maximum(cells, x, n, c, windows[place], chosen)
        y[(n, c, *place)] = held(value, x.dtype)
        index[(n, c, *place)] = numbered(version, x.shape, n, c, at, chosen)
    return (with_type(y, chosen), index)[:outputs]


def _roi_values(
    version: OperatorVersion, inputs: Sequence[Array], attributes: Attributes, chosen: Chosen, only: Cells | None
) -> Array:
    x, rois = inputs[0], inputs[1].reshape(-1, 5)
    rows = range(len(rois)) if only is None else sorted({cell[0] for cell in only})
    parts = dict(zip(rows, plan(version.name, (x, rois[list(rows)]), attributes, chosen.choices), strict=True))
    cells = numbers(x, chosen)
    y = np.zeros((len(rois), x.shape[1], *attributes[version.size_attribute]), x.dtype)
    for r, c, *place in np.ndindex(y.shape) if only is None else only:
        window = parts[r][place]
        y[(r, c, *place)] = maximum(cells, x, window.image, c, window, chosen)[0]
    return y


class Numbers:
    """The cells as Python's numbers, which hold every type's values exactly."""

    def __init__(self, x: Array) -> None:
        self.plain = x if x.dtype.kind in "iu" else x.astype(np.float64)

    def __getitem__(self, at: tuple[int, ...]) -> Any:
        return self.plain.item(at)


def numbers(x: Array, chosen: Chosen) -> Numbers:
    """The cells, in the precision chosen."""
    answer = chosen("precision")
    if answer != "values kept":
        kind = {"float32": np.float32, "bfloat16": ml_dtypes.bfloat16, "double": np.float64}[answer.split()[-1]]
        x = x.astype(kind)
    return Numbers(x)


def maximum(
    cells: Numbers, x: Array, image: int | None, channel: int, window: Window, chosen: Chosen
) -> tuple[Any, tuple[int, ...]]:
    """G2 to G5, M9: the maximum in a window of a channel, and the spatial position of its first cell."""
    lowest = lowest_finite(x.dtype)
    if image is None:
        return 0, ()
    candidates = [(cells[(image, channel, *at)], at) for at in itertools.product(*window.ranges)]
    if window.reaches_out and chosen("padding") == "padding is 0":
        candidates.insert(0, (0, (0,) * len(window.ranges)))
    if not candidates:
        floor = -math.inf if x.dtype.kind not in "iu" else lowest
        if window.reaches_out and chosen("large padding") == "window of padding alone is the lowest":
            return floor, (0,) * len(window.ranges)
        empty = {"empty bin is 0": 0, "empty bin is -inf": floor, "empty bin is the lowest finite number": lowest}
        return empty[chosen("empty")], (0,) * len(window.ranges)
    best, place = largest(candidates, lowest, chosen)
    if chosen("minimum") == "maximum starts at the lowest finite number":
        best = best if math.isnan(best) else max(best, lowest)
    if chosen("minimum") == "maximum starts at 0":
        best = best if math.isnan(best) else max(best, 0)
    return best, place


def held(value: Any, dtype: np.dtype[Any]) -> Any:
    """A value as an integer type holds it, which an answer may have rounded out of its range."""
    if dtype.kind not in "iu":
        return value
    return min(max(int(value), int(np.iinfo(dtype).min)), int(np.iinfo(dtype).max))


def lowest_finite(dtype: np.dtype[Any]) -> Any:
    """The least number of a type that is not infinite."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min)
    return float(ml_dtypes.finfo(dtype).min)  # type: ignore[no-untyped-call]


def largest(
    candidates: Sequence[tuple[Any, tuple[int, ...]]], lowest: Any, chosen: Chosen
) -> tuple[Any, tuple[int, ...]]:
    """The maximum of at least one cell, and where it lies."""
    nans = [at for value, at in candidates if value != value]
    answer = chosen("nan")
    if nans and answer == "NaN wins":
        return math.nan, nans[-1 if chosen("nan index") == "last NaN" else 0]
    if nans and answer == "NaN kept only if first" and nans[0] == candidates[0][1]:
        return math.nan, nans[0]
    if nans and answer == "maximum restarts after a NaN":
        last = max(i for i, (value, _) in enumerate(candidates) if value != value)
        if last == len(candidates) - 1:
            return math.nan, candidates[last][1]
        candidates = candidates[last + 1 :]
    kept = [(value, at) for value, at in candidates if value == value]
    if not kept:
        return lowest, candidates[0][1]
    best = max(value for value, _ in kept)
    places = [at for value, at in kept if value == best]
    if best == 0 and chosen("zeros") == "+0 above -0":
        positive = [at for value, at in kept if value == 0 and math.copysign(1, value) > 0]
        places = positive or places
    return best, places[-1 if chosen("tie") == "last of equals" else 0]


def index_type(version: OperatorVersion, attributes: Attributes) -> str:
    """P5 and A3: NumPy's name of the index's type; any, where the operator has no index."""
    default, *_ = *version.index_types, "int64"
    spelling = attributes.get("index_element_type")
    return default if spelling is None else ("uint" if spelling[0] == "u" else "int") + str(spelling[1:])


def numbered(
    version: OperatorVersion, shape: Sequence[int], image: int, channel: int, at: tuple[int, ...], chosen: Chosen
) -> int:
    """P5 and A3: the number of a cell."""
    answer = chosen("index scope")
    dims = shape[2:]
    if answer == "column-major":
        return sum(i * math.prod(dims[:axis]) for axis, i in enumerate(at))
    in_channel = sum(i * math.prod(dims[axis + 1 :]) for axis, i in enumerate(at))
    whole = version.index_scope == "tensor"
    channels_before = {
        "numbered as the rule says": whole * (image * shape[1] + channel),
        "numbered per channel": 0,
        "numbered per image": channel,
        "numbered in the whole input": image * shape[1] + channel,
    }
    return in_channel + channels_before[answer] * math.prod(dims)


def with_type(y: Array, chosen: Chosen) -> Array:
    """G6: the output's type."""
    return y.astype(np.float32) if chosen("result") == "result is float32" else y
