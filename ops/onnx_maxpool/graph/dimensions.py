"""The dimensions that a graph declares, by their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import GraphProto, TensorShapeProto, TypeProto, ValueInfoProto

from onnx_maxpool.graph.nodes import subgraphs


def dims_in(kind: TypeProto) -> Iterator[TensorShapeProto.Dimension]:
    """Of a tensor, of those in a sequence, and of one that is optional."""
    which = kind.WhichOneof("value")
    if which in ("sequence_type", "optional_type"):
        yield from dims_in(getattr(kind, which).elem_type)
    elif which == "tensor_type":
        yield from kind.tensor_type.shape.dim


def declared_values(graph: GraphProto) -> Iterator[ValueInfoProto]:
    """The values whose types a graph and its subgraphs declare."""
    yield from (*graph.input, *graph.output, *graph.value_info)
    for node in graph.node:
        for _, subgraph in subgraphs(node):
            yield from declared_values(subgraph)


def set_sizes(graph: GraphProto, sizes: Mapping[str, int]) -> None:
    """Put sizes in the place of the dimensions of these names, wherever they are declared."""
    for value in declared_values(graph):
        for dim in dims_in(value.type):
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]
