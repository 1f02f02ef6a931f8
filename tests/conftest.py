"""Which peers are here to be compared with."""

from __future__ import annotations

import importlib.util
import os

# PyTorch takes gigabytes on some platforms, so the extra `test` does without. scripts/check does not: it says so here.
TORCH_IS_HERE = importlib.util.find_spec("torch") is not None
NEED_TORCH = ["test_against_torch.py", "test_torch_export.py"]
collect_ignore = [] if TORCH_IS_HERE else NEED_TORCH

if os.environ.get("ONNX_MAXPOOL_ALL_PEERS") and not TORCH_IS_HERE:
    raise RuntimeError("torch is missing, expected here as ONNX_MAXPOOL_ALL_PEERS is set: pip install '.[check]'")


def pytest_report_header() -> str | None:
    return None if TORCH_IS_HERE else f"left out, as torch is not installed: {', '.join(NEED_TORCH)} (extra `torch`)"
