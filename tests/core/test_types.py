"""Element types: one conversion each between ONNX's, NumPy's and names, and one inference of them in a model.

The conversions are compared with onnx's own tables. What is inferred serves all that `load` and `inspect` ask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from builders import MODELS
from onnx import TensorProto, helper

import onnx_maxpool
from onnx_maxpool.cli.inspection import inspect_model
from onnx_maxpool.graph.survey import Survey
from onnx_maxpool.types import dtype_of, element_type, tensor_type, type_name

KNOWN = [value for value in TensorProto.DataType.values() if value != TensorProto.UNDEFINED]


@pytest.mark.parametrize("value", KNOWN, ids=TensorProto.DataType.Name)
def test_every_type_and_back(value: int) -> None:
    name, dtype = type_name(value), helper.tensor_dtype_to_np_dtype(value)
    assert name == TensorProto.DataType.Name(value).lower()
    assert (tensor_type(name), dtype_of(name)) == (value, dtype)
    assert element_type(np.zeros(0, dtype)) == name
    assert element_type(dtype) == ("object" if name == "string" else name)  # any object may be in it


def test_what_onnx_has_not() -> None:
    assert type_name(0) == type_name(-1) == type_name(1000) == "undefined"
    assert [element_type(np.dtype(name)) for name in ("M8[s]", "V2")] == ["datetime64[s]", "void16"]
    assert [element_type(np.dtype(name)) for name in ("U3", "S3", ">f4")] == ["string", "string", "float"]
    assert [element_type(np.array(x, object)) for x in (["a", b"b"], ["a", None], None)] == [
        "string",
        "object",
        "object",
    ]
    with pytest.raises(ValueError, match="FLOAT32"):
        tensor_type("float32")
    with pytest.raises(ValueError, match="FLOAT32"):
        dtype_of("float32")


FORMS: dict[str, Callable[[onnx.ModelProto], Any]] = {"load": onnx_maxpool.load, "inspect": inspect_model}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["roi_in_function", "roi_in_loop", "adaptive_max_pool_8_float_int32"])
def test_types_are_inferred_once(
    form: Callable[[onnx.ModelProto], Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    infer_shapes, inferred = onnx.shape_inference.infer_shapes, []

    def counted(model: onnx.ModelProto, **options: Any) -> onnx.ModelProto:
        inferred.append(model)
        return infer_shapes(model, **options)

    monkeypatch.setattr(onnx.shape_inference, "infer_shapes", counted)
    form(MODELS[name].builder())
    assert len(inferred) == 1


def test_a_function_that_is_called_twice() -> None:
    """Its node is there once as the model has it, and once for each call, with the types of that call."""
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 22, "l": 1]>
        g (float[N,C,H,W] X, float[R,5] rois, double[N,C,H,W] X2, double[R,5] rois2)
            => (float[R,C,h,w] Y, double[R,C,h,w] Y2, float[n,c,h2,w2] Z) {
            Y = l.pool (X, rois)
            Y2 = l.pool (X2, rois2)
            Z = directml.MaxPooling1 <window_size = [1, 1]> (X)
        }
        <domain: "l", opset_import: ["": 22]>
        pool (x, r) => (y) { y = MaxRoiPool <pooled_shape = [1, 1]> (x, r) }""")
    before = model.SerializeToString()
    survey = Survey(model)
    assert [found.place for found in survey.nodes] == ["graph", "function l::pool"]
    types = [found.types[found.node.input[0]].elem_type for _, found in survey.calls]
    assert [i for i, _ in survey.calls] == [1, 1, 0]
    assert types == [onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT]
    assert model.SerializeToString() == before


def test_a_model_without_our_operators_is_not_inferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(onnx.shape_inference, "infer_shapes")
    onnx_maxpool.load(
        onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 22]> g (float[N] x) => (float[N] y) {y = Relu(x)}')
    )
