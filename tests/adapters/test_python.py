"""The reference as Python operators inside ONNX Runtime sessions: models, types, opsets, threads, others' operators."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from builders import MODELS, Model
from onnx import helper, parser
from onnxruntime_extensions import get_library_path
from support.one_node import Array, assert_same, roi_model
from support.processes import run_python
from support.python_operators import ROI_FEEDS, ROIS, X, outputs

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.adapters.python.calls import DOMAIN
from onnx_maxpool.difference import first_difference
from onnx_maxpool.graph.nodes import operator_nodes
from onnx_maxpool.samples.fast_rcnn import HeadSize, fast_rcnn_head, fast_rcnn_head_inputs, write_weights

pytestmark = pytest.mark.slow("runs operators in Python, which onnxruntime-extensions starts slowly")

InvalidArgument = ort.capi.onnxruntime_pybind11_state.InvalidArgument

SMALL = [model for model in MODELS.values() if not model.has_large_weights]


def assert_equal_outputs(proto: Any, feeds: dict[str, Array], **options: Any) -> list[Array]:
    """The Python operators' outputs, which are the native library's."""
    native = outputs(proto, feeds, "native", **options)
    python = outputs(proto, feeds, "python", **options)
    assert [first_difference(*pair) for pair in zip(native, python, strict=True)] == [None] * len(native)
    return python


@pytest.mark.parametrize("model", SMALL, ids=lambda model: model.name)
def test_the_whole_corpus(model: Model) -> None:
    """Every operator in every version, type and combination of outputs, and those in subgraphs and functions."""
    proto = model.builder()
    before = proto.SerializeToString()
    rewritten = onnx_maxpool.to_python_ops(proto)
    assert proto.SerializeToString() == before
    assert not list(operator_nodes(rewritten))
    assert any(entry.domain == DOMAIN for entry in rewritten.opset_import)
    assert list(rewritten.graph.input) == list(proto.graph.input)
    assert list(rewritten.graph.output) == list(proto.graph.output)
    assert_equal_outputs(proto, model.inputs())


@pytest.mark.parametrize("model", SMALL, ids=lambda model: model.name)
def test_a_session_of_ones_own(model: Model) -> None:
    rewritten = onnx_maxpool.to_python_ops(model.builder())
    options = ort.SessionOptions()
    onnx_maxpool.register_python_ops(options)
    session = ort.InferenceSession(rewritten.SerializeToString(), options, ["CPUExecutionProvider"])
    expected = outputs(model.builder(), model.inputs(), "native")
    actual = onnx_maxpool.run(session, model.inputs())
    assert [first_difference(*pair) for pair in zip(expected, actual, strict=True)] == [None] * len(expected)


def test_a_fast_rcnn_head_with_external_weights(tmp_path: Path) -> None:
    size = HeadSize(channels=8, hidden=96, classes=3, name="small_head")
    path = tmp_path / "small_head.onnx"
    path.write_bytes(fast_rcnn_head(size).SerializeToString())
    write_weights(tmp_path, size)
    scores, boxes = assert_equal_outputs(path, fast_rcnn_head_inputs(size))
    assert scores.any()
    assert boxes.any()


def test_a_model_without_our_operators() -> None:
    proto = parser.parse_model('<ir_version: 10, opset_import: ["": 22]> g (float[N] x) => (float[N] y) {y = Relu(x)}')
    assert onnx_maxpool.to_python_ops(proto) == proto
    assert_equal_outputs(proto, {"x": np.array([-1, 1], np.float32)})


@pytest.mark.parametrize("opset", [1, 5, 11, 21, 22])
def test_opsets(opset: int) -> None:
    assert_equal_outputs(roi_model(opset=opset), ROI_FEEDS)


def test_a_scale_of_more_than_six_digits() -> None:
    """onnxruntime-extensions passes floats on with six: 45 * 0.7 then rounds the other way, and 1/3 is 0.333333."""
    rois = np.array([[0, 0, 0, 45, 45], [1, 0, 0, 4.5 * 2**20, 4.5]], np.float32)
    for scale in (0.7, 1 / 3, 2.0**-20):
        assert_equal_outputs(roi_model(spatial_scale=scale), {"X": X, "rois": rois})


def test_bin_edges() -> None:
    """(57, 7) is a pair at which they differ (M7)."""
    proto = roi_model(pooled_shape=(1, 7))
    feeds = {
        "X": np.arange(60, dtype=np.float32).reshape(1, 1, 1, 60),
        "rois": np.array([[0, 0, 0, 56, 0]], np.float32),
    }
    (default,) = assert_equal_outputs(proto, feeds)
    (rounded,) = assert_equal_outputs(proto, feeds, bin_edges="onnx")
    (exact,) = assert_equal_outputs(proto, feeds, bin_edges="exact")
    assert (default == rounded).all()
    assert (exact != rounded).any()


FUNCTION = """<ir_version: 10, opset_import: ["": 22, "l": 1]>
g (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,4,4] Y) {{ Y = l.Outer <scale = 0.75> (X, rois) }}
<domain: "l", opset_import: ["": {outer}, "l": 1]>
Outer <scale> (X, rois) => (Y) {{ Y = l.Inner <s: float = @scale> (X, rois) }}
<domain: "l", opset_import: ["": {inner}]>
Inner <s> (X, rois) => (Y) {{ Y = MaxRoiPool <pooled_shape = [4, 4], spatial_scale: float = @s> (X, rois) }}
"""


@pytest.mark.parametrize(("outer", "inner"), [(22, 22), (22, 18), (18, 23)])
def test_functions_of_functions_and_of_other_opsets(outer: int, inner: int) -> None:
    assert_equal_outputs(parser.parse_model(FUNCTION.format(outer=outer, inner=inner)), ROI_FEEDS)


@pytest.mark.parametrize(("x", "one"), [("[N,C,H,W]", "[R,5]"), ("[]", "[R,5]"), ("[N,C,H,W]", "[]"), ("[]", "[]")])
def test_a_scan_body_without_shapes(x: str, one: str) -> None:
    """ONNX Runtime wants the rank of a Scan's outputs before it runs. An ROI operator's is 4, whatever it gets."""
    body = "MaxRoiPool <pooled_shape = [2, 2]> (X, one)"
    proto = parser.parse_model(f"""<ir_version: 10, opset_import: ["": 22]>
