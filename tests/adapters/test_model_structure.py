"""What ONNX allows of local functions, subgraphs and initializers. Each form of a model runs it with the same numbers.

Stock ONNX Runtime gives them too: the ROIs here are such that its MaxRoiPool computes as ours does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper, parser
from support.older_runtimes import fails_before
from support.one_node import Array, assert_same
from words.bad_batches import IN_A_FUNCTION

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.cli.inspection import inspect_model
from onnx_maxpool.cli.main import main
from onnx_maxpool.graph.inlining import inline_functions

X = np.random.default_rng(0).standard_normal((2, 3, 9, 11)).astype(np.float32)
ROIS = np.array([[0, 0, 0, 32, 24], [1, 4, 8, 40, 32], [1, 0, 0, 16, 8]], np.float32)
FEEDS = {"X": X, "rois": ROIS}

Run = Callable[[onnx.ModelProto, Mapping[str, Array]], list[Array]]


def stock(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """In ONNX Runtime without our library."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


def without_functions(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    converted = onnx_maxpool.to_portable(model, control_flow=False)
    assert not converted.functions
    return stock(converted, feeds)


FORMS: dict[str, Run] = {
    "native": lambda model, feeds: list(onnx_maxpool.load(model).run(None, dict(feeds))),
    "python": lambda model, feeds: list(onnx_maxpool.load(model, implementation="python").run(None, dict(feeds))),
    "reference": lambda model, feeds: list(onnx_maxpool.reference_evaluator(model).run(None, dict(feeds))),
    "portable": lambda model, feeds: stock(onnx_maxpool.to_portable(model), feeds),
    "portable, without control flow": without_functions,
}
each_form = pytest.mark.parametrize("form", FORMS)

HEAD = """<ir_version: 10, opset_import: ["": 17, "local": 1]>
    g (float[2,3,9,11] X, float[3,5] rois) => (float[3,3,2,2] Y"""


def of_any_size(text: str) -> onnx.ModelProto:
    """A model of HEAD, for any number of images and of ROIs."""
    for old, new in ("[2,3,9,11] X", "[N,3,9,11] X"), ("[3,5] rois", "[R,5] rois"), ("[3,3,2,2] Y", "[r,3,2,2] Y"):
        text = text.replace(old, new)
    return parser.parse_model(text)


POOL = """
    <domain: "local", opset_import: ["": 17]>
    pool <size: ints = [2, 2], scale: float = 0.25> (x, rois) => (y) {
        y = MaxRoiPool <pooled_shape: ints = @size, spatial_scale: float = @scale> (x, rois)
    }"""

TURN = """
    <domain: "local", opset_import: ["": 17]>
    turn <axes: ints = [1, 0, 3, 2]> (x) => (y) { y = Transpose <perm: ints = @axes> (x) }"""

DEFAULTS = {
    "of a number": HEAD
    + """) { Y = local.pool <size = [2, 2]> (X, rois) }
    <domain: "local", opset_import: ["": 17]>
    pool <size, scale: float = 0.25> (x, rois) => (y) {
        y = MaxRoiPool <pooled_shape: ints = @size, spatial_scale: float = @scale> (x, rois)
    }""",
    "of all attributes": HEAD + ") { Y = local.pool (X, rois) }" + POOL,
    "that a caller overrules": HEAD + ") { Y = local.pool <scale = 0.125> (X, rois) }" + POOL,
    "of a function without our operators": HEAD + ") { Z = local.turn (X)  Y = local.pool (Z, rois) }" + POOL + TURN,
    "in a subgraph": HEAD
    + """) {
        size = Size (X)
        yes = Cast <to = 9> (size)
        Y = If (yes) <
            then_branch = a () => (float[3,3,2,2] b) { b = local.pool (X, rois) },
            else_branch = c () => (float[3,3,2,2] d) { d = local.pool <scale = 0.125> (X, rois) }
        >
    }"""
    + POOL,
    "that a function hands on": HEAD
    + """, float[3,3,2,2] Z) { Y = local.outer (X, rois)  Z = local.outer <s = 0.125> (X, rois) }
    <domain: "local", opset_import: ["": 17, "local": 1]>
    outer <s: float = 0.5> (x, rois) => (y) { z = local.turn (x)  y = local.pool <scale: float = @s> (z, rois) }"""
    + POOL
    + TURN,
}


@each_form
@pytest.mark.parametrize("text", DEFAULTS.values(), ids=DEFAULTS)
def test_defaults_of_functions(form: str, text: str) -> None:
    model = parser.parse_model(text)
    before = model.SerializeToString()
    for actual, expected in zip(FORMS[form](model, FEEDS), stock(model, FEEDS), strict=True):
        assert_same(actual, expected)
    assert model.SerializeToString() == before


@pytest.mark.parametrize("form", [form for form in FORMS if form != "reference"])  # onnx.reference wants each attribute
def test_a_default_instead_of_what_the_caller_was_not_given(form: str) -> None:
    """An attribute without a value is no attribute of the call that it is handed on to."""
    model = parser.parse_model(
        HEAD
        + """, float[3,3,2,2] Z) { Y = local.outer (X, rois)  Z = local.outer <s = 0.125> (X, rois) }
        <domain: "local", opset_import: ["": 17, "local": 1]>
        outer <s> (x, rois) => (y) { y = local.pool <scale: float = @s> (x, rois) }"""
        + POOL
    )
    for actual, expected in zip(FORMS[form](model, FEEDS), stock(model, FEEDS), strict=True):
        assert_same(actual, expected)


def overloaded() -> onnx.ModelProto:
    model = parser.parse_model(
        HEAD
        + """) { Z = local.f (X, rois)  Y = local.f (Z, Z) }
        <domain: "local", opset_import: ["": 17]>
        f (x, rois) => (y) { y = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.25> (x, rois) }
        <domain: "local", opset_import: ["": 17]>
        f (x, rois) => (y) { y = Add (x, rois) }"""
    )
    model.functions[1].overload = model.graph.node[1].overload = "two"
    return model


@fails_before(1, 24, "does not tell overloads apart")
@each_form
@pytest.mark.parametrize("reverse", [False, True])
def test_overloads_of_a_function(form: str, reverse: bool) -> None:
    model = overloaded()
    if reverse:
        functions = [*model.functions][::-1]
        del model.functions[:]
        model.functions.extend(functions)
    (actual,) = FORMS[form](model, FEEDS)
    assert_same(actual, stock(model, FEEDS)[0])


@each_form
def test_a_graph_that_writes_out_the_domain_of_onnx(form: str) -> None:
    model = parser.parse_model(HEAD + ") { x = Relu (X)  Y = MaxRoiPool <pooled_shape = [2, 2]> (x, rois) }")
    expected = stock(model, FEEDS)[0]
    for part in (*model.graph.node, model.opset_import[0]):
        part.domain = "ai.onnx"
    (actual,) = FORMS[form](model, FEEDS)
    assert_same(actual, expected)


def test_rows_where_the_domain_of_onnx_is_written_out() -> None:
    model = of_any_size(HEAD + ") { x = Relu (X)  Y = MaxRoiPool <pooled_shape = [2, 2]> (x, rois) }")
    expected = onnx_maxpool.Predictor(model).batching
    for part in (*model.graph.node, model.opset_import[0]):
        part.domain = "ai.onnx"
    assert onnx_maxpool.Predictor(model).batching == expected
    assert [each.kind for each in expected.outputs] == ["roi"]


def test_types_are_checked_where_the_domain_of_onnx_is_written_out() -> None:
    model = parser.parse_model("""<ir_version: 10, opset_import: ["ai.onnx": 17]>
        g (int32[1,3,9,11] X, int32[3,5] rois) => (int32[3,3,2,2] Y) {
            x = ai.onnx.Abs (X)
            Y = ai.onnx.MaxRoiPool <pooled_shape = [2, 2]> (x, rois)
        }""")
    with pytest.raises(OperatorError, match="node 'Y' in graph: MaxRoiPool-1: X is int32, expected "):
        onnx_maxpool.load(model)


OTHER_OPSET = HEAD.replace("17", "22") + ") { Y = local.pool <size = [2, 2], scale = 0.25> (X, rois) }" + POOL
"""A model whose function imports another opset of ai.onnx."""


@each_form
def test_a_function_of_another_opset(form: str) -> None:
    model = parser.parse_model(OTHER_OPSET)
    (actual,) = FORMS[form](model, FEEDS)
    expected = stock(parser.parse_model(OTHER_OPSET.replace("22", "17")), FEEDS)[0]
    assert_same(actual, expected)


def test_rows_of_a_function_of_another_opset() -> None:
    """Whose inputs are found where they are handed on to the operator."""
    predictor = onnx_maxpool.Predictor(of_any_size(OTHER_OPSET))
    assert [each.kind for each in predictor.batching.outputs] == ["roi"]
    boxes = [ROIS[ROIS[:, 0] == image, 1:] for image in range(2)]
    found = predictor({"X": list(X), "rois": boxes})["Y"]
    expected = stock(parser.parse_model(OTHER_OPSET.replace("22", "17")), FEEDS)[0]
    assert_same(np.concatenate(found), expected)


def test_types_are_checked_by_the_opset_of_a_function() -> None:
    """The model's opset has bfloat16, and the function's has not."""
    model = parser.parse_model(OTHER_OPSET.replace("float[", "bfloat16["))
    with pytest.raises(OperatorError, match="MaxRoiPool-1: X is bfloat16, expected "):
        onnx_maxpool.load(model)


def test_a_function_beside_one_that_cannot_be_converted() -> None:
    """It is looked into all the same."""
    model = onnx.ModelProto()
    model.CopyFrom(IN_A_FUNCTION)
    good = model.functions.add()
    good.CopyFrom(model.functions[0])
    good.name, good.opset_import[0].version = "good", 15
    del good.node[0]
    good.node[0].input[0] = "x"
    model.graph.node.add(op_type="good", domain="local", input=["X", "rois"], output=["Z"])
    model.graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT32
    with pytest.raises(OperatorError, match="node 'Z' in graph: MaxRoiPool-1: X is int32, expected "):
        onnx_maxpool.load(model)


STALE = """<ir_version: 10, opset_import: ["": 17]>
    g (float[2,3,9,11] X, float[3,5] rois) => (float[r,c,h,w] Y) <float[3,4] same> {
        same = Identity (rois)
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, same)
    }"""
"""A model whose inputs got another shape than what follows from them."""
BRANCH = """<ir_version: 10, opset_import: ["": 17]>
    g (float[2,3,9,11] X, float[3,5] rois) => (float[r,c,h,w] Y) {
        batched = Constant <value = bool {0}> ()
        Y = If (batched) <
            then_branch = yes () => (float[r,c,h,w] A) {
                axis = Constant <value_ints = [0]> ()
                more = Unsqueeze (X, axis)
                A = MaxRoiPool <pooled_shape = [2, 2]> (more, rois)
            },
            else_branch = no () => (float[r,c,h,w] B) { B = MaxRoiPool <pooled_shape = [2, 2]> (X, rois) }
        >
    }"""
"""As exporters write one that takes images with and without a batch."""


IN_A_FUNCTION_OF_FOUR_COLUMNS = """<ir_version: 10, opset_import: ["": 17, "local": 1]>
    g (float[2,3,9,11] X, float[R,4] boxes) => (float[r,c,h,w] Y) { Y = local.pool (X, boxes) }
    <domain: "local", opset_import: ["": 17]> pool (x, boxes) => (y) {
        rois = Relu (boxes)
        y = MaxRoiPool <pooled_shape = [2, 2]> (x, rois)
    }"""


@pytest.mark.parametrize("text", [STALE, BRANCH])
def test_a_shape_that_no_run_has_is_not_rejected(text: str) -> None:
    model = parser.parse_model(text)
    expected = onnx_maxpool.max_roi_pool(X, ROIS, (2, 2))
    for implementation in ("native", "python"):
        (y,) = onnx_maxpool.load(model, implementation=implementation).run(None, FEEDS)
        assert_same(y, expected)


def test_a_shape_that_every_run_has_is_rejected() -> None:
    """Behind another operator, and in a local function."""
    model = parser.parse_model(IN_A_FUNCTION_OF_FOUR_COLUMNS)
    said = "MaxRoiPool: rois has shape [R,4], expected (R, 5) with columns batch, x1, y1, x2, y2"
    with pytest.raises(OperatorError) as refused:
        onnx_maxpool.load(model)
    assert str(refused.value).endswith(f" in graph: {said}")
    assert inspect_model(model).refusal == str(refused.value)


def test_rois_in_a_function_that_stays() -> None:
    """As ONNX does not convert it: only the user knows which input holds ROIs."""
    assert onnx_maxpool.Predictor(IN_A_FUNCTION, rois="rois").batching.rois is not None


@pytest.mark.parametrize("form", [form for form in FORMS if form != "native"])  # ONNX Runtime takes no such function
def test_a_function_that_writes_out_the_domain_of_onnx(form: str) -> None:
    model = parser.parse_model(HEAD + ") { Y = local.pool <size = [2, 2], scale = 0.25> (X, rois) }" + POOL)
    expected = stock(model, FEEDS)[0]
    model.functions[0].node[0].domain = model.functions[0].opset_import[0].domain = "ai.onnx"
    assert not onnx_maxpool.to_portable(model).functions
    (actual,) = FORMS[form](model, FEEDS)
    assert_same(actual, expected)


def test_no_function_keeps_an_operator_unnoticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnx_maxpool.graph.inlining._holding", lambda functions, operators: [])
    with pytest.raises(OperatorError, match="expected a function that ONNX's inliner can inline"):
        inline_functions(overloaded(), {"MaxRoiPool"})


def siblings() -> onnx.ModelProto:
    """Both branches have a value `t`, of other types and ranks."""
    return parser.parse_model("""<ir_version: 10, opset_import: ["": 17]>
        g (float[2,3,9,11] X, float[3,5] rois, bool c) => (float[a,b,p,q] Y) {
            Y = If (c) <
                then_branch = a () => (float[a,b,p,q] ya) {
                    t = Identity (X)
                    ya = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.25> (t, rois)
                },
                else_branch = b () => (float[a,b,p,q] yb) {
                    t = Shape (X)
                    u = Cast <to = 1> (t)
                    s = Constant <value_ints = [1, 1, 2, 2]> ()
                    yb = Reshape (u, s)
                }
            >
        }""")


def of_siblings(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    return stock(onnx_maxpool.to_portable(model, control_flow=False), feeds)


@pytest.mark.parametrize("run", [*list(FORMS.values())[:4], of_siblings], ids=FORMS)
def test_subgraphs_with_values_of_the_same_name(run: Run) -> None:
    for flag in (True, False):
        feeds = {**FEEDS, "c": np.array(flag)}
        (actual,) = run(siblings(), feeds)
        assert_same(actual, stock(siblings(), feeds)[0])


def test_subgraphs_with_values_of_the_same_name_in_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    facts = inspect_model(siblings())
    assert facts.refusal is None
    (node,) = facts.nodes
    assert [(fact.element_type, fact.shape) for fact in node.inputs] == [("float", (2, 3, 9, 11)), ("float", (3, 5))]
    onnx.save_model(siblings(), tmp_path / "model.onnx")
    np.save(tmp_path / "c.npy", np.array(True))
    with pytest.raises(SystemExit) as ended:  # which draws ROIs within the X of their own branch
        main(["compare", str(tmp_path / "model.onnx"), "--input", f"c={tmp_path / 'c.npy'}"])
    assert not ended.value.code, capsys.readouterr()


def test_a_type_that_follows_from_a_sparse_initializer() -> None:
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 17]>
        g (float[3,5] rois) => (float[3,3,2,2] Y) {
            x = Identity (W)
            Y = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.25> (x, rois)
        }""")
    values = numpy_helper.from_array(np.array([1, 2, 3], np.float32), "W")
    indices = numpy_helper.from_array(np.array([0, 5, 300]), "W_indices")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, indices, list(X.shape)))
    feeds = {"rois": ROIS}
    (expected,) = stock(model, feeds)
    assert expected.any()
    for options in ({}, {"control_flow": False}):
        (actual,) = stock(onnx_maxpool.to_portable(model, **options), feeds)
        assert_same(actual, expected)
    for form in ("native", "python", "reference"):
        assert_same(FORMS[form](model, feeds)[0], expected)
    by_axes = numpy_helper.from_array(
        np.argwhere(np.isin(np.arange(X.size).reshape(X.shape), [0, 5, 300])), "W_indices"
    )
    model.graph.sparse_initializer[0].indices.CopyFrom(by_axes)
    assert_same(FORMS["reference"](model, feeds)[0], expected)


@each_form
def test_nodes_in_any_order(form: str) -> None:
    """As tools write them that add a Cast; ONNX Runtime sorts them, but not in subgraphs."""
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 17]>
        g (float[2,3,9,11] X, float[3,5] rois) => (float[3,3,2,2] Y) {
            size = Size (X)
            yes = Cast <to = 9> (size)
            z = If (yes) <
                then_branch = a () => (float[3,3,2,2] b) {
                    n = Neg (x)
                    b = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.25> (n, rois)
                },
                else_branch = c () => (float[3,3,2,2] d) { d = MaxRoiPool <pooled_shape = [2, 2]> (x, rois) }
            >
            Y = Neg (z)
            x = Identity (w)
            w = Abs (X)
        }""")
    (expected,) = stock(model, FEEDS)
    del model.graph.node[:2]
    model.graph.node.extend(
        onnx.helper.make_node(*each) for each in (("Cast", ["size"], ["yes"]), ("Size", ["X"], ["size"]))
    )
    model.graph.node[-2].attribute.append(helper.make_attribute("to", onnx.TensorProto.BOOL))
    before = model.SerializeToString()
    assert_same(FORMS[form](model, FEEDS)[0], expected)
    assert model.SerializeToString() == before


