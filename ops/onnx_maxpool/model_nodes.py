"""Find our operators in a model: in its graph, in subgraphs and in local functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import onnx

from onnx_maxpool.registry import OperatorVersion, resolve, versions_of


@dataclass(frozen=True)
class OperatorNode:
    """One node whose operator is one of ours."""

    node: onnx.NodeProto
    place: str
    """Where it stands: `graph`, `graph, 'loop' body`, `function local::pool`."""
    opset: int
    """The version of the operator's domain that its graph or function imports; 0 where it imports none."""
    version: OperatorVersion | None
    """The version that `opset` selects; none where the opset is older than the operator."""

    @property
    def label(self) -> str:
        """How messages name it: `node 'roi' in graph`; a node without a name goes by its first output."""
        name = self.node.name or next(iter(self.node.output), "")
        return f"node '{name}' in {self.place}"


def operator_nodes(model: onnx.ModelProto) -> Iterator[OperatorNode]:
    """Each of our operators in a model, outermost first, functions after the graph."""
    yield from _nodes(model.graph.node, "graph", _opsets(model.opset_import))
    for function in model.functions:
        place = f"function {function.domain}::{function.name}"
        yield from _nodes(function.node, place, _opsets(function.opset_import))


def _opsets(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    return {canonical_domain(entry.domain): entry.version for entry in imports}


def canonical_domain(domain: str) -> str:
    """`ai.onnx` has two names."""
    return "" if domain == "ai.onnx" else domain


def _nodes(nodes: Iterable[onnx.NodeProto], place: str, opsets: dict[str, int]) -> Iterator[OperatorNode]:
    for node in nodes:
        domain = canonical_domain(node.domain)
        if versions_of(domain, node.op_type):
            opset = opsets.get(domain, 0)
            yield OperatorNode(node, place, opset, resolve(domain, node.op_type, opset))
        for attribute in node.attribute:
            for graph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from _nodes(graph.node, f"{place}, '{node.name or node.op_type}' {attribute.name}", opsets)
