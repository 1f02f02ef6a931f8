"""The max-pooling operators that ONNX Runtime and ONNX's tools lack."""

import importlib
from typing import TYPE_CHECKING

from onnx_maxpool import windows
from onnx_maxpool.errors import ModelError, OperatorError
from onnx_maxpool.functional import adaptive_max_pool, max_pooling, max_roi_pool, roi_pooling
from onnx_maxpool.native import load
from onnx_maxpool.ort_values import run
from onnx_maxpool.reference import reference_ops
from onnx_maxpool.registration import library_path, register
from onnx_maxpool.schemas import register_schemas

if TYPE_CHECKING:
    from onnx_maxpool.comparison import reference_evaluator
    from onnx_maxpool.openvino_door import openvino_extensions
    from onnx_maxpool.plotting import plot_windows
    from onnx_maxpool.portable import to_portable
    from onnx_maxpool.python_ops import register_python_ops, to_python_ops

__all__ = [
    "ModelError",
    "OperatorError",
    "adaptive_max_pool",
    "library_path",
    "load",
    "max_pooling",
    "max_roi_pool",
    "openvino_extensions",
    "plot_windows",
    "reference_evaluator",
    "reference_ops",
    "register",
    "register_python_ops",
    "register_schemas",
    "roi_pooling",
    "run",
    "to_portable",
    "to_python_ops",
    "windows",
]

_MODULES = {
    "openvino_extensions": "openvino_door",
    "plot_windows": "plotting",
    "reference_evaluator": "comparison",
    "register_python_ops": "python_ops",
    "to_portable": "portable",
    "to_python_ops": "python_ops",
}
"""Where names are that are imported when they are first asked for: few programs want them, and importing takes time."""


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
