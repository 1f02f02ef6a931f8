"""The questions to ROI pooling, which MaxRoiPool and RoiPooling share: rules M1 to M11, G1 to G7.

Each case is one ROI on one map unless it asks about several. `pooled` is (height, width); a ROI is batch, x1, y1, x2,
y2.
"""

from __future__ import annotations

from collections.abc import Iterator

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._roi.operator import RoiOperator
from onnx_maxpool.conformance.cases._roi.random import random_family
from onnx_maxpool.conformance.cases._roi.refusals import batches, empty_tensors, far_coordinates, refusals
from onnx_maxpool.conformance.cases._roi.values import values
from onnx_maxpool.conformance.cases._roi.windows import borders, edges, malformed, plain, rounding


def shared_cases(roi: RoiOperator) -> Iterator[Case]:
    """All questions that both operators are asked."""
    yield from plain(roi)
    yield from rounding(roi)
    yield from edges(roi)
    yield from borders(roi)
    yield from malformed(roi)
    yield from batches(roi)
    yield from far_coordinates(roi)
    yield from values(roi)
    yield from empty_tensors(roi)
    yield from refusals(roi)
    yield from random_family(roi)
