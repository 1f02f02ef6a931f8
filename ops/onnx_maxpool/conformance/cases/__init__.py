"""The cases, one module per operator, named after it: each defines `cases()`."""

from __future__ import annotations

import importlib
from functools import cache

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.models.single_operator import snake_case
from onnx_maxpool.registry import newest_versions


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case, operator by operator in the registry's order."""
    found: list[Case] = []
    for newest in newest_versions():
        module = importlib.import_module(f"{__name__}.{snake_case(newest.name)}")
        found.extend(module.cases())
    return tuple(found)
