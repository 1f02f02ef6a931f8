"""ONNX's element types, NumPy's and their names: one conversion each, against onnx's own tables."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from onnx_maxpool.types import dtype_of, element_type, tensor_type, type_name

KNOWN = [value for value in TensorProto.DataType.values() if value != TensorProto.UNDEFINED]


@pytest.mark.parametrize("value", KNOWN, ids=TensorProto.DataType.Name)
def test_every_type_and_back(value: int) -> None:
    name, dtype = type_name(value), helper.tensor_dtype_to_np_dtype(value)
    assert name == TensorProto.DataType.Name(value).lower()
    assert (tensor_type(name), dtype_of(name), element_type(dtype)) == (value, dtype, name)
    assert element_type(np.zeros(1, dtype)) == name


def test_what_onnx_has_not() -> None:
    assert type_name(0) == type_name(-1) == type_name(1000) == "undefined"
    assert [element_type(np.dtype(name)) for name in ("M8[s]", "V2")] == ["datetime64[s]", "void16"]
    assert [element_type(np.dtype(name)) for name in ("U3", "S3", ">f4")] == ["string", "string", "float"]
    with pytest.raises(ValueError, match="FLOAT32"):
        tensor_type("float32")
    with pytest.raises(ValueError, match="FLOAT32"):
        dtype_of("float32")
