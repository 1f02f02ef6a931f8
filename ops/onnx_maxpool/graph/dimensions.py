"""The dimensions that a graph declares, by their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import GraphProto, TensorShapeProto, TypeProto, ValueInfoProto

from onnx_maxpool.graph.nodes import subgraphs
from onnx_maxpool.operators.schemas import known_dim


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


def named_dims(graph: GraphProto) -> list[str]:
    """The names of the dimensions of a graph's inputs."""
    return list(dict.fromkeys(dim.dim_param for value in graph.input for dim in dims_in(value.type) if dim.dim_param))


def unnamed_dims(graph: GraphProto) -> dict[str, TensorShapeProto.Dimension]:
    """The dimensions of inputs that have neither a size nor a name, by the name `INPUT.AXIS`."""
    return {
        f"{value.name}.{axis}": dim
        for value in graph.input
        for axis, dim in enumerate(value.type.tensor_type.shape.dim)
        if known_dim(dim) is None
    }


def set_sizes(graph: GraphProto, sizes: Mapping[str, int]) -> None:
    """Put sizes in the place of the dimensions of these names, wherever they are declared."""
    for value in declared_values(graph):
        for dim in dims_in(value.type):
            if dim.dim_param in sizes:
                dim.dim_value = sizes[dim.dim_param]