g (float{x} X, float[T,R,5] rois) => (float[] Y) {{
    Y = Scan <num_scan_inputs = 1, body = b (float{one} one) => (float[] p) {{ p = {body} }}> (rois)
}}""")
    assert_equal_outputs(proto, {"X": X, "rois": np.stack([ROIS, ROIS])})


@pytest.mark.parametrize("batch", [0, 1])
def test_constant_inputs(batch: int) -> None:
    """ONNX Runtime folds constants when it makes the session; what is rejected then, it asks for again when it runs."""
    proto = parser.parse_model(f"""<ir_version: 10, opset_import: ["": 22]>
g () => (float[R,1,2,2] Y) {{
    X = Constant <value = float[1,1,2,2] {{1, 2, 3, 4}}> ()
    rois = Constant <value = float[1,5] {{{batch}, 0, 0, 1, 1}}> ()
    Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
}}""")
    session = onnx_maxpool.load(proto, implementation="python")
    if not batch:
        assert session.run(None, {})[0].ravel().tolist() == [1, 2, 3, 4]
        return
    with pytest.raises(InvalidArgument, match="rois row 0 has batch 1, expected a batch number from 0 to 0"):
        session.run(None, {})


def test_names_that_are_taken() -> None:
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["": 22]>
g (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y, float[R,C,2,2] Y_message, float[R,C,2,2] Y_python) {
    [pool] Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    [pool_python] Y_python = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    Y_message = Relu (Y)
}""")
    assert_equal_outputs(proto, ROI_FEEDS)


def test_names_that_only_a_type_is_left_of() -> None:
    """Whoever takes a value out of a model may leave what the model declares of it."""
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["": 22]>
g (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y) <int8[3] Y_python, int8[3] Y_message> {
    [pool] Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
}""")
    assert_equal_outputs(proto, ROI_FEEDS)


BEHIND_GELU = """<ir_version: 10, opset_import: ["": 22, "com.microsoft": 1]>
g (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y) {{
    gelu = com.microsoft.Gelu (X)
    wide = com.microsoft.Gelu (rois)
    y = MaxRoiPool <pooled_shape = [2, 2]> (gelu, {rois})
    Y = com.microsoft.Gelu (y)
}}"""
"""ONNX does not know the operator's outputs."""


@pytest.mark.parametrize("portable", [False, True])
def test_an_input_whose_type_is_not_known(portable: bool) -> None:
    feeds = {"X": np.nan_to_num(X, neginf=0), "rois": ROIS}
    (expected,) = onnx_maxpool.run(onnx_maxpool.load(parser.parse_model(BEHIND_GELU.format(rois="wide"))), feeds)

    def converted(proto: onnx.ModelProto) -> ort.InferenceSession:
        if portable:
            return ort.InferenceSession(onnx_maxpool.to_portable(proto).SerializeToString())
        return onnx_maxpool.load(proto, implementation="python")

    proto = parser.parse_model(BEHIND_GELU.format(rois="wide"))
    words = "^node 'y' in graph: MaxRoiPool-22: the .*type of X.* is not known, expected one that ONNX infers or value_"
    with pytest.raises(OperatorError, match=words):
        converted(proto)
    proto.graph.value_info.append(helper.make_tensor_value_info("gelu", onnx.TensorProto.FLOAT, None))
    assert_same(converted(proto).run(None, feeds)[0], expected)
    # That of the ROIs tells that of the images.
    proto = parser.parse_model(BEHIND_GELU.format(rois="rois"))
    (expected,) = onnx_maxpool.run(onnx_maxpool.load(proto), feeds)
    assert_same(converted(proto).run(None, feeds)[0], expected)


