"""A graph inside its model, and the types of the values that its nodes see."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from onnx import GraphProto, TypeProto, helper


@dataclass(frozen=True)
class Scope:
    """A graph, and what its nodes see."""

    graph: GraphProto
    place: str = "graph"
    """As messages name it: `graph, 'loop' body`."""
    outer: Scope | None = None

    @cached_property
    def types(self) -> Mapping[str, TypeProto.Tensor]:
        """The tensor types that the graph and those around it declare, by name, if the element type is known.

        Graphs beside this one may have values of the same names: they do not count.
        """
        types = {} if self.outer is None else dict(self.outer.types)
        for name in self.made:
            types.pop(name, None)
        types.update(_declared(self.graph))
        return types

    @cached_property
    def made(self) -> frozenset[str]:
        """The names of the values that the graph itself makes."""
        inputs = {value.name for value in self.graph.input}
        return frozenset(inputs.union(*(node.output for node in self.graph.node)))


def _declared(graph: GraphProto) -> Iterator[tuple[str, TypeProto.Tensor]]:
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.tensor_type.elem_type:
            yield value.name, value.type.tensor_type
    for tensor in graph.initializer:
        yield tensor.name, helper.make_tensor_type_proto(tensor.data_type, tensor.dims).tensor_type
    for sparse in graph.sparse_initializer:
        yield sparse.values.name, helper.make_tensor_type_proto(sparse.values.data_type, sparse.dims).tensor_type
