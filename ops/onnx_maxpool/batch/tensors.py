"""Arrow's tensor types and nested lists as NumPy arrays, a row each, and back."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from onnx_maxpool.errors import InputError, shape
from onnx_maxpool.types import Array, Dims

FIXED, VARIABLE = "arrow.fixed_shape_tensor", "arrow.variable_shape_tensor"
"""The names of Arrow's canonical extension types. pyarrow has a class for the first only: a field's metadata names the
second, which pyarrow keeps in files and readers that know the type see."""
NAME, METADATA = b"ARROW:extension:name", b"ARROW:extension:metadata"

ARROW_TYPES = {
    "float16": pa.float16(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bool": pa.bool_(),
    **{f"{sign}int{bits}": getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""By ONNX's names. Arrow has no bfloat16."""
NULL_INSIDE = "has a null among its numbers, expected none"
"""What is said of a row, behind its column's name."""


def value_type(field: pa.Field) -> pa.DataType | None:
    """The type of the numbers in a column: a tensor's, a nested list's or its own; None where it holds no numbers."""
    found = field.type
    if extension(field) == VARIABLE:
        found = storage_type(field).field("data").type
    while isinstance(found, pa.BaseExtensionType) or _is_list(found):
        if isinstance(found, pa.BaseExtensionType) and found.extension_name != FIXED:
            return None
        found = found.value_type if _is_list(found) or found.extension_name == FIXED else found
    return found if found in ARROW_TYPES.values() else None


def known_dims(field: pa.Field) -> Dims:
    """The shape of each row, as far as the column's type says."""
    found = extension(field)
    if found == FIXED:
        order = field.type.permutation or range(len(field.type.shape))
        return tuple(int(field.type.shape[dim]) for dim in order)
    if found == VARIABLE:
        return (None,) * int(storage_type(field).field("shape").type.list_size)
    dims: list[int | None] = []
    kind = field.type
    while _is_list(kind):
        dims.append(kind.list_size if pa.types.is_fixed_size_list(kind) else None)
        kind = kind.value_type
    return tuple(dims)


def extension(field: pa.Field) -> str | None:
    """The name of a column's extension type, whether or not pyarrow knows it."""
    if isinstance(field.type, pa.BaseExtensionType):
        return str(field.type.extension_name)
    return (field.metadata or {}).get(NAME, b"").decode() or None


def storage_type(field: pa.Field) -> pa.DataType:
    """What an extension type is stored as."""
    return field.type.storage_type if isinstance(field.type, pa.BaseExtensionType) else field.type


def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def rows_of(column: pa.Array, field: pa.Field) -> Array | list[Array | ValueError]:
    """Each row's array: views of the column's memory, and all in one array where it is a fixed shape tensor.

    A row that is null or has nulls, or whose lists are ragged, is a ValueError that says so.
    """
    found = extension(field)
    if column.null_count == 0 and found == FIXED and column.storage.flatten().null_count == 0:
        return _stacked(column)
    if column.null_count == 0 and not found and not _is_list(field.type):
        whole: Array = column.to_numpy(zero_copy_only=False)
        return whole
    return list(_each_row(column, field, found))


def _each_row(column: pa.Array, field: pa.Field, found: str | None) -> Iterator[Array | ValueError]:
    valid = column.is_valid().to_numpy(zero_copy_only=False)
    storage = column.storage if isinstance(column, pa.ExtensionArray) else column
    if found == VARIABLE:
        rows = _variable(storage, permutation(field))
    elif found == FIXED:
        rows = _fixed(column)
    elif _is_list(field.type):
        rows = _nested(storage)
    else:
        dtype = _dtype(field.type)
        rows = (np.asarray(value.as_py(), dtype) for value in column)
    for is_valid, row in zip(valid, rows, strict=True):
        yield row if is_valid else ValueError("is null, expected a value")


def _dtype(kind: pa.DataType) -> Any:
    """NumPy's type of a column's values. Arrow's own `to_pandas_dtype` needs pandas in some releases, as 25.0."""
    return pa.array([], kind).to_numpy(zero_copy_only=False).dtype


def _stacked(column: pa.Array) -> Array:
    """A fixed shape tensor column without nulls. Not by its `to_numpy_ndarray`, which takes no bool."""
    sizes, order = column.type.shape, column.type.permutation or range(len(column.type.shape))
    values: Array = column.storage.flatten().to_numpy(zero_copy_only=False)
    return values.reshape(len(column), *sizes).transpose(0, *(1 + dim for dim in order))


