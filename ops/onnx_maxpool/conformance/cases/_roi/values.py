"""Questions to ROI pooling about values and types: rules G2 to G4, G6, M2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._building import INF, NAN, OURS, both, extremes, finest, line, rising
from onnx_maxpool.conformance.cases._roi.operator import RoiOperator
from onnx_maxpool.types import dtype_of


def values(roi: RoiOperator) -> Iterator[Case]:
    """G2 to G4, G6, and every type."""
    whole = [[0, 0, 0, 3, 0]]
    yield roi.case("negative_cells", "May a maximum be negative?", "G2", whole, line(-4, -2, -3, -5), asks="minimum")
    yield roi.case(
        "minus_infinity",
        "Is the maximum of cells that are all -inf -inf?",
        "G2",
        whole,
        line(*[-INF] * 4),
        asks="minimum",
    )
    yield roi.case("infinity", "Is +inf a maximum?", "G2", whole, line(1, INF, -INF, 2))
    for topic, cells in (
        ("first", (NAN, 1, 3, 2)),
        ("middle", (3, 1, NAN, 2)),
        ("last", (1, 3, 2, NAN)),
        ("only", (NAN, NAN, NAN, NAN)),
        ("twice", (3, NAN, 1, NAN)),
    ):
        yield roi.case(
            f"nan_{topic}",
            f"What is the maximum of {', '.join(f'{cell:g}' for cell in cells)}?",
            "G3",
            whole,
            line(*cells),
            level=OURS,
            asks="nan",
        )
    yield roi.case(
        "nan_elsewhere",
        "Is a NaN outside the ROI without effect?",
        "G1, G3",
        [[0, 1, 1, 2, 2]],
        np.where(np.pad(np.ones((2, 2)), 1) > 0, rising(4, 4), np.nan)[None, None],
        (2, 2),
    )
    yield roi.case(
        "zeros", "Is the maximum of -0 and +0 a zero?", "G4", [[0, 0, 0, 1, 0], [0, 1, 0, 2, 0]], line(-0.0, 0.0, -0.0)
    )
    for element_type in roi.version.types["T"]:
        yield from in_type(roi, element_type)


def in_type(roi: RoiOperator, element_type: str) -> Iterator[Case]:
    """M2 and D2: one type of the version."""
    dtype = dtype_of(element_type)
    less, more = finest(dtype)
    name = roi.version.title
    yield roi.case(
        element_type,
        f"Does {name} take {element_type}, keep each value's last digit, and give back the same type?",
        f"{roi.types_rule}, G6",
        [[0, 0, 0, 1, 0], [0, 2, 0, 3, 0]],
        np.array([less, more, more, less], np.float64).reshape(1, 1, 1, 4),
        element_type=element_type,
        asks="precision, result",
    )
    pairs = extremes(dtype)
    yield roi.case(
        f"{element_type}_extremes",
        f"Are the least and greatest {element_type} numbers, subnormal ones too, compared as numbers?",
        f"G2, G6, {roi.types_rule}",
        [[0, 0, row, 1, row] for row in range(len(pairs))],
        np.array(pairs, np.float64).reshape(1, 1, -1, 2),
        element_type=element_type,
    )
    if element_type == "double":
        yield roi.case(
            "double_product",
            "Is 45 times the float32 nearest to 0.7 below 31.5 for double coordinates, as in double?",
            "M5",
            [[0, 45, 0, 45, 0]],
            both(1, 34),
            scale=0.7,
            level=OURS,
            asks="product",
            element_type=element_type,
        )