CALLS = {
    "adaptive pooling": """Pool <s: ints> (x, rois) => (y) {
        sides = Constant <value_ints = @s> ()
        z = org.openvinotoolkit.AdaptiveMaxPool(x, sides)
        y = Relu(z)
    }""",
    "in another function": """Pool <s: ints> (x, rois) => (y) { y = local.Inner <s: ints = @s> (x, rois) }
    <domain: "local", opset_import: ["": 17, "directml": 5]>
    Inner <s: ints> (x, rois) => (y) {
        axes = Constant <value_ints = [0, 1]> ()
        table = Unsqueeze(rois, axes)
        y = directml.RoiPooling <pooled_size: ints = @s, spatial_scale = 0.25> (x, table)
    }""",
}


@pytest.mark.parametrize("form", [form for form in FORMS if form != "portable, without control flow"])
@pytest.mark.parametrize("function", CALLS.values(), ids=CALLS)
def test_a_call_whose_type_nobody_declares(form: str, function: str) -> None:
    """ONNX Runtime infers none through an operator of a domain that is not ONNX's."""
    model = parser.parse_model(f"""<ir_version: 10, opset_import: ["": 17, "local": 1, "directml": 5]>
    g (float[N,3,9,11] X, float[R,5] rois) => (float[n,3,h,w] Y) {{
        called = local.Pool <s = [2, 3]> (X, rois)
        Y = Neg(called)
    }}
    <domain: "local", opset_import: ["": 17, "org.openvinotoolkit": 8, "local": 1]>
    {function}""")
    (expected,) = onnx_maxpool.reference_evaluator(model).run(None, dict(FEEDS))
    (found,) = FORMS[form](model, FEEDS)
    assert_same(found, expected)