def _fixed(column: pa.Array) -> Iterator[Array | ValueError]:
    """Rows of a fixed shape tensor column that has nulls, or nulls among its numbers."""
    for i in range(len(column)):
        row = column.slice(i, 1)
        if row.storage.flatten().null_count:
            yield ValueError(NULL_INSIDE)
            continue
        yield _stacked(row)[0] if row.is_valid()[0].as_py() else np.empty(0)


def check_permutation(label: str, field: pa.Field) -> None:
    """Raise InputError for a tensor column whose permutation does not say for sure which dimension is which.

    What Arrow defines, pyarrow takes the other way round where it makes fixed shape tensors of arrays, and for those it
    reads wrong cells or none. It makes no difference for a permutation that is its own inverse.
    """
    if extension(field) == VARIABLE:
        permutation(field)
    order = (field.type.permutation or []) if extension(field) == FIXED else []
    if any(order[dim] != i for i, dim in enumerate(order)):
        raise InputError(
            f"{label} has the permutation {shape(order)}, expected one that is its own inverse, "
            "because pyarrow writes the inverse of others"
        )


def permutation(field: pa.Field) -> list[int] | None:
    """Of a variable shape tensor column: which dimension in memory each of its own is; None where they are the same.

    Raises InputError for a type that it cannot read it from.
    """
    if not isinstance(field.type, pa.BaseExtensionType):
        found: list[int] | None = json.loads(field.metadata.get(METADATA) or b"{}").get("permutation")
        return found
    # pyarrow has the type, and no other way to ask it.
    said = SAID_OF_VARIABLE.fullmatch(str(field.type))
    if said is None:
        raise InputError(f"column '{field.name}' is {field.type}, expected a type that says its permutation otherwise")
    return [int(dim) for dim in said[1].split(",")] if said[1] else None


SAID_OF_VARIABLE = re.compile(
    r"extension<arrow\.variable_shape_tensor\[value_type=\w+, ndim=\d+(?:, permutation=\[([\d,]+)\])?"
    r"(?:, dim_names=\[.*\])?(?:, uniform_shape=\[[^]]*\])?\]>"
)


def _variable(storage: pa.StructArray, order: list[int] | None) -> Iterator[Array | ValueError]:
    data, shapes = storage.field("data"), storage.field("shape")
    flat = data.values.to_numpy(zero_copy_only=False)
    nulls = _nulls(data.values)
    offsets = data.offsets.to_numpy()
    rank = shapes.type.list_size
    sizes = shapes.values.to_numpy(zero_copy_only=False)[shapes.offset * rank :].reshape(-1, rank)
    for start, end, dims in zip(offsets[:-1], offsets[1:], sizes, strict=False):
        if math.prod(dims.tolist()) != end - start:
            yield ValueError(f"has {end - start} values, expected those of shape {shape(dims.tolist())}")
            continue
        if nulls is not None and nulls[start:end].any():
            yield ValueError(NULL_INSIDE)
            continue
        row = flat[start:end].reshape(dims)
        yield row if order is None else row.transpose(order)


def _nested(column: pa.Array) -> Iterator[Array | ValueError]:
    """Rows of nested lists: of each the lists on a level must be of one length, as in an array."""
    levels = []
    while _is_list(column.type):
        levels.append(_offsets(column))
        column = column.values
    flat = column.to_numpy(zero_copy_only=False)
    nulls = _nulls(column)
    for row in range(len(levels[0]) - 1):
        start, end = row, row + 1
        dims: list[int] = []
        for offsets in levels:
            lengths = np.diff(offsets[start : end + 1])
            if len(lengths) and (lengths != lengths[0]).any():
                yield ValueError("has lists of several lengths on one level, expected one")
                break
            dims.append(int(lengths[0]) if len(lengths) else 0)
            start, end = int(offsets[start]), int(offsets[end])
        else:
            if nulls is not None and nulls[start:end].any():
                yield ValueError(NULL_INSIDE)
                continue
            yield flat[start:end].reshape(dims[: dims.index(0) + 1] if 0 in dims else dims)


def _nulls(values: pa.Array) -> Array | None:
    """Which are null; None where none is."""
    return values.is_null().to_numpy(zero_copy_only=False) if values.null_count else None


