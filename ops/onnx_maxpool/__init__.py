"""The max-pooling operators that ONNX Runtime and ONNX's tools lack."""

from onnx_maxpool.errors import OperatorError
from onnx_maxpool.native import library_path, load, register
from onnx_maxpool.openvino_door import openvino_extensions
from onnx_maxpool.ort_values import run
from onnx_maxpool.portable import to_portable
from onnx_maxpool.reference import reference_ops
from onnx_maxpool.schemas import register_schemas

__all__ = [
    "OperatorError",
    "library_path",
    "load",
    "openvino_extensions",
    "reference_ops",
    "register",
    "register_schemas",
    "run",
    "to_portable",
]
