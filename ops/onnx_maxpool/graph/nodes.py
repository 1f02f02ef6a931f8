"""Find our operators in a model: in its graph, in subgraphs and in local functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import onnx

from onnx_maxpool.graph.scopes import Scope
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
    scope: Scope | None = None
    """The graph that it stands in; None where it stands right in a function."""

    @property
    def types(self) -> Mapping[str, onnx.TypeProto.Tensor]:
        """The types of the values that it sees, by name, as far as its graph and those around it declare them.

        A function declares none: only its callers know them.
        """
        return self.scope.types if self.scope is not None and self.place.startswith("graph") else {}

    @property
    def label(self) -> str:
        """How messages name it: `node 'roi' in graph`; a node without a name goes by its first output."""
        name = self.node.name or next(iter(self.node.output), "")
        return f"node '{name}' in {self.place}"


@dataclass(frozen=True)
class Resolver:
    """Tells which of our operators a node's is, if any."""

    opsets: dict[str, int]
    """By domain, of the graph or the function that the node stands in."""
    own_functions: frozenset[FunctionKey]
    """Of the model."""

    @staticmethod
    def of_model(model: onnx.ModelProto) -> Resolver:
        """For the nodes of a model's graph and of its subgraphs."""
        return Resolver(_opsets(model.opset_import), own_functions(model))

    def operator_node(self, node: onnx.NodeProto, place: str, scope: Scope | None) -> OperatorNode | None:
        """The node at that place, if its operator is one of ours."""
        domain = canonical_domain(node.domain)
        if not versions_of(domain, node.op_type) or called(node) in self.own_functions:
            return None
        opset = self.opsets.get(domain)
        return OperatorNode(node, place, opset, resolve(domain, node.op_type, opset or 0), scope)


def key_of(function: onnx.FunctionProto) -> FunctionKey:
    """By which calls find a function."""
    return function.domain, function.name, function.overload


def called(node: onnx.NodeProto) -> FunctionKey:
    """The key of the function that a node calls, if there is one."""
    return node.domain, node.op_type, node.overload


def operator_nodes(model: onnx.ModelProto) -> Iterator[OperatorNode]:
    """Each of our operators in a model, outermost first, functions after the graph.

    Calls of a function of the model's own that stands in an operator's place are not among them.
    """
    resolver = Resolver.of_model(model)
    yield from _nodes(model.graph.node, resolver, "graph", Scope(model.graph))
    for function in model.functions:
        place = f"function {function.domain}::{function.name}"
        within = Resolver(_opsets(function.opset_import), resolver.own_functions)
        yield from _nodes(function.node, within, place, None)


def own_functions(model: onnx.ModelProto) -> frozenset[FunctionKey]:
    """Those of the model's local functions that stand in the place of one of our operators."""
    keys = map(key_of, model.functions)
    return frozenset(key for key in keys if key[:2] in REPLACEABLE)


def _opsets(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    return {canonical_domain(entry.domain): entry.version for entry in imports}


def canonical_domain(domain: str) -> str:
    """`ai.onnx` has two names."""
    return "" if domain == "ai.onnx" else domain


def write_canonical_domains(model: onnx.ModelProto) -> None:
    """Call ai.onnx `""` everywhere: ONNX's inference, inliner and evaluator do not know its other name.

    Of two imports of one domain the last counts, as in ONNX Runtime. The model is changed.
    """
    for part in (model, *model.functions):
        if any(entry.domain != canonical_domain(entry.domain) for entry in part.opset_import):
            opsets = _opsets(part.opset_import)
            part.ClearField("opset_import")
            part.opset_import.extend(onnx.helper.make_opsetid(*entry) for entry in opsets.items())
    for part in (*model.functions, *model_nodes(model)):
        if part.domain != canonical_domain(part.domain):
            part.ClearField("domain")


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


def model_nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """The nodes of the graph, of the functions and of their subgraphs."""
    yield from every_node(model.graph.node)
    for function in model.functions:
        yield from every_node(function.node)


def names(graph: onnx.GraphProto) -> Iterator[str]:
    """Of the values and nodes in a graph and its subgraphs."""
    for part in (graph.input, graph.output, graph.initializer, graph.value_info):
        yield from (value.name for value in part)
    yield from (tensor.values.name for tensor in graph.sparse_initializer)
    for node in graph.node:
        yield node.name
        yield from node.input
        yield from node.output
        for _, subgraph in subgraphs(node):
            yield from names(subgraph)


def inside(place: str, node: onnx.NodeProto, attribute: str) -> str:
    """The place of what stands in a node's graph."""
    return f"{place}, '{node.name or node.op_type}' {attribute}"


def _nodes(
    nodes: Iterable[onnx.NodeProto], resolver: Resolver, place: str, scope: Scope | None
) -> Iterator[OperatorNode]:
    for node in nodes:
        found = resolver.operator_node(node, place, scope)
        if found is not None:
            yield found
        for attribute, graph in subgraphs(node):
            within = inside(place, node, attribute)
            yield from _nodes(graph.node, resolver, within, Scope(graph, within, scope))
