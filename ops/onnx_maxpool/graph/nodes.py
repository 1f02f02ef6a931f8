"""Find our operators in a model: in its graph, in subgraphs and in local functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import onnx

from onnx_maxpool.operators.registry import OperatorVersion, newest_versions, resolve, versions_of

FunctionKey = tuple[str, str, str]
"""By which a call finds its local function: domain, name, overload."""

REPLACEABLE = frozenset((row.domain, row.name) for row in newest_versions() if row.domain)
"""Domains and names of our operators that a model may give to a function of its own. Not in `ai.onnx`: there every
runtime takes the operator."""


@dataclass(frozen=True)
class OperatorNode:
    """One node whose operator is one of ours."""

    node: onnx.NodeProto
    place: str
    """Where it stands: `graph`, `graph, 'loop' body`, `function local::pool`."""
    opset: int | None
    """The version of the operator's domain that its graph or function imports; None where it imports none."""
    version: OperatorVersion | None
    """The version that `opset` selects; None where the opset is older than the operator."""

    @property
    def label(self) -> str:
        """How messages name it: `node 'roi' in graph`; a node without a name goes by its first output."""
        name = self.node.name or next(iter(self.node.output), "")
        return f"node '{name}' in {self.place}"


@dataclass(frozen=True)
class _Scope:
    """What decides what a node's operator is."""

    opsets: dict[str, int]
    """By domain, of the graph or the function that the node stands in."""
    own_functions: frozenset[FunctionKey]
    """Of the model."""


def operator_nodes(model: onnx.ModelProto) -> Iterator[OperatorNode]:
    """Each of our operators in a model, outermost first, functions after the graph.

    Calls of a function of the model's own that stands in an operator's place are not among them.
    """
    own = own_functions(model)
    yield from _nodes(model.graph.node, "graph", _Scope(_opsets(model.opset_import), own))
    for function in model.functions:
        place = f"function {function.domain}::{function.name}"
        yield from _nodes(function.node, place, _Scope(_opsets(function.opset_import), own))


def own_functions(model: onnx.ModelProto) -> frozenset[FunctionKey]:
    """Those of the model's local functions that stand in the place of one of our operators."""
    keys = ((function.domain, function.name, function.overload) for function in model.functions)
    return frozenset(key for key in keys if key[:2] in REPLACEABLE)


def _opsets(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    return {canonical_domain(entry.domain): entry.version for entry in imports}


def canonical_domain(domain: str) -> str:
    """`ai.onnx` has two names."""
    return "" if domain == "ai.onnx" else domain


def subgraphs(node: onnx.NodeProto) -> Iterator[tuple[str, onnx.GraphProto]]:
    """A node's graphs, each with the name of the attribute that holds it."""
    for attribute in node.attribute:
        if attribute.HasField("g"):
            yield attribute.name, attribute.g
        for graph in attribute.graphs:
            yield attribute.name, graph


def every_node(nodes: Iterable[onnx.NodeProto]) -> Iterator[onnx.NodeProto]:
    """The nodes and those of their subgraphs."""
    for node in nodes:
        yield node
        for _, graph in subgraphs(node):
            yield from every_node(graph.node)


def names(graph: onnx.GraphProto) -> Iterator[str]:
    """Of the values and nodes in a graph and its subgraphs."""
    for part in (graph.input, graph.output, graph.initializer):
        yield from (value.name for value in part)
    yield from (tensor.values.name for tensor in graph.sparse_initializer)
    for node in graph.node:
        yield node.name
        yield from node.input
        yield from node.output
        for _, subgraph in subgraphs(node):
            yield from names(subgraph)


def _operator_node(node: onnx.NodeProto, place: str, scope: _Scope) -> OperatorNode | None:
    domain = canonical_domain(node.domain)
    if not versions_of(domain, node.op_type) or (node.domain, node.op_type, node.overload) in scope.own_functions:
        return None
    opset = scope.opsets.get(domain)
    return OperatorNode(node, place, opset, resolve(domain, node.op_type, opset or 0))


def inside(place: str, node: onnx.NodeProto, attribute: str) -> str:
    """The place of what stands in a node's graph."""
    return f"{place}, '{node.name or node.op_type}' {attribute}"


def _nodes(nodes: Iterable[onnx.NodeProto], place: str, scope: _Scope) -> Iterator[OperatorNode]:
    for node in nodes:
        found = _operator_node(node, place, scope)
        if found is not None:
            yield found
        for attribute, graph in subgraphs(node):
            yield from _nodes(graph.node, inside(place, node, attribute), scope)


def replace_operator_nodes(model: onnx.ModelProto, replacement: Callable[[OperatorNode], list[onnx.NodeProto]]) -> None:
    """Put the nodes that `replacement` gives in the place of each of our operators in the graph and its subgraphs."""
    scope = _Scope(_opsets(model.opset_import), own_functions(model))
    _replace(model.graph, "graph", scope, replacement)


def _replace(
    graph: onnx.GraphProto,
    place: str,
    scope: _Scope,
    replacement: Callable[[OperatorNode], list[onnx.NodeProto]],
) -> None:
    nodes: list[onnx.NodeProto] = []
    for node in graph.node:
        found = _operator_node(node, place, scope)
        nodes.extend(replacement(found) if found is not None else [node])
        for attribute, subgraph in subgraphs(node):
            _replace(subgraph, inside(place, node, attribute), scope, replacement)
    kept = onnx.GraphProto(node=nodes)  # copies: what is cleared may not be read again
    graph.ClearField("node")
    graph.node.extend(kept.node)
