"""A model's local function with the domain and name of one of our operators runs in the operator's place.

So it does in ONNX Runtime without our library and in onnx.reference, which the tests compare with.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, parser
from onnx.reference import ReferenceEvaluator
from support.one_node import Array, assert_same

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.cli.inspection import inspect_model
from onnx_maxpool.cli.main import main

X = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
FEEDS = {"X": X}

Run = Callable[[onnx.ModelProto], list[Array]]


def alone(model: onnx.ModelProto) -> list[Array]:
    """In ONNX Runtime without our library."""
    return list(ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"]).run(None, FEEDS))


def in_a_session_of_ones_own(model: onnx.ModelProto) -> list[Array]:
    options = ort.SessionOptions()
    onnx_maxpool.register_python_ops(options)
    content = onnx_maxpool.to_python_ops(model).SerializeToString()
    return list(ort.InferenceSession(content, options, ["CPUExecutionProvider"]).run(None, FEEDS))


FORMS: dict[str, Run] = {
    "native": lambda model: list(onnx_maxpool.load(model).run(None, FEEDS)),
    "native, of bytes": lambda model: list(onnx_maxpool.load(model.SerializeToString()).run(None, FEEDS)),
    "native, without the check": lambda model: list(onnx_maxpool.load(model, check=False).run(None, FEEDS)),
    "python": lambda model: list(onnx_maxpool.load(model, implementation="python").run(None, FEEDS)),
    "python, rewritten": in_a_session_of_ones_own,
    "reference": lambda model: list(onnx_maxpool.reference_evaluator(model).run(None, dict(FEEDS))),
    "portable": lambda model: alone(onnx_maxpool.to_portable(model)),
}
each_form = pytest.mark.parametrize("run", FORMS.values(), ids=FORMS)

ADDS_ONE = """
<domain: "directml", opset_import: ["": 22]>
MaxPooling1 <window_size> (x) => (y) { one = Constant <value = float {1}> ()  y = Add (x, one) }
"""

MODELS = {
    "in the graph": """<ir_version: 10, opset_import: ["": 22, "directml": 5]>
        g (float[N,C,H,W] X) => (float[N,C,h,w] Y) { Y = directml.MaxPooling1 <window_size = [2, 2]> (X) }"""
    + ADDS_ONE,
    "of a version without the operator": """<ir_version: 10, opset_import: ["": 22, "directml": 1]>
        g (float[N,C,H,W] X) => (float[N,C,h,w] Y) { Y = directml.MaxPooling1 <window_size = [2, 2]> (X) }"""
    + ADDS_ONE,
    "in another function": """<ir_version: 10, opset_import: ["": 22, "local": 1]>
        g (float[N,C,H,W] X) => (float[N,C,h,w] Y) { Y = local.twice (X) }"""
    + ADDS_ONE
    + """
        <domain: "local", opset_import: ["": 22, "directml": 5]>
        twice (x) => (y) {
            z = directml.MaxPooling1 <window_size = [2, 2]> (x)
            y = directml.MaxPooling1 <window_size = [2, 2]> (z)
        }""",
    "in a subgraph": """<ir_version: 10, opset_import: ["": 22, "directml": 5]>
        g (float[N,C,H,W] X) => (float[N,C,h,w] Y) {
            yes = Constant <value = bool {1}> ()
            Y = If (yes) <
                then_branch = a () => (float[N,C,h,w] b) { b = directml.MaxPooling1 <window_size = [2, 2]> (X) },
                else_branch = c () => (float[N,C,h,w] d) { d = Identity (X) }
            >
        }"""
    + ADDS_ONE,
    "with a name that is wanted": """<ir_version: 10, opset_import: ["": 22, "directml": 5]>
        g (float[N,C,H,W] X) => (float[N,C,h,w] Y) {
            Z = directml.MaxPooling1 <window_size = [2, 2]> (X)
            Y = directml.MaxPooling1_of_the_model (Z)
        }"""
    + ADDS_ONE
    + """
        <domain: "directml", opset_import: ["": 22]>
        MaxPooling1_of_the_model (x) => (y) { y = Neg (x) }""",
    "of which the result is of another type and rank": """<ir_version: 10, opset_import: ["": 22, "directml": 5]>
        g (float[N,C,H,W] X) => (int64[n] Y) {
            Z = directml.MaxPooling1 <window_size = [2, 2]> (X)
            Y = Add (Z, Z)
        }
        <domain: "directml", opset_import: ["": 22]>
        MaxPooling1 <window_size> (x) => (y) { y = Shape (x) }""",
    "called by nobody": """<ir_version: 10, opset_import: ["": 22]>
        g (float[N,C,H,W] X) => (float[N,C,H,W] Y) { Y = Neg (X) }"""
    + ADDS_ONE,
}


@each_form
@pytest.mark.parametrize("text", MODELS.values(), ids=MODELS)
def test_the_function_runs(run: Run, text: str) -> None:
    model = parser.parse_model(text)
    before = model.SerializeToString()
    (expected,) = alone(model)
    assert_same(ReferenceEvaluator(model).run(None, FEEDS)[0], expected)
    (actual,) = run(model)
    assert_same(actual, expected)
    assert model.SerializeToString() == before


@each_form
def test_it_may_hold_our_operators(run: Run) -> None:
    """Another operator of ours in its body, and the other operators of its domain, are ours as ever."""
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 22, "directml": 5, "org.openvinotoolkit": 8]>
        g (float[N,C,H,W] X) => (float[N,C,2,2] Y, float[N,C,3,3] Z) {
            Y = org.openvinotoolkit.AdaptiveMaxPool (X)
            Z = directml.MaxPooling1 <window_size = [2, 2]> (X)
        }
        <domain: "org.openvinotoolkit", opset_import: ["": 22, "directml": 5]>
        AdaptiveMaxPool (x) => (y) { y = directml.MaxPooling1 <window_size = [2, 2], strides = [2, 2]> (x) }""")
    y, z = run(model)
    assert y.ravel().tolist() == [5, 7, 13, 15]
    assert z.ravel().tolist() == [5, 6, 7, 9, 10, 11, 13, 14, 15]


