"""DirectML MaxPooling1, since versions 2, 3 and 5: rules P1 to P6."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnx_maxpool.errors import OperatorError, shape
from onnx_maxpool.facts import INDEX_SPELLINGS, LARGEST_SIDE
from onnx_maxpool.maximum import window_first_max, window_max
from onnx_maxpool.operators.definition import Attribute, Operator, Schema, check_bytes
from onnx_maxpool.types import Array, Attributes, Dims
from onnx_maxpool.windows import sliding_count, sliding_windows

NAME = "MaxPooling1"
SPATIAL_AXES = {2: "HW", 3: "DHW"}
"""The spatial dimensions' letters by their number (P1)."""


def max_pooling1(
    x: Array,
    *,
    window_size: Sequence[int],
    strides: Sequence[int],
    start_padding: Sequence[int],
    end_padding: Sequence[int],
    index_type: np.dtype[Any] | None = None,
) -> tuple[Array, ...]:
    """Maximum over windows that slide over the spatial dimensions.

    `x` (N, C, H, W) or (N, C, D, H, W) of any type; one integer per spatial dimension in each of the others. Returns
    the values, and where an `index_type` is given their indices into the whole of `x`, flattened (P5).
    Raises OperatorError for a wrong rank (P1), for an `x` in which no window finds a cell (P2, P3), and for one with
    more cells than the index type numbers (P5).
    """
    dims = output_shape(x.shape, window_size, strides, start_padding, end_padding)
    if index_type is not None:
        check_index(x.shape, index_type)
    check_bytes(NAME, "Y", dims, x.dtype.itemsize)
    if index_type is not None:
        check_bytes(NAME, "Indices", dims, index_type.itemsize)
    windows = tuple(map(sliding_windows, x.shape[2:], window_size, strides, start_padding, end_padding))
    if index_type is None:
        return (window_max(x, windows),)
    y, cell = window_first_max(x, windows)
    image = np.arange(x.shape[0] * x.shape[1], dtype=np.int64).reshape(*x.shape[:2], *(1 for _ in windows))
    return y, (image * math.prod(x.shape[2:]) + cell).astype(index_type)


def output_shape(
    x: tuple[int, ...],
    window_size: Sequence[int],
    strides: Sequence[int],
    start_padding: Sequence[int],
    end_padding: Sequence[int],
) -> tuple[int, ...]:
    """The shape of the outputs (P3). Raises OperatorError for a wrong rank, and for a dimension without a window."""
    check_shape(x, window_size, start_padding, end_padding)
    return x[:2] + tuple(map(sliding_count, x[2:], window_size, strides, start_padding, end_padding))


def check_shape(x: Dims, window_size: Sequence[int], start_padding: Sequence[int], end_padding: Sequence[int]) -> None:
    """P1, and what P2 and P3 ask of the dimensions. Looks at what is known of them.

    Paddings smaller than the window keep every window from covering only padding, unless there is nothing else.
    """
    letters = SPATIAL_AXES[len(window_size)]
    if len(x) != 2 + len(letters):
        order = ", ".join("NC" + letters)
        raise OperatorError(f"{NAME}: X has shape {shape(x)}, expected {2 + len(letters)} dimensions ({order})")
    for letter, dim, window, start, end in zip(letters, x[2:], window_size, start_padding, end_padding, strict=True):
        least = max(1, window - start - end)
        if isinstance(dim, int) and dim < least:
            raise OperatorError(
                f"{NAME}: X has shape {shape(x)}, expected {letter} of at least {least}, as window_size is "
                f"{shape(window_size)}, start_padding {shape(start_padding)} and end_padding {shape(end_padding)}"
            )


def check_shapes(shapes: Sequence[Dims | None], attributes: Attributes) -> None:
    """`check_shape` of X where its rank is known."""
    (x,) = shapes
    if x is not None:
        check_shape(x, *(attributes[name] for name in ("window_size", "start_padding", "end_padding")))


def check_index(x: tuple[int, ...], index_type: np.dtype[Any]) -> None:
    """P5."""
    cells = int(np.iinfo(index_type).max) + 1
    if math.prod(x) > cells:
        spelling = INDEX_SPELLINGS[index_type.name]
        raise OperatorError(
            f"{NAME}: X has shape {shape(x)}, expected at most {cells} cells, as many as {spelling} indices number"
        )


