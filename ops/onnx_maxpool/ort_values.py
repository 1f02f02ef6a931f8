"""NumPy arrays in and out of an ONNX Runtime session, bfloat16 included."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort

from onnx_maxpool.aliases import Array

BFLOAT16 = onnx.TensorProto.BFLOAT16


def run(
    session: ort.InferenceSession, inputs: Mapping[str, Array], outputs: Sequence[str] | None = None
) -> list[Array]:
    """`session.run(outputs, inputs)` that also takes and gives bfloat16 arrays, as ONNX Runtime's own does not.

    bfloat16 is ml_dtypes'. Raises what ONNX Runtime raises.
    """
    names = list(outputs) if outputs is not None else [output.name for output in session.get_outputs()]
    feeds = {name: to_ort_value(array) for name, array in inputs.items()}
    return [from_ort_value(value) for value in session.run_with_ort_values(names, feeds)]


def to_ort_value(array: Array) -> ort.OrtValue:
    """An OrtValue on the array's own memory where ORT can use that, else on a copy."""
    if array.dtype != ml_dtypes.bfloat16:
        return ort.OrtValue.ortvalue_from_numpy(np.asarray(array))
    bits = np.ascontiguousarray(array).view(np.uint16)
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(bits, BFLOAT16)


def from_ort_value(value: ort.OrtValue) -> Array:
    """The tensor as an array of its own."""
    if not value.is_tensor() or value.element_type() != BFLOAT16:
        array: Array = value.numpy()
        return array
    dims = tuple(value.shape())
    bits = np.empty(dims, np.uint16)
    if bits.nbytes:
        ctypes.memmove(bits.ctypes.data, value.data_ptr(), bits.nbytes)
    return bits.view(ml_dtypes.bfloat16)
