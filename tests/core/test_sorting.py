"""The order of a graph's nodes. That each form of a model takes them in any order: adapters/test_model_structure.py."""

from __future__ import annotations

from onnx import helper, parser

from onnx_maxpool.graph.sorting import sort_nodes


def test_nodes_in_order_stay_whatever_a_subgraph_calls_its_values() -> None:
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 17]>
        g (float[2] X, bool c) => (float[2] Y) {
            z = If (c) <
                then_branch = a () => (float[2] o) { t = Neg (X)  o = Neg (t) },
                else_branch = b () => (float[2] p) { p = Neg (X) }
            >
            t = Abs (z)
            Y = Neg (t)
        }""")
    before = model.SerializeToString()
    sort_nodes(model.graph)
    assert model.SerializeToString() == before


def test_long_chains_are_sorted_soon() -> None:
    """Each node reads the one behind it."""
    nodes = [helper.make_node("Neg", [f"v{i + 1}"], [f"v{i}"]) for i in range(20_000)]
    graph = helper.make_graph(nodes, "g", [], [])
    sort_nodes(graph)
    assert [node.output[0] for node in graph.node] == [f"v{i}" for i in reversed(range(20_000))]


def test_nodes_that_read_each_other_stay() -> None:
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 17]>
        g (float[2] X) => (float[2] Y) { a = Add (X, b)  b = Neg (a)  Y = Neg (X) }""")
    sort_nodes(model.graph)
    assert [node.output[0] for node in model.graph.node] == ["a", "b", "Y"]