def check_attributes(attributes: Attributes) -> None:
    """P2."""
    window_size = attributes["window_size"]
    if len(window_size) not in SPATIAL_AXES or not all(1 <= side <= LARGEST_SIDE for side in window_size):
        raise OperatorError(
            f"{NAME}: window_size is {shape(window_size)}, expected 2 or 3 integers from 1 to {LARGEST_SIDE}"
        )
    count = len(window_size)
    strides = attributes["strides"]
    if len(strides) != count or not all(1 <= stride <= LARGEST_SIDE for stride in strides):
        raise OperatorError(f"{NAME}: strides is {shape(strides)}, expected {count} integers from 1 to {LARGEST_SIDE}")
    for name in ("start_padding", "end_padding"):
        padding = attributes[name]
        if len(padding) != count or not all(0 <= p < side for p, side in zip(padding, window_size, strict=True)):
            raise OperatorError(
                f"{NAME}: {name} is {shape(padding)}, expected {count} integers from 0, "
                f"each smaller than window_size {shape(window_size)}"
            )


def infer_shape(shapes: Sequence[Dims | None], values: Sequence[Dims | None], attributes: Attributes) -> Dims:
    """P3 as far as it is known; a symbolic dimension stays where the windows give one output for each cell."""
    window_size, strides = attributes["window_size"], attributes["strides"]
    start_padding, end_padding = attributes["start_padding"], attributes["end_padding"]
    x = shapes[0] if shapes[0] is not None else (None,) * (2 + len(window_size))

    def along(dim: int | str | None, window: int, stride: int, start: int, end: int) -> int | str | None:
        if isinstance(dim, int):
            return sliding_count(dim, window, stride, start, end)
        return dim if stride == 1 and start + end == window - 1 else None

    return x[:2] + tuple(map(along, x[2:], window_size, strides, start_padding, end_padding))


def ones(attributes: Attributes) -> list[int]:
    """A 1 per spatial dimension."""
    return [1] * len(attributes["window_size"])


def zeros(attributes: Attributes) -> list[int]:
    """A 0 per spatial dimension."""
    return [0] * len(attributes["window_size"])


SCHEMA = Schema(
    doc="""
The maximum over windows that slide over the spatial dimensions, and if wanted the place of each maximum:
`DML_MAX_POOLING1` of DirectML's feature levels 2.0, 3.0 and 5.0, which are the operator's versions.

Along an axis, window `i` covers the cells from `i*stride - start_padding` up to, not including, that plus the window's
size, as far as they lie in the input: padding never wins (P4). An output has `floor((size + start_padding +
end_padding - window) / stride) + 1` cells along an axis, and at least one (P3). A window with a NaN gives NaN (G3).
""",
    docs={
        "X": "The input (N, C, H, W) or (N, C, D, H, W) (P1).",
        "Y": "The maxima, of X's rank, batch size and channel count.",
        "Indices": "For each maximum the index of the first cell in its window that holds it, and in a window with a "
        "NaN that of the first NaN, into the whole of X flattened in row-major order, batch and channel included (P5). "
        "An X with more cells than the type numbers is rejected.",
        "T": "The input and the maxima have one type (P6).",
        "TIndex": "The type of the indices (P5).",
        "window_size": "The windows' size per spatial dimension, each at least 1.",
        "strides": "The windows' distance per spatial dimension, each at least 1; the default is 1.",
        "start_padding": "Padding before each spatial dimension, from 0 and smaller than the window; the default is 0.",
        "end_padding": "Padding behind each spatial dimension, from 0 and smaller than the window; the default is 0.",
        "index_element_type": 'The type of the indices: "u32", the default, or "u64".',
    },
)

OPERATOR = Operator(
    inputs={"X": "T"},
    outputs=("Y", "Indices"),
    attributes={
        "window_size": Attribute("INTS", required=True),
        "strides": Attribute("INTS", ones),
        "start_padding": Attribute("INTS", zeros),
        "end_padding": Attribute("INTS", zeros),
    },
    check_attributes=check_attributes,
    check_shapes=check_shapes,
    infer_shape=infer_shape,
    evaluate=max_pooling1,
    schema=SCHEMA,
)
