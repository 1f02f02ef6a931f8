"""Types that several modules share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto

Array = npt.NDArray[Any]
"""A tensor of any element type, ml_dtypes' bfloat16 included."""

Integers = npt.NDArray[np.int64]

Dims = tuple["int | str | None", ...]
"""A shape as far as it is known: sizes, symbols, and None for a dimension of which nothing is known."""

Attributes = Mapping[str, Any]
"""A node's attributes by name, as Python values."""

BinEdges = Literal["onnx", "exact", "double"]
"""How the edges of ROI bins are computed (M7): as ONNX's reference, in exact integers, or in double for every type."""

PythonFunction = Callable[..., "Array | tuple[Array, ...]"]
"""`function(*inputs, **attributes)`: an operator's outputs. `load` says what it is given."""


def element_type(array: Array) -> str:
    """The ONNX name of an array's element type: `float`, `bfloat16`."""
    if array.dtype.kind in "OSU":
        return "string"
    return {"float32": "float", "float64": "double"}.get(array.dtype.name, array.dtype.name)


def type_name(data_type: int) -> str:
    """The ONNX name of a TensorProto element type, in lower case: `float`, `bfloat16`; `undefined` for no such type."""
    known = data_type in onnx.TensorProto.DataType.values()
    return str(onnx.TensorProto.DataType.Name(data_type)).lower() if known else "undefined"


def tensor_type(name: str) -> int:
    """The TensorProto element type of a name in the registry: `float`, `bfloat16`."""
    return int(TensorProto.DataType.Value(name.upper()))
