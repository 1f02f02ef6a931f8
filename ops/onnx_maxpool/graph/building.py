"""Models made from nodes and from text, with opset imports and a file format that every runtime takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import onnx
from onnx import helper

from onnx_maxpool.types import Array, element_type, tensor_type

PRODUCER = "onnx-maxpool"
LOCAL_DOMAIN = "onnx_maxpool.example"
"""The domain of the models' local functions."""
UNUSED_OPSET = 18
"""Of ai.onnx, in models without a node of that domain."""


class Declared(NamedTuple):
    """What a graph declares of an input or output."""

    type: str
    """The element type, by ONNX's name."""
    dims: Sequence[int | str | None] | None = None
    """None for a shape that is left open."""


def as_array(array: Array) -> Declared:
    """The type and the shape of an array."""
    return Declared(element_type(array), array.shape)


def one_node(
    node: onnx.NodeProto, values: Mapping[str, Declared], opsets: Mapping[str, int], *, name: str = "one_node"
) -> onnx.ModelProto:
    """A model of `one_node_graph`, finished."""
    return finished(one_node_graph(node, values, name), opsets)


def one_node_graph(node: onnx.NodeProto, values: Mapping[str, Declared], name: str) -> onnx.GraphProto:
    """A graph of one node, which gives what the node gives, and whose inputs are those of the node in `values`.

    An output that is not in `values` has neither type nor shape.
    """
    inputs = [value for value in dict.fromkeys(node.input) if value in values]
    outputs = [value for value in node.output if value]
    declared = [_value(value, values.get(value)) for value in (*inputs, *outputs)]
    return helper.make_graph([node], name, declared[: len(inputs)], declared[len(inputs) :])


def _value(name: str, declared: Declared | None) -> onnx.ValueInfoProto:
    if declared is None:
        return helper.make_empty_tensor_value_info(name)
    return helper.make_tensor_value_info(name, tensor_type(declared.type), declared.dims)


def finished(graph: onnx.GraphProto, opsets: Mapping[str, int]) -> onnx.ModelProto:
    """A model of `graph` with the given opset imports (domain to version), and one of ai.onnx in any case.

    Where a model imports no ai.onnx, ONNX Runtime takes the newest opset that it knows. With a library that has
    operators in that domain this is opset 1000, of which the optimizer of transpositions warns, and in which nodes that
    come out of a function are not found.
    """
    imported = {"": UNUSED_OPSET, **opsets}
    imports = [helper.make_opsetid(domain, version) for domain, version in imported.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=ir_version(imported[""]), producer_name=PRODUCER)


def parsed(
    text: str,
    initializers: Mapping[str, Array] | None = None,
    *,
    opset: int = 22,
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model from ONNX's textual syntax (graph, then functions), with `initializers` added to the graph.

    `text` starts at the graph's name; the header is written here, with the opset imports of ai.onnx and of `domains`.
    Raises onnx.parser.ParseError.
    """
    imports = {"": opset, LOCAL_DOMAIN: 1, **(domains or {})}
    listed = ", ".join(f'"{domain}": {version}' for domain, version in imports.items())
    header = f"<ir_version: {ir_version(opset)}, opset_import: [{listed}]>"
    model = onnx.parser.parse_model(header + text)
    model.producer_name = PRODUCER
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(value, name) for name, value in (initializers or {}).items()
    )
    if not model.functions:
        del model.opset_import[1]
    return model


def ir_version(opset: int) -> int:
    """The file format's version: fixed, and old enough for every runtime that takes the opset."""
    return 8 if opset <= 18 else 10
