"""Put other nodes in the place of our operators, with names that nothing else in the model has."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from onnx import GraphProto, ModelProto, NodeProto, TypeProto, helper

from onnx_maxpool.graph.nodes import OperatorNode, Resolver, inside, names, subgraphs


@dataclass(frozen=True)
class Scope:
    """A graph that is rewritten, and what its nodes see."""

    graph: GraphProto
    place: str = "graph"
    """As messages name it: `graph, 'loop' body`."""
    outer: Scope | None = None

    @cached_property
    def types(self) -> Mapping[str, TypeProto.Tensor]:
        """The types that the graph and those around it declare, by name. One of no element type is not known."""
        types = {} if self.outer is None else dict(self.outer.types)
        for value in (*self.graph.input, *self.graph.value_info, *self.graph.output):
            types[value.name] = value.type.tensor_type
        for tensor in self.graph.initializer:
            types[tensor.name] = helper.make_tensor_type_proto(tensor.data_type, tensor.dims).tensor_type
        return types


class Rewriter:
    """Puts other nodes in the place of our operators, in a model's graph and its subgraphs.

    A subclass says which. The model's functions stay: inline those that hold our operators first.
    """

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self.resolver = Resolver.of_model(model)
        self.taken = set(names(model.graph))
        """Names that something in the model has, and beginnings of names, which end in a slash."""

    def rewrite(self) -> None:
        """Change the model."""
        self._rewrite(Scope(self.model.graph))

    def replacement(self, node: NodeProto, scope: Scope) -> Iterable[NodeProto] | None:
        """The nodes that take a node's place; None where it stays."""
        found = self.resolver.operator_node(node, scope.place)
        return None if found is None else self.operator_replacement(found, scope)

    def operator_replacement(self, found: OperatorNode, scope: Scope) -> Iterable[NodeProto] | None:
        """The nodes that take the place of one of our operators; None where it stays."""
        raise NotImplementedError

    def fresh(self, wish: str) -> str:
        """A name that no value of the model has, and no node."""
        name = fresh_name(wish, self.taken.__contains__)
        self.taken.add(name)
        return name

    def fresh_prefix(self, wish: str) -> str:
        """A prefix with which no name begins as `prefix/...`."""
        prefix = fresh_name(wish, lambda prefix: any(name.startswith(f"{prefix}/") for name in self.taken))
        self.taken.add(f"{prefix}/")
        return prefix

    def _rewrite(self, scope: Scope) -> None:
        kept = GraphProto(node=self._rewritten(scope))  # copies: what is cleared may not be read again
        scope.graph.ClearField("node")
        scope.graph.node.extend(kept.node)

    def _rewritten(self, scope: Scope) -> Iterator[NodeProto]:
        for node in scope.graph.node:
            others = self.replacement(node, scope)
            if others is not None:
                yield from others
                continue
            for attribute, subgraph in subgraphs(node):
                self._rewrite(Scope(subgraph, inside(scope.place, node, attribute), scope))
            yield node


def fresh_name(wish: str, is_taken: Callable[[str], bool]) -> str:
    """The name that is wished for, or where it is taken the first of `wish_1`, `wish_2` and so on that is not."""
    name, number = wish, 0
    while is_taken(name):
        number += 1
        name = f"{wish}_{number}"
    return name
