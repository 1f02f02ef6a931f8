"""The types and shapes of a model's values, as far as ONNX infers them; and `Survey`, which infers them once."""

from __future__ import annotations

from functools import cached_property

import onnx
from onnx import helper, shape_inference

from onnx_maxpool.graph.functions import import_domains_of_functions, inlined
from onnx_maxpool.graph.nodes import OperatorNode, operator_nodes
from onnx_maxpool.graph.rewriting import rename_own_functions
from onnx_maxpool.operators.schemas import forget_negative_sizes, register_schemas

LARGEST_KEPT = 1024
"""Initializers of more bytes than this are left out of the copy that types are inferred on."""


def outline(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without the data of large initializers, which become typed inputs: small whatever the model's size.

    Sparse initializers become such inputs too. Dimensions of negative size are unknown, as exporters mean them.
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
    return copy


def infer(model: onnx.ModelProto) -> onnx.ModelProto:
    """An outline with its local functions inlined, and with the types and shapes that ONNX infers.

    What the inliner rejects is not inlined: what is wrong with it is for a runtime to say. The model, an outline, may
    change.
    """
    if not model.functions:
        return infer_types(model)
    register_schemas()
    rename_own_functions(model)
    import_domains_of_functions(model)
    try:
        return infer_types(inlined(model))
    except (RuntimeError, ValueError):
        return infer_types(model)


def infer_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types and shapes that ONNX infers; as it is where inference rejects it."""
    register_schemas()
    try:
        return shape_inference.infer_shapes(model)
    except (shape_inference.InferenceError, RuntimeError, ValueError):
        return model


class Survey:
    """What a model asks of our operators. Nodes are searched for once, and types are inferred once they are asked for.

    The model is not changed, and is to stay as it is while the survey is in use.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.nodes = tuple(operator_nodes(model))
        """Our operators as the model has them."""

    @cached_property
    def _inferred(self) -> onnx.ModelProto:
        small = outline(self.model)
        # Inlining copies and renames nodes: a mark leads back to the one that the model has.
        for i, found in enumerate(operator_nodes(small)):
            found.node.doc_string = str(i)
        return infer(small)

    @cached_property
    def calls(self) -> tuple[tuple[int, OperatorNode], ...]:
        """Our operators where local functions are inlined, each with the place in `nodes` of the one that it is.

        One that stands in a function is here once for every call of the function. Where functions cannot be inlined,
        the nodes are as the model has them.
        """
        if not self.nodes:
            return ()
        return tuple((int(found.node.doc_string), found) for found in operator_nodes(self._inferred))
