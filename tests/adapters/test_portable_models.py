"""to_portable on models with more than our node: subgraphs, functions and their opsets, weights, and what stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import parser
from support import one_node
from support.portable_runtimes import Run, assert_equal, in_onnxruntime, in_reference

import onnx_maxpool
from onnx_maxpool import to_portable
from onnx_maxpool.adapters.reference import reference_evaluator

pytestmark = pytest.mark.slow("compiles converted models")

NESTED = """
<ir_version: 10, opset_import: ["" : 18, "directml" : 5, "local" : 1]>
nested (float[n, c, h, w] X, float[1, 1, r, 5] rois, bool flag) => (float[r, c, a, b] Y, float[n, c, d, e] Z)
{
    Y = If (flag) <
        then_branch = yes () => (float[r, c, a, b] yes_Y) {
            yes_Y = directml.RoiPooling <pooled_size = [2, 2], spatial_scale = 1.0> (X, rois)
        },
        else_branch = no () => (float[r, c, a, b] no_Y) {
            no_Y = local.Outer <side: ints = [2, 2]> (X, rois)
        }
    >
    Z = local.Halved (X)
}
<domain: "local", opset_import: ["" : 18, "directml" : 5, "local" : 1]>
Outer <side> (x, r) => (y) { y = local.Inner <side: ints = @side> (x, r) }
<domain: "local", opset_import: ["" : 18, "directml" : 5]>
Inner <side> (x, r) => (y)
{ z = directml.RoiPooling <pooled_size: ints = @side, spatial_scale = 1.0> (x, r) y = Neg(z) }
<domain: "local", opset_import: ["" : 18]>
Halved (x) => (y) { half = Constant <value = float {0.5}> () y = Mul(x, half) }
"""


@pytest.mark.parametrize("run", [in_onnxruntime, in_reference])
def test_subgraphs_and_functions(run: Run) -> None:
    """Functions that hold one of our operators, or call one that does, are inlined; OpenVINO reads no others."""
    proto = parser.parse_model(NESTED)
    portable = to_portable(proto)
    onnx.checker.check_model(portable, full_check=True)
    assert [function.name for function in portable.functions] == ["Halved"]
    assert {entry.domain for entry in portable.opset_import} == {"", "local"}
    assert portable.graph.input == proto.graph.input
    assert portable.graph.output == proto.graph.output
    rng = np.random.default_rng(5)
    x, rois = one_node.random_rois(rng, np.dtype(np.float32), (2, 3, 8, 8), 4, 1.0)
    for flag in (True, False):
        feeds = {"X": x, "rois": rois[None, None], "flag": np.array(flag)}
        expected = reference_evaluator(proto).run(None, dict(feeds))
        assert_equal(run(portable, feeds), expected)


OTHER_OPSETS = """
<ir_version: 10, opset_import: ["" : 22, "directml" : 2, "local" : 1]>
other (float[n, c, h, w] X, float[r, 5] rois) => (float[r, c, 2, 2] Y, float[n, c, d, e] Z)
{
    Y = local.Outer (X, rois)
    plain = directml.MaxPooling1 <window_size = [1, 1]> (X)
    Z = local.Pooled (plain)
}
<domain: "local", opset_import: ["" : 20, "local" : 1]>
Outer (x, r) => (y) { z = local.Positive (x) y = MaxRoiPool <pooled_shape = [2, 2]> (z, r) }
<domain: "local", opset_import: ["" : 18]>
Positive (x) => (y) { y = Relu(x) }
<domain: "local", opset_import: ["" : 22, "directml" : 5]>
Pooled (x) => (y) { y = directml.MaxPooling1 <window_size = [2, 2]> (x) }
"""


TWO_NODES = {
    "two lists of ROIs on a map": """
        two (float[N, 3, H, W] X, float[K, 5] some, float[L, 5] others) => (float[K, 3, a, b] Y, float[L, 3, a, b] Z)
        { Y = MaxRoiPool <pooled_shape = [2, 2]> (X, some) Z = MaxRoiPool <pooled_shape = [2, 2]> (X, others) }""",
    "two sizes": """
        two (float[N, 3, H, W] X, float[K, 5] some, float[L, 5] others) => (float[K, 3, a, b] Y, float[K, 3, c, d] Z)
        { Y = MaxRoiPool <pooled_shape = [2, 2]> (X, some) Z = MaxRoiPool <pooled_shape = [1, 3]> (X, some) }""",
    "a function that is called twice": """
        two (float[N, 3, H, W] X, float[K, 5] some, float[L, 5] others) => (float[K, 3, a, b] Y, float[L, 3, a, b] Z)
        { Y = local.Pool(X, some) Z = local.Pool(X, others) }
        <domain: "local", opset_import: ["" : 18]>
        Pool (x, r) => (y) { z = MaxRoiPool <pooled_shape = [2, 2]> (x, r) y = Relu(z) }""",
}


@pytest.mark.parametrize("is_finite", [True, False])
@pytest.mark.parametrize("text", TWO_NODES.values(), ids=TWO_NODES)
def test_two_nodes_whose_outputs_differ_in_size(text: str, is_finite: bool) -> None:
    """ONNX Runtime gives one output's memory to another if its inferred shape has the same symbols."""
    proto = parser.parse_model(f'<ir_version: 10, opset_import: ["" : 18, "local" : 1]> {text}')
    portable = to_portable(proto)
    onnx.checker.check_model(portable, full_check=True)
    x, rois = one_node.random_rois(np.random.default_rng(5), np.dtype(np.float32), (2, 3, 8, 8), 5, 1.0)
    if not is_finite:
        x[0, 0, 3] = np.nan
    feeds = {"X": x, "some": rois[:3], "others": rois[3:]}
    expected = onnx_maxpool.load(proto).run(None, feeds)
    for level in (ort.GraphOptimizationLevel.ORT_DISABLE_ALL, ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
        options = ort.SessionOptions()
        options.graph_optimization_level = level
        session = ort.InferenceSession(portable.SerializeToString(), options, providers=["CPUExecutionProvider"])
        assert_equal(session.run(None, feeds), expected)


@pytest.mark.parametrize("only", [None, "MaxRoiPool", "MaxPooling1"])
def test_functions_that_import_other_opsets(only: str | None) -> None:
    """Those that hold our operators are converted to the model's opset, others stay."""
    proto = parser.parse_model(OTHER_OPSETS)
    portable = to_portable(proto, only=only)
    kept = {"MaxRoiPool": ["Positive", "Pooled"], "MaxPooling1": ["Outer", "Positive"], None: ["Positive"]}
    assert [function.name for function in portable.functions] == kept[only]
    x, rois = one_node.random_rois(np.random.default_rng(2), np.dtype(np.float32), (2, 3, 8, 8), 4, 1.0)
    feeds = {"X": x, "rois": rois}
    for model in (proto, portable):
        session = onnx_maxpool.load(model)
        assert_equal(session.run(None, feeds), reference_evaluator(proto).run(None, dict(feeds)))
    if only is None:
        assert_equal(in_onnxruntime(portable, feeds), session.run(None, feeds))


DOMAIN_OF_A_FUNCTION = """
<ir_version: 10, opset_import: ["" : 22, "local" : 1]>
lacking (float[n, c, h, w] X, int64[2] sizes) => (float[n, c, a, b] Y) { Y = local.Pooled (X, sizes) }
<domain: "local", opset_import: ["org.openvinotoolkit" : 8]>
Pooled (x, s) => (y) { y = org.openvinotoolkit.AdaptiveMaxPool (x, s) }
"""


def test_a_domain_that_a_function_alone_imports() -> None:
    """ONNX asks no more of a model."""
    proto = parser.parse_model(DOMAIN_OF_A_FUNCTION)
    feeds = {"X": np.random.default_rng(4).standard_normal((1, 2, 5, 7), np.float32), "sizes": np.array([2, 3])}
    expected = reference_evaluator(proto).run(None, dict(feeds))
    for session in (onnx_maxpool.load(proto), onnx_maxpool.load(proto, implementation="python")):
        assert_equal(session.run(None, feeds), expected)
    assert_equal(in_onnxruntime(to_portable(proto), feeds), expected)


def test_the_given_model_stays_and_the_weights_go_along(tmp_path: Path) -> None:
    weights = np.random.default_rng(1).standard_normal((1, 8, 40, 40)).astype(np.float32)
    proto = one_node.roi_model("float", pooled_shape=(2, 2))
    del proto.graph.input[0]
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "X"))
    before = proto.SerializeToString()
    rois = np.array([[0, 0, 0, 30, 30]], np.float32)
    expected = [one_node.reference_rois(one_node.roi_model("float", pooled_shape=(2, 2)), weights, rois)]
    path = tmp_path / "external.onnx"
    copy = onnx.ModelProto.FromString(before)
    onnx.save_model(copy, path, save_as_external_data=True, location="weights", size_threshold=0)
    for given in (proto, before, path):
        assert_equal(in_onnxruntime(to_portable(given), {"rois": rois}), expected)
    assert proto.SerializeToString() == before


