"""The types and shapes of a model's values, as far as ONNX infers them."""

from __future__ import annotations

import onnx
from onnx import helper, shape_inference

from onnx_maxpool.graph.nodes import write_canonical_domains
from onnx_maxpool.operators.schemas import forget_negative_sizes, register_schemas

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


def infer_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types and shapes that ONNX infers; as it is where inference rejects it."""
    register_schemas()
    try:
        return shape_inference.infer_shapes(model)
    except (shape_inference.InferenceError, RuntimeError, ValueError):
        return model


def infer_types_anew(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same, but what the graph declares of its inner values counts only where inference does not find all of it.

    Whoever gives a model's inputs other sizes may leave old ones there, which runtimes do not mind.
    """
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    bare.graph.ClearField("value_info")
    inferred = infer_types(bare)
    found = {value.name for value in inferred.graph.value_info if _is_known(value.type.tensor_type)}
    needed = [value for value in model.graph.value_info if value.name not in found]
    if not needed:
        return inferred
    bare.graph.value_info.extend(needed)
    return infer_types(bare)


def _is_known(tensor: onnx.TypeProto.Tensor) -> bool:
    """Whether the element type and all sizes are."""
    return (
        bool(tensor.elem_type)
        and tensor.HasField("shape")
        and all(dim.HasField("dim_value") for dim in tensor.shape.dim)
    )
