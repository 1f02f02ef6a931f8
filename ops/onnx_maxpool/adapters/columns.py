"""A table's columns as a model's inputs: each row's part of one, and the rows that may run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnx_maxpool.adapters.collation import EXPECTED_BOXES, are_boxes, as_row, most_images, stack, with_columns
from onnx_maxpool.errors import InputError, listing, shape
from onnx_maxpool.graph.batching import BOX_COLUMNS, ROI_COLUMNS, Batching, BatchInput
from onnx_maxpool.types import Array, Dims, dtype_of, element_type, native_order

Failures = dict[int, str]
"""What is wrong with rows, by their place in the batch."""


@dataclass
class Column:
    """An input's column."""

    parts: list[Array]
    """Each row's own; nothing of use for a row that has failed."""
    whole: Array | None
    """All rows in one array, where the batch has them so."""

    def stacked(self, rows: Sequence[int]) -> Array:
        """Rows along a new first axis, without a copy where that is possible."""
        if self.whole is not None and rows[-1] - rows[0] + 1 == len(rows):
            return self.whole[rows[0] : rows[-1] + 1]
        return stack(self.of(rows))

    def of(self, rows: Sequence[int]) -> list[Array]:
        """The parts of rows."""
        return [self.parts[row] for row in rows]


def row_count(batch: Mapping[str, Any], batching: Batching) -> int:
    """How many rows a batch has. Raises InputError for columns that are missing or too many, or of several lengths."""
    if not isinstance(batch, Mapping):
        raise InputError(f"the batch is a {type(batch).__name__}, expected a dict of columns")
    for each in batching.inputs:
        if each.name not in batch:
            raise InputError(f"the batch has no column '{each.name}', only {listing(batch) if batch else 'none'}")
    for output in batching.outputs:
        if output.name in batch and all(output.name != each.name for each in batching.inputs):
            raise InputError(f"the batch has a column '{output.name}', expected none of that name, which an output has")
    lengths = {name: len(values) for name, values in batch.items()}
    name, count = next(iter(lengths.items()), ("", 0))
    for other, length in lengths.items():
        if length != count:
            raise InputError(f"column '{other}' has {length} rows, expected {count}, as column '{name}' has")
    return count


def column(each: BatchInput, values: Any, failures: Failures) -> Column:
    """An input's column, checked. Rows that do not fit are noted as failures.

    Raises InputError for an array of another type.
    """
    dtype = dtype_of(each.type)
    if isinstance(values, np.ndarray) and values.dtype != object:
        values = native_order(values)
        if values.dtype != dtype:
            raise InputError(f"column '{each.name}' is {element_type(values.dtype)}, expected {each.type}")
        parts, whole = list(values), values
        problem = _problem(each, values[0]) if len(values) else None  # all rows have one shape
        failures.update(dict.fromkeys(range(len(values) if problem else 0), problem or ""))
        return Column(parts, whole)
    parts = []
    for row, value in enumerate(values):
        try:
            part = as_row(value, dtype)
            if each.kind == "rois":
                part = with_columns(part)
            problem = _problem(each, part)
        except ValueError as error:
            part, problem = np.empty(0, dtype), f"column '{each.name}' {error}"
        if problem:
            failures.setdefault(row, problem)
        parts.append(part)
    return Column(parts, None)


def _problem(each: BatchInput, part: Array) -> str | None:
    """What is wrong with the shape of a row's part."""
    if each.kind != "rois":
        if each.dims is None or _fits(part.shape, each.dims):
            return None
        return f"column '{each.name}' has shape {shape(part.shape)}, {expected_shape(each, part.ndim)}"
    if not are_boxes(part):
        return f"column '{each.name}' has shape {shape(part.shape)}, {EXPECTED_BOXES}"
    count = each.dims[-2] if each.dims else None
    if isinstance(count, int) and len(part) != count:
        return f"column '{each.name}' has {len(part)} boxes, expected {count}, which the model fixes"
    return None


def expected_shape(each: BatchInput, rank: int) -> str:
    """What messages say is required where a row's part of an input has another shape, of that rank.

    A model without ROI operators, such as a converted one, does not say which of its inputs holds ROIs.
    """
    is_like_boxes = rank == 2 and each.dims in ((BOX_COLUMNS,), (ROI_COLUMNS,))
    return f"expected {shape(each.dims or ())}{'; if it contains ROIs, give its name as rois' if is_like_boxes else ''}"


def _fits(found: Sequence[int], dims: Dims) -> bool:
    sizes = zip(found, dims, strict=False)
    return len(found) == len(dims) and all(not isinstance(dim, int) or dim == size for size, dim in sizes)


def groups(batching: Batching, columns: Mapping[str, Column], rows: Sequence[int]) -> list[list[int]]:
    """The rows that may run together, in the order of each group's first: of the same shapes and shared values.

    No group has more rows than the types of its ROIs have batch numbers, to which the model may cast them.
    """
    found: dict[tuple[Any, ...], list[int]] = {}
    for row in rows:
        key: list[Any] = [row] if batching.one_row else []
        for each in batching.inputs:
            part = columns[each.name].parts[row]
            if each.kind != "rois":
                key.append(part.shape)
            if each.kind == "shared":
                key.append(part.tobytes())
        found.setdefault(tuple(key), []).append(row)
    most = min((most_images(dtype_of(each)) for each in batching.number_types), default=max(len(rows), 1))
    return [group[i : i + most] for group in found.values() for i in range(0, len(group), most)]
