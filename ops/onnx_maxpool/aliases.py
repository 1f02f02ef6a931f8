"""Types that several modules share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
"""A tensor of any element type, ml_dtypes' bfloat16 included."""

Integers = npt.NDArray[np.int64]

Dims = tuple["int | str | None", ...]
"""A shape as far as it is known: sizes, symbols, and None for a dimension of which nothing is known."""

Attributes = Mapping[str, Any]
"""A node's attributes by name, as Python values."""

BinEdges = Literal["exact", "float32"]
"""How ROI bins are cut: by exact integers (M7), or in float32 as ONNX Runtime's own kernel does (M12)."""

PythonFunction = Callable[..., "Array | tuple[Array, ...]"]
"""`function(*inputs, **attributes)`: an operator's outputs. `load` says what it is given."""
