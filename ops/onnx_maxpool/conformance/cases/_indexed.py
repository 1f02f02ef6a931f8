"""The questions to the operators with an index, which MaxPooling1 and AdaptiveMaxPool share: rules G2 to G7.

All are put to one window of 4 cells in a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._building import INF, NAN, OURS, extremes, finest, line
from onnx_maxpool.types import Array, dtype_of

Put = Callable[..., Case]
"""`put(topic, question, rules, x, level=..., asks=...)`: the case of a map whose rows are one window each."""


def shared_cases(put: Put) -> Iterator[Case]:
    """G2 to G7 for float."""
    yield put("negative_cells", "May a maximum be negative?", "G2", line(-4, -2, -3, -5), asks="minimum, padding")
    yield put(
        "minus_infinity", "What is the maximum of cells that are all -inf?", "G2, G5", line(*[-INF] * 4), asks="minimum"
    )
    yield put("infinity", "Is +inf a maximum?", "G2", line(1, INF, -INF, 2))
    yield put(
        "first_of_equals",
        "Is the index that of the first of equal cells in a row?",
        "G5",
        line(1, 3, 3, 2),
        asks="tie",
    )
    for topic, cells in (
        ("first", (NAN, 1, 3, 2)),
        ("middle", (3, 1, NAN, 2)),
        ("last", (1, 3, 2, NAN)),
        ("only", (NAN, NAN, NAN, NAN)),
        ("twice", (3, NAN, 1, NAN)),
    ):
        yield put(
            f"nan_{topic}",
            f"What is the maximum of {', '.join(f'{cell:g}' for cell in cells)}?",
            "G3",
            line(*cells),
            outputs=("Y",),
            level=OURS,
            asks="nan",
        )
    for topic, cells in (("middle", (3, 1, NAN, 2)), ("only", (NAN, NAN, NAN, NAN)), ("twice", (3, NAN, 1, NAN))):
        yield put(
            f"nan_index_{topic}",
            f"What is the index of the maximum of {', '.join(f'{cell:g}' for cell in cells)}?",
            "G5, G3",
            line(*cells),
            level=OURS,
            asks="nan index, nan",
        )
    yield put(
        "zeros", "Of -0 and then +0, which is the maximum?", "G4, G5", line(-1, -0.0, 0.0, -2), level=OURS, asks="zeros"
    )


def in_type(put: Put, element_type: str, types_rule: str) -> Iterator[Case]:
    """One type of a version."""
    dtype = dtype_of(element_type)
    less, more = finest(dtype)
    low = 0 if dtype.kind == "u" else -1
    subnormal = "" if dtype.kind in "iu" else ", subnormal ones too,"
    yield put(
        element_type,
        f"Is {element_type} taken, is each value's last digit kept, and does the output have the same type?",
        f"{types_rule}, G6",
        rows([[less, more, low, less], [more, less, more, low]], dtype),
        asks="precision, result",
    )
    yield put(
        f"{element_type}_extremes",
        f"Are the least and greatest {element_type} numbers{subnormal} compared as numbers?",
        f"G2, G6, {types_rule}",
        rows([[a, a, b, a] for a, b in extremes(dtype)], dtype),
    )


def rows(cells: list[list[float | int]], dtype: np.dtype[np.generic]) -> Array:
    """A map of one image and channel; integers stay exact."""
    return np.array(cells, object if dtype.kind in "iu" else np.float64).astype(dtype)[None, None]
