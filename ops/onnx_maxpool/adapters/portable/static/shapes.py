"""Sizes for a model's symbolic dimensions, and what is declared of shapes in a model that is all static."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from onnx import GraphProto, ModelProto, TensorShapeProto, ValueInfoProto

from onnx_maxpool.errors import OperatorError, listing
from onnx_maxpool.graph.inference import infer_types, outline
from onnx_maxpool.graph.nodes import subgraphs


def fix_dims(model: ModelProto, dims: Mapping[str, int]) -> None:
    """Put sizes in the place of symbolic dimensions, wherever they are declared.

    Raises OperatorError for a name that no input declares, and for a size below 0.
    """
    known = {dim.dim_param: None for value in model.graph.input for dim in _shape(value).dim if dim.dim_param}
    for name, size in dims.items():
        if name not in known:
            expected = listing(known) if known else "none, as no input has a symbolic dimension"
            raise OperatorError(f"to_portable: dims has {name}, expected {expected}")
        if isinstance(size, bool) or not isinstance(size, int) or size < 0:
            raise OperatorError(f"to_portable: dims has {name} of {size!r}, expected an integer from 0")
    for value in _values(model.graph):
        for dim in _shape(value).dim:
            if dim.dim_param in dims:
                dim.dim_value = dims[dim.dim_param]


def declare_shapes(model: ModelProto) -> None:
    """Give the graph's outputs the types and shapes that ONNX infers; leave out other declared shapes with symbols."""
    small = outline(model)
    for value in small.graph.output:
        if value.HasField("type"):
            value.type.tensor_type.ClearField("shape")
    del small.graph.value_info[:]
    inferred = {value.name: value for value in infer_types(small).graph.output}
    for value in model.graph.output:
        found = inferred[value.name].type.tensor_type
        if found.HasField("shape") and all(dim.HasField("dim_value") for dim in found.shape.dim):
            value.type.tensor_type.CopyFrom(found)
    kept = [value for value in model.graph.value_info if all(dim.HasField("dim_value") for dim in _shape(value).dim)]
    known = GraphProto(value_info=kept)  # copies: what is cleared may not be read again
    del model.graph.value_info[:]
    model.graph.value_info.extend(known.value_info)


def _shape(value: ValueInfoProto) -> TensorShapeProto:
    return value.type.tensor_type.shape


def _values(graph: GraphProto) -> Iterator[ValueInfoProto]:
    yield from (*graph.input, *graph.output, *graph.value_info)
    for node in graph.node:
        for _, subgraph in subgraphs(node):
            yield from _values(subgraph)
