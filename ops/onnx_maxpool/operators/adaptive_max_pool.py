"""OpenVINO's AdaptiveMaxPool, since version 8: rules A1 to A5."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from onnx_maxpool.errors import OperatorError, shape
from onnx_maxpool.facts import INDEX_SPELLINGS, LARGEST_SIDE
from onnx_maxpool.maximum import window_first_max, window_max
from onnx_maxpool.operators.definition import Operator, Schema, check_bytes, fits
from onnx_maxpool.types import Array, Attributes, Dims
from onnx_maxpool.windows import adaptive_windows

NAME = "AdaptiveMaxPool"


def adaptive_max_pool(x: Array, output_size: Array, *, index_type: np.dtype[Any] | None = None) -> tuple[Array, ...]:
    """Maximum over windows that share out each spatial dimension.

    `x` (N, C, spatial...) with 1 to 3 spatial dimensions, any float type; `output_size` int32 or int64, one size for
    each of them. Returns the values (N, C, output_size...), and where an `index_type` is given their indices into the
    flattened spatial dimensions of their own batch item and channel (A3).
    Raises OperatorError for wrong shapes (A1), output sizes below 1 (A1), spatial dimensions of 0 (A5), and channels of
    more cells than the index type numbers.
    """
    check_shapes(x.shape, output_size.shape)
    sizes = tuple(map(int, output_size))
    check_sizes(sizes)
    dims = (*x.shape[:2], *sizes)
    if index_type is not None:
        check_index(x.shape, index_type)
    check_bytes(NAME, "Y", dims, x.dtype.itemsize)
    if index_type is not None:
        check_bytes(NAME, "Indices", dims, index_type.itemsize)
    windows = tuple(map(adaptive_windows, x.shape[2:], sizes))
    if index_type is None:
        return (window_max(x, windows),)
    y, index = window_first_max(x, windows)
    return y, index.astype(index_type)


def check_shapes(x: Dims | None, output_size: Dims | None) -> None:
    """A1 and A5. Looks at what is known of the shapes."""
    if x is None:
        return
    if not 3 <= len(x) <= 5:
        raise OperatorError(
            f"{NAME}: X has shape {shape(x)}, expected 3 to 5 dimensions (N, C and 1 to 3 spatial ones)"
        )
    if 0 in x[2:]:
        raise OperatorError(f"{NAME}: X has shape {shape(x)}, expected spatial dimensions of at least 1")
    spatial = len(x) - 2
    if output_size is not None and (len(output_size) != 1 or not fits(output_size[0], spatial)):
        raise OperatorError(
            f"{NAME}: output_size has shape {shape(output_size)}, expected [{spatial}], "
            "a size for each spatial dimension of X"
        )


def check_sizes(sizes: Dims) -> None:
    """A1: what is known of the sizes is at least 1."""
    if not all(1 <= size <= LARGEST_SIDE for size in sizes if isinstance(size, int)):
        raise OperatorError(
            f"{NAME}: output_size is {shape(sizes)}, expected {len(sizes)} integers from 1 to {LARGEST_SIDE}"
        )


def check_index(x: tuple[int, ...], index_type: np.dtype[Any]) -> None:
    """The indices of A3 must fit their type."""
    cells = int(np.iinfo(index_type).max) + 1
    if 0 not in x and math.prod(x[2:]) > cells:
        raise OperatorError(
            f"{NAME}: X has shape {shape(x)}, expected at most {cells} cells in a channel, "
            f"as many as {INDEX_SPELLINGS[index_type.name]} indices number"
        )


def check_attributes(attributes: Attributes) -> None:
    """There is no attribute but the index's type."""


def infer_shape(shapes: Sequence[Dims | None], values: Sequence[Dims | None], attributes: Attributes) -> Dims | None:
    """(N, C, output_size...) as far as it is known: a rank from either input, sizes where the second is constant."""
    (x, sizes_shape), sizes = shapes, values[1]
    if sizes is not None:
        check_sizes(sizes)
        return (*(x[:2] if x else (None, None)), *sizes)
    if x is not None:
        return x[:2] + (None,) * (len(x) - 2)
    if sizes_shape is not None and len(sizes_shape) == 1 and isinstance(sizes_shape[0], int):
        return (None,) * (2 + sizes_shape[0])
    return None


SCHEMA = Schema(
    doc="""
The maximum over windows that share out each spatial dimension into a given number of parts, and if wanted the place of
each maximum: OpenVINO's AdaptiveMaxPool-8.

Along an axis of `L` cells, window `i` of `n` covers the cells from `floor(i*L / n)` up to, not including,
`ceil((i+1)*L / n)`, in exact integers (A2). A window with a NaN gives NaN (G3).
""",
    docs={
        "X": "The input (N, C, spatial...) with 1, 2 or 3 spatial dimensions, none of them 0 (A1, A5).",
        "output_size": "The number of windows along each spatial dimension of X, each at least 1 (A1).",
        "Y": "The maxima (N, C, output_size...).",
        "Indices": "For each maximum the index of the first cell in its window that holds it, and in a window with a "
        "NaN that of the first NaN, into the spatial dimensions of its own batch item and channel, flattened in "
        "row-major order (A3).",
        "T": "The input and the maxima have one type (A4).",
        "TShape": "The type of the output size (A1).",
        "TIndex": "The type of the indices (A3).",
        "index_element_type": 'The type of the indices: "i64", the default, or "i32".',
    },
)

OPERATOR = Operator(
    inputs={"X": "T", "output_size": "TShape"},
    outputs=("Y", "Indices"),
    attributes={},
    check_attributes=check_attributes,
    check_shapes=lambda shapes, attributes: check_shapes(*shapes),
    infer_shape=infer_shape,
    evaluate=adaptive_max_pool,
    schema=SCHEMA,
)