def overloaded() -> onnx.ModelProto:
    """The function has an overload's name, and the second call none: that is our operator."""
    model = parser.parse_model(
        """<ir_version: 10, opset_import: ["": 22, "directml": 5]>
        g (float[N,C,H,W] X) => (float[N,C,h,w] Y, float[N,C,1,1] Z) {
            Y = directml.MaxPooling1 <window_size = [4, 4]> (X)
            Z = directml.MaxPooling1 <window_size = [4, 4]> (X)
        }"""
        + ADDS_ONE
    )
    model.functions[0].overload = model.graph.node[0].overload = "plus"
    return model


@pytest.mark.parametrize("form", [form for form in FORMS if form != "portable"])
def test_a_call_finds_the_function_of_its_overload(form: str) -> None:
    y, z = FORMS[form](overloaded())
    assert_same(y, X + 1)
    assert z.ravel().tolist() == [15]


@each_form
def test_in_ai_onnx_the_operator_runs(run: Run) -> None:
    """As it does in ONNX Runtime without our library, in the version that has a kernel there."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 16]>
        g (float[1,1,4,4] X) => (float[R,C,h,w] Y) {
            rois = Constant <value = float[1,5] {0, 0, 0, 3, 3}> ()
            Y = MaxRoiPool <pooled_shape = [1, 1]> (X, rois)
        }
        <domain: "", opset_import: ["": 16]>
        MaxRoiPool <pooled_shape> (x, r) => (y) { y = Neg (x) }""")
    assert alone(model)[0].ravel().tolist() == [15]
    assert run(model)[0].ravel().tolist() == [15]


def test_external_data_goes_along(tmp_path: Path) -> None:
    """The session's model is a copy then, which has no folder."""
    model = parser.parse_model(MODELS["in the graph"])
    node = helper.make_node("Mul", ["W", "X"], ["Z"])
    model.graph.node.insert(0, node)
    model.graph.node[1].input[0] = "Z"
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.full((1, 1, 4, 4), 3, np.float32), "W"))
    path = tmp_path / "model.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    for implementation in ("native", "python"):
        (y,) = onnx_maxpool.load(path, implementation=implementation).run(None, FEEDS)
        assert_same(y, 3 * X + 1)


def test_what_to_portable_gives_has_the_function_as_it_was() -> None:
    model = parser.parse_model(MODELS["in another function"])
    assert onnx_maxpool.to_portable(model) == model
    roi = helper.make_node("MaxRoiPool", ["X", "rois"], ["pooled"], pooled_shape=[2, 2])
    model.graph.node.append(roi)
    model.graph.input.append(helper.make_tensor_value_info("rois", onnx.TensorProto.FLOAT, ["R", 5]))
    converted = onnx_maxpool.to_portable(model)
    assert list(converted.functions) == list(model.functions)
    assert converted.graph.node[0] == model.graph.node[0]
    assert "MaxRoiPool" not in {node.op_type for node in converted.graph.node}


def test_inspect_counts_none_of_its_calls() -> None:
    assert not inspect_model(parser.parse_model(MODELS["in another function"])).nodes
    (ours,) = inspect_model(overloaded()).nodes
    assert ours.outputs[0].value == "Z"


def test_a_bad_node_in_its_body_is_named() -> None:
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 22, "directml": 5]>
        g (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,h,w] Y) { Y = directml.MaxPooling1 (X, rois) }
        <domain: "directml", opset_import: ["": 22]>
        MaxPooling1 (x, rois) => (y) { [roi] y = MaxRoiPool <pooled_shape = [0, 1]> (x, rois) }""")
    words = r"^node 'roi.*' in graph: MaxRoiPool: pooled_shape is \[0,1\], expected two integers from 1 to 2147483647$"
    for form in (onnx_maxpool.load, onnx_maxpool.to_portable):
        with pytest.raises(OperatorError, match=words):
            form(model)


def test_with_register_the_operator_runs() -> None:
    """`register`'s docstring says so: a registered operator comes before a function."""
    options = ort.SessionOptions()
    onnx_maxpool.register(options)
    content = parser.parse_model(MODELS["in the graph"]).SerializeToString()
    (y,) = ort.InferenceSession(content, options, ["CPUExecutionProvider"]).run(None, FEEDS)
    assert y.ravel().tolist() == [5, 6, 7, 9, 10, 11, 13, 14, 15]


def test_compare_looks_at_our_nodes_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Those in the function's body too; its calls are the model's own affair, on both sides."""
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 22, "local": 1]>
        g (float[1,2,4,4] X, float[3,5] rois) => (float[R,C,h,w] Y, float[R,C,h,w] Z) {
            [outer] Z = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
            Y = local.pool (X, rois)
        }
        <domain: "directml", opset_import: ["": 22]>
        MaxPooling1 (x, r) => (y) { [inner] y = MaxRoiPool <pooled_shape = [1, 3]> (x, r) }
        <domain: "local", opset_import: ["": 22, "directml": 5]>
        pool (x, r) => (y) { y = directml.MaxPooling1 (x, r) }""")
    onnx.save_model(model, tmp_path / "model.onnx")
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(tmp_path / "model.onnx")])
    assert not ended.value.code
    printed = capsys.readouterr().out
    assert "outer" in printed
    assert "inner" in printed
    assert "MaxPooling1-" not in printed
