"""What `to_portable(control_flow=False)` takes for a constant of the model: an output size that it must know."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper, parser
from support.one_node import Array, assert_same

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.adapters.portable.constants import LARGEST_FOLDED, initializers, with_nodes

X = np.random.default_rng(0).standard_normal((1, 2, 9, 11)).astype(np.float32)

OF_SIZE = """<ir_version: 10, opset_import: ["": 21, "org.openvinotoolkit": 8]>
    g (float[1,2,9,11] X) => (float[a,b,c,d] Y) {{ {nodes} Y = org.openvinotoolkit.AdaptiveMaxPool (X, size) }}"""


def same_without_control_flow(model: onnx.ModelProto) -> None:
    (expected,) = onnx_maxpool.load(model).run(None, {"X": X})
    converted = onnx_maxpool.to_portable(model, control_flow=False)
    assert converted.ir_version == model.ir_version
    session = ort.InferenceSession(converted.SerializeToString(), providers=["CPUExecutionProvider"])
    assert_same(session.run(None, {"X": X})[0], expected)


@pytest.mark.parametrize(
    "nodes",
    [
        "size = Constant <value = int64[2] {3, 4}> ()",
        "size = Constant <value_ints = [3, 4]> ()",
        "a = Constant <value_ints = [3, 4]> ()  size = Identity (a)",
        "a = Constant <value_floats = [3.0, 4.0]> ()  size = Cast <to = 7> (a)",
        "a = Constant <value_ints = [3]> ()  b = Constant <value_ints = [4]> ()  size = Concat <axis = 0> (a, b)",
    ],
)
def test_sizes_from_nodes(nodes: str) -> None:
    same_without_control_flow(parser.parse_model(OF_SIZE.format(nodes=nodes)))


def of_input(ir_version: int) -> onnx.ModelProto:
    model = parser.parse_model(
        """<ir_version: 3, opset_import: ["": 17, "org.openvinotoolkit": 8]>
        g (float[1,2,9,11] X, int64[2] size) => (float[a,b,c,d] Y) {
            Y = org.openvinotoolkit.AdaptiveMaxPool (X, size)
        }"""
    )
    model.graph.initializer.append(numpy_helper.from_array(np.array([3, 4]), "size"))
    model.ir_version = ir_version
    return model


def test_an_initializer_that_has_to_be_an_input_too() -> None:
    """Before IR version 4 each has. From then on it is a default, which a run may overrule."""
    same_without_control_flow(of_input(3))
    with pytest.raises(OperatorError, match="output_size is computed, expected a constant of the model"):
        onnx_maxpool.to_portable(of_input(4), control_flow=False)


def test_sizes_inside_subgraphs_and_functions() -> None:
    """A branch sees the constants around it, but no others of the same name."""
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 21, "local": 1, "org.openvinotoolkit": 8]>
        g (float[1,2,9,11] X) => (float[a,b,c,d] Y) {
            four = Constant <value_ints = [4]> ()
            none = ReduceSum <keepdims = 0> (X)
            yes = Greater (none, none)
            Y = If (yes) <
                then_branch = p () => (float[a,b,c,d] py) {
                    three = Constant <value_ints = [3]> ()
                    size = Concat <axis = 0> (three, four)
                    py = local.pool (X, size)
                },
                else_branch = q () => (float[a,b,c,d] qy) {
                    three = Constant <value_ints = [1]> ()
                    size = Concat <axis = 0> (three, four)
                    qy = local.pool (X, size)
                }
            >
        }
        <domain: "local", opset_import: ["": 21, "org.openvinotoolkit": 8]>
        pool (x, s) => (y) { size = Identity (s)  y = org.openvinotoolkit.AdaptiveMaxPool (x, size) }""")
    same_without_control_flow(model)


def folded(nodes: str, **known: Array) -> Array | None:
    """The value `y` of a graph that sees `known`."""
    text = f'<ir_version: 10, opset_import: ["": 21]> g (float[1] X) => (float[1] y) {{ {nodes} }}'
    return with_nodes(known, parser.parse_model(text).graph).get("y")


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("y = Constant <value_int = 3> ()", np.array(3)),
        ("y = Constant <value_float = 0.5> ()", np.array(0.5, np.float32)),
        ("y = Constant <value_floats = [0.5, 2.0]> ()", np.array([0.5, 2], np.float32)),
        ("y = Cast <to = 6> (a)", np.array([1, -2], np.int32)),
        ("y = Cast <to = 9> (a)", np.array([True, True])),
        ("y = Concat <axis = -1> (a, a)", np.array([1.5, -2, 1.5, -2], np.float32)),
    ],
)
def test_values_of_nodes(nodes: str, expected: Array) -> None:
    actual = folded(nodes, a=np.array([1.5, -2], np.float32))
    assert actual is not None
    assert actual.dtype == expected.dtype
    assert actual.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("nodes", "known"),
    [
        ("y = Cast <to = 6> (a)", {"a": np.array([np.nan], np.float32)}),
        ("y = Cast <to = 6> (a)", {"a": np.array([2.0**31], np.float32)}),
        ("y = Cast <to = 10> (a)", {"a": np.array([0.1])}),
        ("y = Cast <to = 16> (a)", {"a": np.array([0.5], np.float32)}),
        ("y = Concat <axis = 0> (a, b)", {"a": np.array([1])}),
        ("y = Concat <axis = 0> (a, b)", {"a": np.array([1]), "b": np.array(1)}),
        ("y = Concat <axis = 0> (a, b)", {"a": np.array([1]), "b": np.array([1.0])}),
        ("y = Identity (a)", {"a": np.zeros(LARGEST_FOLDED + 1)}),
        ("y = Neg (a)", {"a": np.array([1]), "y": np.array([1])}),
        ("y = Cast (a)", {"a": np.array([1])}),
        ("y = Cast <to = 99> (a)", {"a": np.array([1])}),
        ("y = Cast <to = 19> (a)", {"a": np.array([1e6], np.float32)}),
        ("y = Cast <to = 7> ()", {}),
        ("y = Identity ()", {}),
        ("y = Constant <value_int = 1> (a)", {"a": np.array([1])}),
        ('y = Constant <value_string = "3"> ()', {}),
        ("y = local.Identity (a)", {"a": np.array([1])}),
    ],
)
def test_what_is_not_computed(nodes: str, known: dict[str, Array]) -> None:
    """Casts that runtimes do in different ways, what is large, and what a runtime rejects."""
    assert folded(nodes, **known) is None


def test_data_in_another_file_is_not_known() -> None:
    graph = of_input(3).graph
    assert list(initializers(graph, 3)) == ["size"]
    graph.initializer[0].external_data.add(key="location", value="weights")
    assert not initializers(graph, 3)