def test_bad_attributes_and_types_are_refused_before_a_session_is_made() -> None:
    for proto in (roi_model(pooled_shape=(0, 1)), roi_model("bfloat16", opset=21), roi_model(opset=0)):
        with pytest.raises(OperatorError) as from_native:
            onnx_maxpool.load(proto)
        for make in (onnx_maxpool.to_python_ops, lambda p: onnx_maxpool.load(p, implementation="python")):
            with pytest.raises(OperatorError) as from_python:
                make(proto)
            assert str(from_python.value) == str(from_native.value)


def test_registering_twice_is_harmless() -> None:
    options = ort.SessionOptions()
    for _ in range(2):
        onnx_maxpool.register_python_ops(options)
        onnx_maxpool.register(options)
        onnx_maxpool.load(roi_model(), options, implementation="python").run(None, ROI_FEEDS)
    with pytest.raises(ValueError, match="registered with bin_edges 'default'"):
        onnx_maxpool.register_python_ops(options, bin_edges="onnx")


DECLARED_AT_ONCE = """
import threading, numpy as np, onnx_maxpool
from support.one_node import roi_model
start, done = threading.Barrier(4), []
def work():
    start.wait()
    session = onnx_maxpool.load(roi_model(), implementation="python")
    done.append(session.run(None, {"X": np.ones((1, 1, 4, 4), "f"), "rois": np.zeros((1, 5), "f")}))
threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(done))
"""


def test_first_sessions_in_several_threads() -> None:
    done = run_python("-c", DECLARED_AT_ONCE)
    assert (done.returncode, done.stdout) == (0, "4\n"), done.stderr


def test_a_node_that_nobody_wrote() -> None:
    """A call that is no call fails the run, too."""
    rewritten = onnx_maxpool.to_python_ops(roi_model())
    node = next(node for node in rewritten.graph.node if node.domain == DOMAIN)
    node.attribute[0].s = b'{"operator": "Conv"}'
    options = ort.SessionOptions()
    onnx_maxpool.register_python_ops(options)
    session = ort.InferenceSession(rewritten.SerializeToString(), options, ["CPUExecutionProvider"])
    with pytest.raises(InvalidArgument, match="a Python function failed"):
        session.run(None, ROI_FEEDS)


def test_threads() -> None:
    session = onnx_maxpool.load(roi_model(), implementation="python")
    expected = session.run(None, ROI_FEEDS)[0]
    results: list[Array] = []

    def work() -> None:
        results.extend(session.run(None, ROI_FEEDS)[0] for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 80
    for result in results:
        assert_same(result, expected)


def test_options_that_have_the_extensions_already() -> None:
    options = ort.SessionOptions()
    options.register_custom_ops_library(get_library_path())
    options.log_severity_level = 4
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["": 22]>
g (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y) { Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois) }""")
    with pytest.raises(ValueError, match="the session options have onnxruntime-extensions already, expected options"):
        onnx_maxpool.load(proto, options, implementation="python")


OTHER_PYTHON_OPERATORS = """
import numpy as np, onnxruntime as ort
from onnx import parser
from onnxruntime_extensions import PyCustomOpDef, get_library_path, onnx_op
onnx_op(op_type="Mine", inputs=[PyCustomOpDef.dt_float], outputs=[PyCustomOpDef.dt_float])(lambda x: x + 1)
proto = parser.parse_model('<ir_version: 10, opset_import: ["": 22, "ai.onnx.contrib": 1]> '
                           'g (float[N] x) => (float[N] y) { y = ai.onnx.contrib.Mine (x) }')
options = ort.SessionOptions()
options.register_custom_ops_library(get_library_path())
make = lambda: ort.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
session = make()
import onnx_maxpool
onnx_maxpool.register_python_ops(ort.SessionOptions())
for each in (session, make()):
    print(each.run(None, {"x": np.zeros(2, np.float32)})[0].tolist())
"""


def test_python_operators_of_others_stay_valid() -> None:
    """In the domain ai.onnx.contrib ours would move theirs in memory, under sessions and options that point to them."""
    done = run_python("-c", OTHER_PYTHON_OPERATORS)
    assert (done.returncode, done.stdout) == (0, "[1.0, 1.0]\n[1.0, 1.0]\n"), done.stderr
