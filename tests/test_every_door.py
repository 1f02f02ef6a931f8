"""What an operator refuses, it refuses in the same words through every door."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import parser
from roi_cases import Array

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.comparison import reference_evaluator
from onnx_maxpool.registry import OPERATORS

InvalidArgument = ort.capi.onnxruntime_pybind11_state.InvalidArgument

MAP = np.zeros((2, 3, 4, 5), np.float32)
ROI = np.array([[2, 0, 0, 1, 1]], np.float32)


@dataclass(frozen=True)
class Case:
    """One refusal."""

    call: str
    """The node's text, with inputs a and b."""
    inputs: tuple[Array, ...]
    function: Callable[..., Any]
    """The same by the function on arrays."""
    words: str


CASES = (
    Case(
        "y = MaxRoiPool <pooled_shape = [2, 2]> (a, b)",
        (MAP, ROI),
        lambda x, rois: onnx_maxpool.max_roi_pool(x, rois, (2, 2)),
        "MaxRoiPool: rois row 0 has batch 2, expected a batch number from 0 to 1",
    ),
    Case(
        "y = directml.RoiPooling <pooled_size = [2, 2]> (a, b)",
        (MAP, ROI[None, None]),
        lambda x, rois: onnx_maxpool.roi_pooling(x, rois, (2, 2)),
        "RoiPooling: rois row 0 has batch 2, expected a batch number from 0 to 1",
    ),
    Case(
        "y, i = directml.MaxPooling1 <window_size = [5, 2]> (a)",
        (MAP,),
        lambda x: onnx_maxpool.max_pooling(x, (5, 2), return_indices=True),
        "MaxPooling1: X has shape [2,3,4,5], expected H of at least 5, as window_size is [5,2], start_padding [0,0] "
        "and end_padding [0,0]",
    ),
    Case(
        "y, i = org.openvinotoolkit.AdaptiveMaxPool (a, b)",
        (MAP, np.array([2, 0])),
        lambda x, size: onnx_maxpool.adaptive_max_pool(x, size, return_indices=True),
        "AdaptiveMaxPool: output_size is [2,0], expected 2 integers from 1 to 2147483647",
    ),
)


def test_every_operator_has_a_case() -> None:
    assert {case.words.partition(":")[0] for case in CASES} == {row.name for row in OPERATORS}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.words.partition(":")[0])
def test_the_same_words(case: Case) -> None:
    types = {"float32": "float", "int64": "int64"}
    inputs = ", ".join(f"{types[x.dtype.name]}[] {name}" for name, x in zip("ab", case.inputs, strict=False))
    proto = parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 22, "directml": 5, "org.openvinotoolkit": 8]> '
        f"g ({inputs}) => (float[] y) {{ [pool] {case.call} }}"
    )
    for value in (*proto.graph.input, *proto.graph.output):
        value.type.tensor_type.ClearField("shape")
    feeds = dict(zip("ab", case.inputs, strict=False))

    for call in (lambda: reference_evaluator(proto).run(None, feeds), lambda: case.function(*case.inputs)):
        with pytest.raises(OperatorError) as from_python:
            call()
        assert str(from_python.value) == case.words
    for implementation in ("native", "python"):
        session = onnx_maxpool.load(proto, implementation=implementation)
        with pytest.raises(InvalidArgument) as from_session:
            session.run(None, feeds)
        assert str(from_session.value).endswith(f"Name:'pool' Status Message: {case.words}")
