"""One look at a model serves all that `load` and `inspect` ask of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx
import pytest
from builders import MODELS

import onnx_maxpool
from onnx_maxpool.cli.inspection import inspect_model
from onnx_maxpool.graph.survey import Survey

FORMS: dict[str, Callable[[onnx.ModelProto], Any]] = {"load": onnx_maxpool.load, "inspect": inspect_model}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["roi_in_function", "roi_in_loop", "adaptive_max_pool_8_float_int32"])
def test_types_are_inferred_once(
    form: Callable[[onnx.ModelProto], Any], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    infer_shapes, inferred = onnx.shape_inference.infer_shapes, []

    def counted(model: onnx.ModelProto, *arguments: Any) -> onnx.ModelProto:
        inferred.append(model)
        return infer_shapes(model, *arguments)

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
    types = [survey.types_of(found)[found.node.input[0]].elem_type for _, found in survey.calls]
    assert [i for i, _ in survey.calls] == [1, 1, 0]
    assert types == [onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT]
    assert model.SerializeToString() == before


def test_a_model_without_our_operators_is_not_inferred(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(onnx.shape_inference, "infer_shapes")
    onnx_maxpool.load(
        onnx.parser.parse_model('<ir_version: 10, opset_import: ["": 22]> g (float[N] x) => (float[N] y) {y = Relu(x)}')
    )
