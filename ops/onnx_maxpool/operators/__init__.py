"""One module per operator: attribute checks and the reference.

Each module is named after its operator (`MaxRoiPool` is in `max_roi_pool`) and defines an `OPERATOR`.
"""

from __future__ import annotations

import importlib

from onnx_maxpool.operators.definition import Operator
from onnx_maxpool.operators.registry import snake_case


def operator(name: str) -> Operator:
    """The operator of that name, one of `registry.OPERATORS`."""
    found: Operator = importlib.import_module(f"{__name__}.{snake_case(name)}").OPERATOR
    return found
