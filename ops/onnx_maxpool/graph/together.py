"""What rows of a batch must not share: indices that count over the whole batch, and batch numbers that round."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx

from onnx_maxpool.graph.nodes import canonical_domain, every_node, model_nodes, operator_nodes
from onnx_maxpool.graph.sources import ancestors, inverse, sources_of
from onnx_maxpool.operators import operator
from onnx_maxpool.types import type_name

ROIS = "rois"
"""The name of a ROI operator's own input."""
NUMBERS = {
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "bfloat16", "float", "double"),
}
COARSEST = "bfloat16"
"""The type with the fewest whole numbers that a ROI operator reads."""


def gives_places_in_the_batch(model: onnx.ModelProto) -> bool:
    """Whether an output comes from an index that counts over the whole tensor (P5), and so over the rows before.

    MaxUnpool puts such indices back into a tensor of the same batch, so what it gives does not depend on them.
    """
    places = set(_places(model))
    if not places or any(not places.isdisjoint(node.output) for f in model.functions for node in every_node(f.node)):
        return bool(places)
    reached = ancestors((value.name for value in model.graph.output), sources_of(model.graph, _without_places))
    return not places.isdisjoint(reached)


def _places(model: onnx.ModelProto) -> Iterator[str]:
    """The indices that count over a whole tensor, in functions too."""
    ours = (each.node for each in operator_nodes(model) if each.version and each.version.index_scope == "tensor")
    theirs = (each for each in model_nodes(model) if each.op_type == "MaxPool" and not canonical_domain(each.domain))
    for node in (*ours, *theirs):
        if len(node.output) > 1 and node.output[1]:
            yield node.output[1]


def _without_places(node: onnx.NodeProto) -> list[str]:
    is_unpooling = node.op_type == "MaxUnpool" and not canonical_domain(node.domain)
    return [name for i, name in enumerate(node.input) if not (is_unpooling and i == 1)]


def types_of_batch_numbers(model: onnx.ModelProto, rois: Mapping[str, str]) -> tuple[str, ...]:
    """The types that batch numbers have from the inputs with ROIs, of which `rois` has the types, to ROI operators.

    The model has inferred types. Where a type or an operator is not known, as in ORT format, it may be the coarsest.
    """
    sources = sources_of(model.graph)
    given = ancestors(rois, inverse(sources))
    values = (*model.graph.input, *model.graph.value_info, *model.graph.output)
    types = {value.name: type_name(value.type.tensor_type.elem_type) for value in values}
    found = set(rois.values())
    seen: set[str] = set()
    for each in operator_nodes(model):
        inputs = list(operator(each.node.op_type).inputs)
        if ROIS not in inputs:
            continue
        read = each.node.input[inputs.index(ROIS)]
        own = each.types.get(read)
        between = ancestors([read], sources) & given
        found.add(type_name(own.elem_type) if own is not None and own.elem_type else COARSEST)
        found |= {types[name] for name in between if name in types}
        seen |= between
    if not seen.issuperset(rois):
        found.add(COARSEST)
    return tuple(sorted(found & NUMBERS))


def pools_from_rows(model: onnx.ModelProto, rows: int) -> bool:
    """Whether all ROI operators pool from as many images as there are rows, in a model with that number inferred.

    A batch number is that of a row, and means nothing where a row has several images.
    """
    for each in operator_nodes(model):
        if ROIS not in operator(each.node.op_type).inputs:
            continue
        images = each.types.get(each.node.input[0])
        dims = images.shape.dim if images is not None else ()
        if not dims or dims[0].dim_value != rows:
            return False
    return True
