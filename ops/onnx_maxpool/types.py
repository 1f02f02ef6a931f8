"""Types that several modules share."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from onnx import TensorProto, helper

from onnx_maxpool.facts import BinEdges as BinEdges

Array = npt.NDArray[Any]
"""A tensor of any element type, ml_dtypes' bfloat16 included."""

Integers = npt.NDArray[np.int64]

Dims = tuple["int | str | None", ...]
"""A shape as far as it is known: sizes, symbols, and None for a dimension of which nothing is known."""

Attributes = Mapping[str, Any]
"""A node's attributes by name, as Python values."""

PythonFunction = Callable[..., "Array | tuple[Array, ...]"]
"""`function(*inputs, **attributes)`: an operator's outputs. `load` says what it is given."""


def element_type(values: Array | np.dtype[Any]) -> str:
    """The ONNX name of the elements of an array or of a dtype, whatever their byte order: `float`, `bfloat16`.

    NumPy's name where ONNX has no such type. Python objects are `string` only where an array of them has nothing else.
    """
    dtype = values if isinstance(values, np.dtype) else values.dtype
    if dtype.kind == "O" and not isinstance(values, np.dtype):
        return "string" if all(isinstance(each, (str, bytes)) for each in values.flat) else dtype.name
    return "string" if dtype.kind in "SU" else _by_dtype().get(dtype.name, dtype.name)


def native_order(array: Array) -> Array:
    """The array in this machine's byte order, the only one that ONNX Runtime reads; the same one if it has that."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def whole_number(value: object) -> int | None:
    """Python's int of an integer, NumPy's included. None for everything else, a bool too."""
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return None


LARGEST_DIM = 2**63 - 1
"""Of a dimension, as ONNX writes it."""
MOST_CELLS = 2**60
"""Tensors whose sizes a caller gives have fewer: NumPy counts the bytes of doubles and of indices in 63 bits."""


def has_too_many_cells(dims: Dims) -> bool:
    """Whether an input of this shape would have `MOST_CELLS`, whatever is not known of it. A size of 0 counts as 1."""
    return math.prod(max(dim, 1) for dim in dims if isinstance(dim, int)) >= MOST_CELLS


def type_name(data_type: int) -> str:
    """The ONNX name of a TensorProto element type, in lower case: `float`, `bfloat16`; `undefined` for no such type."""
    known = data_type in TensorProto.DataType.values()
    return str(TensorProto.DataType.Name(data_type)).lower() if known else "undefined"


def tensor_type(name: str) -> int:
    """The TensorProto element type of a name: `float`, `bfloat16`. Raises ValueError for none of ONNX's."""
    return int(TensorProto.DataType.Value(name.upper()))


def dtype_of(name: str) -> np.dtype[Any]:
    """The dtype of an ONNX name: `float`, `bfloat16`. Raises ValueError for no such name, KeyError for `undefined`."""
    found: np.dtype[Any] = helper.tensor_dtype_to_np_dtype(tensor_type(name))
    return found


@cache
def _by_dtype() -> Mapping[str, str]:
    """ONNX's names of numbers by NumPy's."""
    numbers = [type_name(value) for value in TensorProto.DataType.values() if value != TensorProto.UNDEFINED]
    return {dtype_of(name).name: name for name in reversed(numbers) if name != "string"}
