"""The cases, one module per operator, named after it: each defines `cases()`."""

from __future__ import annotations

import importlib
from functools import cache

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.operators.registry import newest_versions, snake_case


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case, operator by operator in the registry's order."""
    found: list[Case] = []
    for newest in newest_versions():
        module = importlib.import_module(f"{__name__}.{snake_case(newest.name)}")
        found.extend(module.cases())
    return tuple(found)
