"""The max-pooling operators that ONNX Runtime and ONNX's tools lack."""

import importlib
import importlib.metadata
from typing import TYPE_CHECKING

from onnx_maxpool import windows
from onnx_maxpool.adapters.arrays import run
from onnx_maxpool.adapters.functions import adaptive_max_pool, max_pooling, max_roi_pool, roi_pooling
from onnx_maxpool.adapters.onnxruntime import load
from onnx_maxpool.adapters.reference import reference_ops
from onnx_maxpool.adapters.registration import library_path, register
from onnx_maxpool.errors import InputError, ModelError, OperatorError, OutputError, RowError, WorkerError
from onnx_maxpool.operators.schemas import register_schemas

if TYPE_CHECKING:
    __version__: str
    from onnx_maxpool import conformance, torch_export
    from onnx_maxpool.adapters.collation import collate, split
    from onnx_maxpool.adapters.openvino import openvino_extensions
    from onnx_maxpool.adapters.portable import to_portable
    from onnx_maxpool.adapters.predictor import Predictor
    from onnx_maxpool.adapters.python.rewriting import register_python_ops, to_python_ops
    from onnx_maxpool.adapters.reference import reference_evaluator
    from onnx_maxpool.plotting import plot_windows

__all__ = [
    "InputError",
    "ModelError",
    "OperatorError",
    "OutputError",
    "Predictor",
    "RowError",
    "WorkerError",
    "__version__",
    "adaptive_max_pool",
    "collate",
    "conformance",
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
    "split",
    "to_portable",
    "to_python_ops",
    "torch_export",
    "windows",
]

_MODULES = {
    "Predictor": "adapters.predictor",
    "collate": "adapters.collation",
    "openvino_extensions": "adapters.openvino",
    "plot_windows": "plotting",
    "reference_evaluator": "adapters.reference",
    "register_python_ops": "adapters.python.rewriting",
    "split": "adapters.collation",
    "to_portable": "adapters.portable",
    "to_python_ops": "adapters.python.rewriting",
}
"""Where names are that are imported when they are first asked for: few programs want them, and importing takes time."""
_SUBMODULES = ("conformance", "torch_export")
"""Modules that are public themselves, imported likewise."""


def __getattr__(name: str) -> object:
    if name == "__version__":
        value: object
        value = globals()[name] = importlib.metadata.version("onnx-maxpool")
        return value
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
