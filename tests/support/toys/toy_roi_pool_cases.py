"""The cases of the toy on ROIs: what its module of cases would be."""

from __future__ import annotations

from collections.abc import Iterator

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._roi import shared_cases
from onnx_maxpool.conformance.cases._roi.operator import RoiOperator
from onnx_maxpool.operators.registry import versions_of


def cases() -> Iterator[Case]:
    (version,) = versions_of("toy", "ToyRoiPool")
    yield from shared_cases(RoiOperator(version, "required", "M2"))
