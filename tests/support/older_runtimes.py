"""What versions before the newest cannot do, of ONNX Runtime and of ONNX, for the tests that leave it out there.

On the newest, nothing is.
"""

from __future__ import annotations

import onnx
import onnxruntime as ort
import pytest

from onnx_maxpool import OperatorError
from onnx_maxpool.adapters.onnxruntime import check_index_types
from onnx_maxpool.conformance import Case, all_cases
from onnx_maxpool.graph.nodes import operator_nodes


def runtime_is_before(major: int, minor: int) -> bool:
    return tuple(int(part) for part in ort.__version__.split(".")[:2]) < (major, minor)


def fails_before(major: int, minor: int, why: str) -> pytest.MarkDecorator:
    """A mark for a test that fails in an ONNX Runtime before this one, by a fault of its own."""
    return pytest.mark.xfail(
        runtime_is_before(major, minor), reason=f"ONNX Runtime before {major}.{minor} {why}", strict=True
    )


def onnx_is_before(major: int, minor: int) -> bool:
    return tuple(int(part) for part in onnx.__version__.split(".")[:2]) < (major, minor)


def cases_that_load_here() -> list[Case]:
    """All conformance cases but those with an index type that this ONNX Runtime cannot infer (before 1.28)."""
    return [case for case in all_cases() if all(loads_here(each.model()) for each in (case, case.control or case))]


def loads_here(model: onnx.ModelProto) -> bool:
    try:
        check_index_types(operator_nodes(model))
    except OperatorError:
        return False
    return True
