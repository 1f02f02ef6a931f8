"""Which peers are here to be compared with, and how many examples the property tests draw."""

from __future__ import annotations

import importlib.util
import os

from hypothesis import HealthCheck, settings

# PyTorch takes gigabytes on some platforms, so the extra `test` does without. scripts/check does not: it says so here.
TORCH_IS_HERE = importlib.util.find_spec("torch") is not None
NEED_TORCH = ["test_against_torch.py", "test_torch_export.py"]
collect_ignore = [] if TORCH_IS_HERE else NEED_TORCH

if os.environ.get("ONNX_MAXPOOL_ALL_PEERS") and not TORCH_IS_HERE:
    raise RuntimeError("torch is missing, expected here as ONNX_MAXPOOL_ALL_PEERS is set: pip install '.[check]'")

# `repeatable` draws the same examples on every run. `long` is for campaigns: `pytest --hypothesis-profile=long`.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("repeatable", derandomize=True, **COMMON)
settings.register_profile("long", max_examples=2_000, print_blob=True, **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_report_header() -> str | None:
    return None if TORCH_IS_HERE else f"left out, as torch is not installed: {', '.join(NEED_TORCH)} (extra `torch`)"
