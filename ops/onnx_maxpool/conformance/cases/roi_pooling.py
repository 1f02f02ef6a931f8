"""The cases of DirectML's RoiPooling, whose text gives the edges of bins as integer divisions."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._building import both, refusal
from onnx_maxpool.conformance.cases._roi import shared_cases
from onnx_maxpool.conformance.cases._roi.operator import RoiOperator
from onnx_maxpool.operators.registry import versions_of


def cases() -> Iterator[Case]:
    """The shared questions, and D1 and D2."""
    (version,) = versions_of("directml", "RoiPooling")
    roi = RoiOperator(version, "required", "D2")
    yield from shared_cases(roi)
    control = roi.case(
        "four_dimensions", "Is the ROI tensor (1, 1, R, 5)?", "D1", [[0, 1, 1, 3, 2]], both(4, 5), (2, 2)
    )
    yield control
    rois = control.inputs["rois"]
    for topic, shape in (("two_dimensions", (1, 5)), ("two_stacks", (1, 2, 1, 5)), ("two_batches", (2, 1, 1, 5))):
        yield refusal(
            control,
            f"rois_of_{topic}",
            f"Are ROIs of shape {list(shape)} rejected?",
            "D1",
            inputs={"rois": np.broadcast_to(rois.reshape(1, 5), shape).copy()},
        )
    yield refusal(
        control,
        "double",
        "Is double rejected, which is not among its types?",
        "D2",
        inputs={name: array.astype(np.float64) for name, array in control.inputs.items()},
    )
