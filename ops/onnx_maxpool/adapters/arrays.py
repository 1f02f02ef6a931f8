"""NumPy arrays in and out of an ONNX Runtime session, bfloat16 included."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort

from onnx_maxpool.errors import InputError
from onnx_maxpool.types import Array, dtype_of, element_type, native_order

BFLOAT16 = onnx.TensorProto.BFLOAT16
TENSOR_OF_BFLOAT16 = "tensor(bfloat16)"
"""As ONNX Runtime names the type."""


def run(session: ort.InferenceSession, inputs: Mapping[str, Any], outputs: Sequence[str] | None = None) -> list[Any]:
    """Like `session.run(outputs, inputs)`. It also accepts and returns bfloat16 arrays, which ONNX Runtime rejects.

    They have ml_dtypes' dtype. Arrays may have any byte order. Raises what ONNX Runtime raises, and InputError if
    the model has sequences, maps or strings beside bfloat16: ONNX Runtime does not run them together.
    """
    names = list(outputs) if outputs is not None else [output.name for output in session.get_outputs()]
    feeds = {name: _fed(value) for name, value in inputs.items()}
    kinds = {each.name: each.type for each in (*session.get_inputs(), *session.get_outputs())}
    declared = any(kinds.get(name) == TENSOR_OF_BFLOAT16 for name in (*feeds, *names))
    if not declared and not any(_is_bfloat16(value) for value in feeds.values()):
        found: list[Any] = session.run(names, feeds)
        return found
    values = {name: _value(name, value, kinds.get(name, "")) for name, value in feeds.items()}
    for name in names:
        if not kinds.get(name, "tensor").startswith(("tensor", "optional(tensor")):
            raise InputError(f"run: output '{name}' is {kinds[name]}, expected a tensor, as others are bfloat16")
    # An input that is an output too comes back as it is: on the caller's memory, which it does not keep.
    given = {value.data_ptr() for value in values.values() if value.is_tensor()}
    arrays = []
    for value in session.run_with_ort_values(names, values):
        is_given = value.is_tensor() and value.data_ptr() in given
        arrays.append(from_ort_value(value).copy() if is_given else from_ort_value(value))
    return arrays


def tensors(outputs: Mapping[str, Any]) -> dict[str, Array]:
    """Outputs as tensors by name; those of a sequence are `name[0]`, `name[1]` and so on. Texts are objects."""
    found: dict[str, Array] = {}
    for name, value in outputs.items():
        parts = {f"{name}[{i}]": part for i, part in enumerate(value)} if isinstance(value, list) else {name: value}
        for key, part in parts.items():
            array = np.asarray(part)
            found[key] = array.astype(object) if array.dtype.kind == "U" else array
    return found


def _fed(value: Any) -> Any:
    """What ONNX Runtime reads an input from: of arrays, and of a list of them, in this machine's byte order."""
    if isinstance(value, list):
        return [readable(each) if isinstance(each, np.ndarray) else each for each in value]
    if isinstance(value, ort.OrtValue) or not hasattr(value, "__array__"):
        return value
    return readable(np.asarray(value))


def readable(array: Array) -> Array:
    """The array in this machine's byte order, and with texts in the place of bytes: ONNX Runtime reads beyond those.

    Raises ValueError for bytes that are not UTF-8.
    """
    if array.dtype.kind == "S":
        return np.char.decode(array, "utf-8")
    if array.dtype == object and any(isinstance(each, bytes) for each in array.flat):
        found = np.empty(array.shape, object)
        found.reshape(-1)[:] = [each.decode() if isinstance(each, bytes) else each for each in array.flat]
        return found
    return native_order(array)


def _is_bfloat16(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == ml_dtypes.bfloat16


def _value(name: str, value: Any, kind: str) -> ort.OrtValue:
    """An input of a run that bfloat16 takes part in. `kind` is ONNX Runtime's name of its type."""
    if isinstance(value, ort.OrtValue):
        return value
    element = re.fullmatch(r"tensor\((\w+)\)", kind)
    if isinstance(value, list) and element is not None and element[1] != "string":
        value = np.asarray(value, dtype_of(element[1]))
    if not isinstance(value, np.ndarray) or value.dtype.kind in "OSU":
        found = element_type(value) if isinstance(value, np.ndarray) else f"a Python {type(value).__name__}"
        raise InputError(f"run: input '{name}' is {found}, expected an array of numbers, as others are bfloat16")
    return to_ort_value(value)


def run_quickly(session: ort.InferenceSession, inputs: Mapping[str, Array], outputs: Sequence[str]) -> list[Array]:
    """What `run` does for bfloat16, in a fraction of the time.

    Raises RuntimeError where `run` raises an exception of the error's class.
    """
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
        return ort.OrtValue.ortvalue_from_numpy(native_order(np.asarray(array)))
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
