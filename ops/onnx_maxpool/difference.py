"""Where two tensors first differ, exactly: rules G3, G4 and G6."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnx_maxpool.errors import shape
from onnx_maxpool.types import Array, element_type, native_order


@dataclass(frozen=True)
class Difference:
    """How two tensors differ; its text is a full sentence's worth for a report."""

    what: str
    """`element type`, `shape` or `cells`; the first of these that differs. `tensor` where there is only one of them."""
    expected: str
    actual: str
    index: tuple[int, ...] | None = None
    """The first differing cell in row-major order, where cells differ."""
    count: int = 0
    """How many cells differ."""
    size: int = 0
    """How many cells there are."""

    def __str__(self) -> str:
        if self.index is None:
            return f"{self.what} is {self.actual}, expected {self.expected}"
        cells = f"{self.count} of {self.size} cells differ"
        return f"{cells}, first at {shape(self.index)}: {self.actual}, expected {self.expected}"


def first_difference(expected: Array, actual: Array) -> Difference | None:
    """Where `actual` first differs from `expected`, in element type, shape or cells; None if it does not.

    NaN equals NaN and +0 equals -0 (G3, G4); beyond that cells are equal or not, with no tolerance (G6).
    """
    expected, actual = native_order(np.asarray(expected)), native_order(np.asarray(actual))
    if expected.dtype != actual.dtype:
        return Difference("element type", element_type(expected), element_type(actual))
    if expected.shape != actual.shape:
        return Difference("shape", shape(expected.shape), shape(actual.shape))
    differs = differing_cells(expected, actual)
    if not differs.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(differs.argmax(), differs.shape))
    count = int(np.count_nonzero(differs))
    return Difference("cells", str(expected[index]), str(actual[index]), index, count, differs.size)


def differing_cells(expected: Array, actual: Array) -> npt.NDArray[np.bool_]:
    """Which cells of two tensors of one type and shape differ (G3, G4)."""
    differs = (expected != actual) & ~((expected != expected) & (actual != actual))  # only a NaN is not itself
    return np.asarray(differs, dtype=np.bool_)
