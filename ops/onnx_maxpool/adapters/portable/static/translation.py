"""A node in a model as standard nodes without control flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from onnx import NodeProto, TypeProto, helper

from onnx_maxpool.adapters.portable.library import too_old
from onnx_maxpool.adapters.portable.static.operators import MAX_POOL, Call, Outputs, max_pool, translation
from onnx_maxpool.adapters.portable.static.sizes import OpenShapesError
from onnx_maxpool.adapters.portable.static.tensors import Graph, Value
from onnx_maxpool.errors import OperatorError
from onnx_maxpool.facts import INDEX_ATTRIBUTE
from onnx_maxpool.graph.checking import node_attributes
from onnx_maxpool.graph.nodes import canonical_domain
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.definition import index_type
from onnx_maxpool.operators.registry import OperatorVersion
from onnx_maxpool.operators.schemas import dims_of
from onnx_maxpool.types import Array, BinEdges, dtype_of, type_name

OLDEST_OPSET = 13
"""Of ai.onnx: it brought the axes of ReduceSum as an input, which newer ones have too."""

Types = Mapping[str, "TypeProto.Tensor"]


def has_index(node: NodeProto) -> bool:
    """Whether a node is ai.onnx's MaxPool with its second output."""
    return (
        (canonical_domain(node.domain), node.op_type) == ("", MAX_POOL)
        and len(node.output) > 1
        and bool(node.output[1])
    )


def check_opset(opset: int) -> None:
    """Raise OperatorError for an opset of ai.onnx that is too old."""
    if opset < OLDEST_OPSET:
        raise too_old(opset, OLDEST_OPSET, " without control flow")


def translate(
    node: NodeProto,
    version: OperatorVersion,
    types: Types,
    constants: Mapping[str, Array],
    bin_edges: BinEdges | None,
    prefix: str,
) -> list[NodeProto]:
    """One of our operators. Raises OperatorError for shapes that are refused, and OpenShapesError for unknown ones."""
    definition = operator(version.name)
    attributes = definition.complete(version, node_attributes(node, version))
    shapes = [dims_of(types[name]) if name in types else None for name in node.input]
    definition.check_shapes(shapes, attributes)
    index = np.dtype(index_type(version, attributes)) if len(node.output) > 1 and node.output[1] else None
    attributes.pop(INDEX_ATTRIBUTE, None)
    call = Call(
        version.name,
        _values(version.title, node, list(definition.inputs), types),
        [constants.get(name) for name in node.input],
        attributes,
        index,
        bin_edges,
    )
    return _written(node, call, translation(version), prefix)


def translate_max_pool(node: NodeProto, types: Types, prefix: str) -> list[NodeProto]:
    """ai.onnx's MaxPool with its index."""
    attributes = {attribute.name: _plain(helper.get_attribute_value(attribute)) for attribute in node.attribute}
    inputs = _values(MAX_POOL, node, ["X"], types)
    call = Call(MAX_POOL, inputs, [None], attributes, np.dtype(np.int64))
    return _written(node, call, max_pool, prefix)


def _written(node: NodeProto, call: Call, write: Callable[[Graph, Call], Outputs], prefix: str) -> list[NodeProto]:
    graph = Graph(prefix)
    for tensor, name in zip(write(graph, call), node.output, strict=False):
        if name:
            graph.output(tensor, name)
    return graph.nodes


def _values(title: str, node: NodeProto, names: Sequence[str], types: Types) -> list[Value]:
    """The inputs with their shapes. Raises OperatorError for unknown types, and OpenShapesError for unknown shapes."""
    values = []
    open_inputs = {}
    for name, value in zip(names, node.input, strict=True):
        if value not in types or not types[value].elem_type:
            raise OperatorError(
                f"{title}: the type of {name} is not known, expected one that ONNX infers or value_info declares"
            )
        dims = dims_of(types[value])
        known = tuple(dim for dim in dims or () if isinstance(dim, int))
        if dims is None or len(known) < len(dims):
            open_inputs[name] = (value, dims)
        values.append(Value(value, known, dtype_of(type_name(types[value].elem_type))))
    if open_inputs:
        raise OpenShapesError(title, open_inputs)
    return values


def _plain(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value