def test_only_the_named_operators() -> None:
    text = """
    <ir_version: 10, opset_import: ["" : 18, "directml" : 5]>
    two (float[n, c, h, w] X, float[r, 5] rois) => (float[r, c, a, b] Y, float[n, c, d, e] Z)
    {
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        Z = directml.MaxPooling1 <window_size = [2, 2]> (X)
    }
    """
    proto = parser.parse_model(text)
    kept = to_portable(proto, only=["MaxRoiPool"])
    assert [node.op_type for node in kept.graph.node if node.domain == "directml"] == ["MaxPooling1"]
    assert not any(node.op_type == "MaxRoiPool" for node in kept.graph.node)
    assert to_portable(proto, only=[]) == proto
    for given in ("MaxRoiPool", iter(["MaxRoiPool"])):
        assert to_portable(proto, only=given) == kept


def test_a_branch_of_a_constant_if() -> None:
    """In ONNX Runtime without graph optimizations: docs/troubleshooting.md says what they do to it."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[1,1,4,4] X, float[2,5] rois) => (float[2,1,1,1] Y) {
            yes = Constant <value = bool {1}> ()
            Y = If (yes) <
                then_branch = a () => (float[2,1,1,1] b) { b = MaxRoiPool <pooled_shape = [1, 1]> (X, rois) },
                else_branch = c () => (float[2,1,1,1] d) {
                    d = MaxRoiPool <pooled_shape = [1, 1], spatial_scale = 0.5> (X, rois)
                }
            >
        }""")
    inputs = {"X": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4), "rois": np.array([[0, 0, 0, 2, 1]] * 2, "f4")}
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(to_portable(model).SerializeToString(), options)
    (y,) = session.run(None, inputs)
    assert y.ravel().tolist() == [6, 6]
