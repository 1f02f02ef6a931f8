"""The cases of ai.onnx MaxRoiPool, whose text says nothing on how the edges of bins are computed."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._building import OURS, both, refusal
from onnx_maxpool.conformance.cases._roi import shared_cases
from onnx_maxpool.conformance.cases._roi.operator import RoiOperator
from onnx_maxpool.operators.registry import versions_of


def cases() -> Iterator[Case]:
    """Every question to both versions, as some backends have kernels for only one of them."""
    for version in versions_of("", "MaxRoiPool"):
        roi = RoiOperator(version, OURS, "M2")
        yield from shared_cases(roi)
        if "bfloat16" not in version.types["T"]:
            control = roi.case("control", "", "M2", [[0, 0, 0, 3, 2]], both(3, 4))
            yield refusal(
                control,
                "bfloat16",
                "Is bfloat16 rejected, which came with version 22?",
                "M2",
                inputs={name: array.astype(ml_dtypes.bfloat16) for name, array in control.inputs.items()},
            )
