"""Ragged ROIs of many images as one batch, and a batch's outputs as each image's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from onnx_maxpool.errors import InputError, RowError, shape
from onnx_maxpool.types import Array, element_type, native_order

BOX_COLUMNS = (4, 5)
"""Of a row's boxes: corners, or a batch number, which is not read, and corners."""
EXPECTED_BOXES = "expected (r, 4) or (r, 5)"


def collate(images: Sequence[Array] | Array, boxes: Sequence[Any]) -> tuple[Array, Array, list[int]]:
    """Make one batch of images that have boxes of their own: `(X, rois, counts)`, the inputs of MaxRoiPool (M1, M4).

    `images` are N arrays of one shape (C, H, W) and dtype, or one array (N, C, H, W), which is not copied. `boxes` are
    N arrays (r, 4), `[x1, y1, x2, y2]`, or (r, 5), whose first column is replaced; r may be 0 and may differ. Boxes
    that are lists of numbers become arrays of the other boxes' dtype, or of the images' if all are lists. X is
    (N, C, H, W). rois is (R, 5), with the number of the image in the first column, and has the boxes' dtype. `counts`
    are the N numbers r, for `split`. Raises RowError if images or boxes do not fit the others, and InputError if there
    are none, or more images than the boxes' type has whole numbers (2049 for float16, 257 for bfloat16).
    """
    if len(images) != len(boxes) or len(boxes) == 0:
        raise InputError(
            f"collate: {len(images)} images and {len(boxes)} boxes, expected the same number of both, at least one"
        )
    given = images if isinstance(images, np.ndarray) else [native_order(np.asarray(image)) for image in images]
    x = native_order(stack(given))
    arrays = _arrays(boxes, next((each.dtype for each in boxes if isinstance(each, np.ndarray)), x.dtype))
    return x, concatenate(arrays), [len(each) for each in arrays]


def _arrays(boxes: Sequence[Any], dtype: np.dtype[Any]) -> list[Array]:
    """Each image's boxes as an array of numbers; a list becomes one of the dtype. Raises RowError."""
    dtype = dtype.newbyteorder("=")
    arrays: list[Array] = []
    bad: dict[int, str] = {}
    for i, given in enumerate(boxes):
        try:
            array = native_order(given) if isinstance(given, np.ndarray) else as_row(given, dtype)
        except ValueError as error:
            bad[i] = f"the list of boxes {error}"
            continue
        if array.dtype.kind not in "iuf" and array.dtype != ml_dtypes.bfloat16:
            bad[i] = f"boxes are {described(array)}, expected numbers"
        arrays.append(with_columns(array))
    if bad:
        raise RowError(bad)
    return arrays


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


def with_columns(boxes: Array) -> Array:
    """A row's boxes; an empty list, which says nothing of columns, as (0, 4)."""
    return boxes.reshape(0, 4) if boxes.shape == (0,) else boxes


def are_boxes(row: Array) -> bool:
    """Whether a row's boxes have the right shape."""
    return row.ndim == 2 and row.shape[1] in BOX_COLUMNS


def most_images(dtype: np.dtype[Any]) -> int:
    """How many batch numbers a type has, from 0 on, before floats round (M10) and integers end."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).max) + 1
    finfo: Callable[[Any], Any] = ml_dtypes.finfo
    return int(2 ** (int(finfo(dtype).nmant) + 1)) + 1


def described(array: Array) -> str:
    """`float [3,38,50]`."""
    return f"{element_type(array)} {shape(array.shape)}"


def as_row(value: Any, dtype: np.dtype[Any]) -> Array:
    """One row's part: an array of the dtype, or lists of numbers or of such arrays.

    Raises ValueError that goes on where a column's name ends; so does a value that is one, which a reader puts in the
    place of what it could not read.
    """
    if isinstance(value, ValueError):
        raise value
    if isinstance(value, np.ndarray) and value.dtype == object and value.ndim:
        value = list(value)
    if isinstance(value, list | tuple) and any(isinstance(each, np.ndarray | list | tuple) for each in value):
        parts = [as_row(each, dtype) for each in value]
        for part in parts:
            if part.shape != parts[0].shape:
                raise ValueError(f"has parts of shapes {shape(parts[0].shape)} and {shape(part.shape)}, expected one")
        return np.stack(parts)
    array = native_order(np.asarray(value))
    if isinstance(value, list | tuple | bool | int | float) and _becomes(array, dtype):
        return array.astype(dtype)
    if array.dtype != dtype:
        raise ValueError(f"is {element_type(array)}, expected {element_type(dtype)}")
    return array


def _becomes(numbers: Array, dtype: np.dtype[Any]) -> bool:
    """Whether Python's numbers may become a dtype: fractions no integers, and nothing a bool."""
    kind = numbers.dtype.kind
    if numbers.size == 0 or kind == dtype.kind == "b":
        return True
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return kind in "iu" and bool(limits.min <= numbers.min() and numbers.max() <= limits.max)
    return dtype.kind != "b" and kind in "iuf"
