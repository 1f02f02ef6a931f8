"""One module per operator: attribute checks and the reference.

Each module is named after its operator (`MaxRoiPool` is in `max_roi_pool`) and defines an `OPERATOR`.
"""

from __future__ import annotations

import importlib
import re

from onnx_maxpool.operators.operator import Operator


def operator(name: str) -> Operator:
    """The operator of that name, one of `registry.OPERATORS`."""
    module = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    found: Operator = importlib.import_module(f"onnx_maxpool.operators.{module}").OPERATOR
    return found
