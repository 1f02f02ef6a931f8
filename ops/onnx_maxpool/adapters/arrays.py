"""NumPy arrays in and out of an ONNX Runtime session, bfloat16 included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort

from onnx_maxpool.types import Array

BFLOAT16 = onnx.TensorProto.BFLOAT16


def run(
    session: ort.InferenceSession, inputs: Mapping[str, Array], outputs: Sequence[str] | None = None
) -> list[Array]:
    """Like `session.run(outputs, inputs)`, and accepts and returns bfloat16 arrays, which ONNX Runtime's own does not.

    They have ml_dtypes' dtype. Raises what ONNX Runtime raises.
    """
    names = list(outputs) if outputs is not None else [output.name for output in session.get_outputs()]
    feeds = {name: to_ort_value(array) for name, array in inputs.items()}
    return [from_ort_value(value) for value in session.run_with_ort_values(names, feeds)]


def run_quickly(session: ort.InferenceSession, inputs: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
    """`run` in a fraction of its own time. Raises RuntimeError where `run` raises an exception of the error's class."""
    binding = session.io_binding()
    feeds = {name: to_ort_value(array) for name, array in inputs.items()}
    for name, value in feeds.items():
        binding.bind_ortvalue_input(name, value)
    for name in outputs:
        binding.bind_output(name)
    session.run_with_iobinding(binding)
    return [from_ort_value(value) for value in binding.get_outputs()]


def to_ort_value(array: Array) -> ort.OrtValue:
    """An OrtValue on the array's own memory where ORT can use that, else on a copy."""
    if array.dtype != ml_dtypes.bfloat16:
        return ort.OrtValue.ortvalue_from_numpy(np.asarray(array))
    bits = np.ascontiguousarray(array).view(np.uint16).reshape(array.shape)  # ascontiguousarray makes a scalar 1-D
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, BFLOAT16)


def from_ort_value(value: ort.OrtValue) -> Array:
    """The tensor as an array, on the tensor's own memory."""
    if not value.is_tensor() or value.element_type() != BFLOAT16:
        array: Array = value.numpy()
        return array
    if 0 in value.shape():  # has no address, over which NumPy before 1.24 stumbles
        return np.empty(value.shape(), ml_dtypes.bfloat16)
    return np.asarray(_Bits(value)).view(ml_dtypes.bfloat16)


class _Bits:
    """A tensor of two-byte elements by NumPy's array interface; an array on it keeps it."""

    def __init__(self, value: ort.OrtValue) -> None:
        self._value = value
        self.__array_interface__ = {
            "version": 3,
            "typestr": np.dtype(np.uint16).str,
            "shape": tuple(value.shape()),
            "data": (value.data_ptr(), False),
        }