def _offsets(column: pa.Array) -> Array:
    """Where each row's values begin in the column's values, and where the last's end."""
    if pa.types.is_fixed_size_list(column.type):
        size = column.type.list_size
        fixed: Array = (np.arange(len(column) + 1) + column.offset) * size
        return fixed
    offsets: Array = column.offsets.to_numpy()
    return offsets


def _follow(base: Array, rows: Sequence[Array]) -> bool:
    """Whether rows lie one after the other in an array, from its first value on."""
    place = base.ctypes.data
    for row in filter(np.size, rows):
        if row.base is not base or row.ctypes.data != place or not row.flags.c_contiguous:
            return False
        place += row.nbytes
    return base.flags.c_contiguous


LARGEST_LIST = 2**31 - 1
"""Values in the lists of one Arrow array, whose offsets have 32 bits."""


def tensor_field(name: str, kind: str, dims: Dims) -> pa.Field:
    """The column of an output: plain values, fixed shape tensors where all rows have one shape, else variable ones."""
    value = ARROW_TYPES[kind]
    if not dims:
        return pa.field(name, value)
    if all(isinstance(dim, int) and dim > 0 for dim in dims):
        return pa.field(name, pa.fixed_shape_tensor(value, dims))
    storage = pa.struct([("data", pa.list_(value)), ("shape", pa.list_(pa.int32(), len(dims)))])
    uniform = [dim if isinstance(dim, int) else None for dim in dims]
    return pa.field(name, storage, metadata={NAME: VARIABLE, METADATA: json.dumps({"uniform_shape": uniform})})


def tensor_column(rows: Array | Sequence[Array], field: pa.Field) -> pa.Array:
    """Rows as a column of `tensor_field`. Raises ValueError where a row has another shape or type."""
    found = extension(field)
    if found == FIXED:
        whole = _whole(rows, tuple(field.type.shape), field)
        lists = pa.FixedSizeListArray.from_arrays(pa.array(whole.ravel()), math.prod(field.type.shape))
        return pa.ExtensionArray.from_storage(field.type, lists)
    if found is None:
        return pa.array(_whole(rows, (), field), field.type)
    rank = field.type.field("shape").type.list_size
    uniform = json.loads(field.metadata[METADATA])["uniform_shape"]
    for row in rows:
        if row.ndim != rank or any(dim not in (None, size) for dim, size in zip(uniform, row.shape, strict=True)):
            raise ValueError(f"output '{field.name}' has a row of shape {shape(row.shape)}, expected {shape(uniform)}")
    offsets = np.cumsum([0, *(row.size for row in rows)])
    flat = _flat(rows, _dtype(field.type.field("data").type.value_type))
    data = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(flat))
    sizes = np.array([row.shape for row in rows], np.int32).reshape(-1)
    shapes = pa.FixedSizeListArray.from_arrays(pa.array(sizes), rank)
    return pa.StructArray.from_arrays([data, shapes], fields=list(field.type))


def _whole(rows: Array | Sequence[Array], dims: tuple[int, ...], field: pa.Field) -> Array:
    whole = rows if isinstance(rows, np.ndarray) else np.stack(list(rows))
    if whole.shape[1:] != dims:
        raise ValueError(f"output '{field.name}' has a row of shape {shape(whole.shape[1:])}, expected {shape(dims)}")
    return whole


def _flat(rows: Array | Sequence[Array], dtype: Any) -> Array:
    """All rows' values one after the other, without a copy where they lie so: as views of one output of a run do."""
    if isinstance(rows, np.ndarray):
        return rows.reshape(-1)
    if not rows:
        return np.empty(0, dtype)
    base = rows[0].base
    if isinstance(base, np.ndarray) and base.size == sum(row.size for row in rows) and _follow(base, rows):
        return base.reshape(-1)
    return np.concatenate([row.reshape(-1) for row in rows])


def runs_of(sizes: Sequence[int], most: int = LARGEST_LIST) -> Iterator[range]:
    """Ranges of rows whose values together fit into one Arrow array. Raises ValueError for a row that does not."""
    start = total = 0
    for row, size in enumerate(sizes):
        if size > most:
            raise ValueError(f"an output has {size} values, expected at most {most}")
        if total + size > most:
            yield range(start, row)
            start, total = row, 0
        total += size
    yield range(start, len(sizes))
