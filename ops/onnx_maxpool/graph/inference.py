"""The types and shapes of a model's values, as far as ONNX infers them."""

from __future__ import annotations

import onnx
from onnx import helper, shape_inference

from onnx_maxpool.graph.nodes import operator_nodes, write_canonical_domains
from onnx_maxpool.graph.scopes import Scope
from onnx_maxpool.graph.sorting import sort_nodes
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.schemas import forget_negative_sizes, register_schemas

IMAGE_RANK = 4
"""Of what ROIs are pooled from."""
LARGEST_KEPT = 1024
"""Initializers of more bytes than this are left out of the copy that types are inferred on."""


def outline(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without the data of large initializers, which become typed inputs: small whatever the model's size.

    Sparse initializers become such inputs too. Dimensions of negative size are unknown, as exporters mean them. ai.onnx
    is `""` everywhere.
    """
    copy = onnx.ModelProto()
    copy.ir_version = max(model.ir_version, 4)
    copy.opset_import.extend(model.opset_import)
    copy.functions.extend(model.functions)
    graph = copy.graph
    graph.name = model.graph.name
    graph.node.extend(model.graph.node)
    graph.output.extend(model.graph.output)
    graph.value_info.extend(model.graph.value_info)
    graph.input.extend(model.graph.input)
    inputs = {value.name for value in graph.input}
    for tensor in model.graph.initializer:
        if tensor.ByteSize() <= LARGEST_KEPT and not tensor.external_data:
            graph.initializer.append(tensor)
        elif tensor.name not in inputs:
            graph.input.append(helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims))
    # Whose values are dense to every operator, though ONNX's inference would give them a type of their own.
    for sparse in model.graph.sparse_initializer:
        if sparse.values.name not in inputs:
            values = sparse.values
            graph.input.append(helper.make_tensor_value_info(values.name, values.data_type, sparse.dims))
    forget_negative_sizes((*graph.input, *graph.output, *graph.value_info))
    write_canonical_domains(copy)
    return copy


def infer_types(model: onnx.ModelProto, *, follow_shapes: bool = False) -> onnx.ModelProto:
    """The model with its nodes in order, and the types and shapes that ONNX infers, unless inference rejects it.

    To follow shapes is to know the shapes that nodes of the graph compute, as Shape, Gather and Concat do. Behind an
    operator that ONNX does not know, our nodes tell the types of their inputs, as far as types of other values with the
    same type variable are known. The model, an outline or another copy, may change: its nodes are sorted.
    """
    register_schemas()
    sort_nodes(model.graph)
    bound: dict[str, int] = {}
    while True:
        try:
            model = shape_inference.infer_shapes(model, data_prop=follow_shapes)
        except (shape_inference.InferenceError, RuntimeError, ValueError):
            return model
        if not _bind_inputs(model, bound):
            return model


def _bind_inputs(model: onnx.ModelProto, bound: dict[str, int]) -> bool:
    """Declare inputs of our nodes whose types follow from other values of theirs; whether there were more of them.

    `bound` has the values whose types were found so, inputs and outputs: each is declared once.
    """
    declared = False
    for found in operator_nodes(model):
        if found.scope is None or found.version is None:
            continue
        variables = list(operator(found.version.name).inputs.values())
        inputs = list(zip(found.node.input, variables, strict=False))
        outputs = list(zip(found.node.output[:1], variables, strict=False))
        known = {name: found.types[name].elem_type for name, _ in (*inputs, *outputs) if name in found.types}
        known = {**bound, **known}
        kinds = {variable: known[name] for name, variable in (*inputs, *outputs) if name in known}
        for i, (name, variable) in enumerate(inputs):
            if name and name not in known and variable in kinds:
                dims = [None] * IMAGE_RANK if i == 0 and found.version.roi_rank else None
                _declare(found.scope, helper.make_tensor_value_info(name, kinds[variable], dims))
                bound[name] = kinds[variable]
                declared = True
        bound.update((name, kinds[variable]) for name, variable in outputs if variable in kinds and name not in known)
    return declared


def _declare(scope: Scope, value: onnx.ValueInfoProto) -> None:
    """Declare a value in the graph that makes it, with the shape that it may have there already."""
    while value.name not in scope.made and scope.outer is not None:
        scope = scope.outer
    for each in (*scope.graph.value_info, *scope.graph.output):
        if each.name == value.name:
            each.type.tensor_type.elem_type = value.type.tensor_type.elem_type
            return
    scope.graph.value_info.append(value)


def drop_contradictions(model: onnx.ModelProto) -> set[str]:
    """Drop what the graph declares of its inner values where that contradicts inference; returns the values' names.

    Whoever gives a model's inputs other sizes may leave old ones there, which ONNX Runtime does not mind. The model is
    changed.
    """
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    bare.graph.ClearField("value_info")
    inferred = {value.name: value.type.tensor_type for value in infer_types(bare).graph.value_info}
    declared = bare.graph.value_info  # copies: what is cleared may not be read again
    declared.extend(model.graph.value_info)
    kept = [each for each in declared if _agree(each.type.tensor_type, inferred.get(each.name))]
    model.graph.ClearField("value_info")
    model.graph.value_info.extend(kept)
    return {each.name for each in declared} - {each.name for each in kept}


def _agree(one: onnx.TypeProto.Tensor, other: onnx.TypeProto.Tensor | None) -> bool:
    """Whether a value may be of both types, as far as they are known."""
    if other is None or not (one.HasField("shape") and other.HasField("shape")):
        return True
    sides = list(zip(one.shape.dim, other.shape.dim, strict=False))
    known = [(a.dim_value, b.dim_value) for a, b in sides if a.HasField("dim_value") and b.HasField("dim_value")]
    return len(one.shape.dim) == len(other.shape.dim) and all(a == b for a, b in known)
