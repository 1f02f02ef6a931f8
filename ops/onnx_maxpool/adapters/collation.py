"""Ragged ROIs of many images as one batch, and a batch's outputs as each image's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from onnx_maxpool.errors import InputError, RowError, shape
from onnx_maxpool.types import Array, element_type

BOX_COLUMNS = (4, 5)
"""Of a row's boxes: corners, or a batch number, which is not read, and corners."""
EXPECTED_BOXES = "expected (r, 4) or (r, 5)"


def collate(images: Sequence[Array] | Array, boxes: Sequence[Array]) -> tuple[Array, Array, list[int]]:
    """Make one batch of images that have boxes of their own: `(X, rois, counts)`, the inputs of MaxRoiPool (M1, M4).

    `images` are N arrays of one shape (C, H, W) and dtype, or one array (N, C, H, W), which is not copied. `boxes` are
    N arrays (r, 4), `[x1, y1, x2, y2]`, or (r, 5), whose first column is replaced; r may be 0 and may differ. X is (N,
    C, H, W). rois is (R, 5), with the number of the image in the first column. `counts` are the N numbers r, for
    `split`. Raises RowError if images or boxes do not fit the others, and InputError if there are none, or more images
    than the boxes' type has whole numbers (2049 for float16, 257 for bfloat16).
    """
    if len(images) != len(boxes) or len(boxes) == 0:
        raise InputError(f"collate: {len(images)} images and {len(boxes)} boxes, expected as many of both, and one")
    return stack(images), concatenate(boxes), [len(each) for each in boxes]


def split(output: Array, counts: Sequence[int]) -> list[Array]:
    """Divide an output with one entry for each ROI by rows: views of `counts[i]` entries, in order.

    Raises InputError if the output has another number of entries.
    """
    if output.ndim == 0 or len(output) != sum(counts):
        raise InputError(f"split: the output has shape {shape(output.shape)}, expected {sum(counts)} entries")
    ends = np.cumsum(counts, dtype=np.int64)
    return [output[end - count : end] for end, count in zip(ends, counts, strict=True)]


def stack(rows: Sequence[Array] | Array) -> Array:
    """Rows of one shape along a new first axis; an array, and a single row, without a copy. Raises RowError."""
    if isinstance(rows, np.ndarray) and rows.dtype != object:
        return rows
    first = rows[0]
    bad = {
        i: f"is {described(row)}, expected {described(first)}, as row 0 is"
        for i, row in enumerate(rows)
        if (row.shape, row.dtype) != (first.shape, first.dtype)
    }
    if bad:
        raise RowError(bad)
    return first[None] if len(rows) == 1 else np.stack(list(rows))


def concatenate(boxes: Sequence[Array]) -> Array:
    """(R, 5) rows `[image, x1, y1, x2, y2]` of boxes (r, 4) or (r, 5) per image. Raises RowError and InputError."""
    bad = {i: f"boxes are {described(row)}, {EXPECTED_BOXES}" for i, row in enumerate(boxes) if not are_boxes(row)}
    dtype = boxes[0].dtype
    bad |= {
        i: f"boxes are {described(row)}, expected {element_type(dtype)}, as those of row 0 are"
        for i, row in enumerate(boxes)
        if row.dtype != dtype and i not in bad
    }
    if bad:
        raise RowError(bad)
    if len(boxes) > most_images(dtype):
        raise InputError(
            f"collate: {len(boxes)} images, expected at most {most_images(dtype)} with {element_type(dtype)} boxes"
        )
    counts = [len(row) for row in boxes]
    rois = np.empty((sum(counts), 5), dtype)
    rois[:, 0] = np.repeat(np.arange(len(boxes)), counts)
    for part, row in zip(split(rois, counts), boxes, strict=True):
        part[:, 1:] = row[:, -4:]
    return rois


def are_boxes(row: Array) -> bool:
    """Whether a row's boxes have the right shape."""
    return row.ndim == 2 and row.shape[1] in BOX_COLUMNS


def most_images(dtype: np.dtype[Any]) -> int:
    """How many batch numbers a float type has, from 0 on, before they round (M10)."""
    finfo: Callable[[Any], Any] = ml_dtypes.finfo
    return int(2 ** (int(finfo(dtype).nmant) + 1)) + 1


def described(array: Array) -> str:
    """`float [3,38,50]`."""
    return f"{element_type(array.dtype)} {shape(array.shape)}"
