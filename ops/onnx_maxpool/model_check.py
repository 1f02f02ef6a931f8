"""Hold a model's operators to their versions' types and attributes, before a runtime sees it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import onnx
from onnx import defs, helper, inliner, shape_inference

from onnx_maxpool.attribute_values import attribute_value, check_kind
from onnx_maxpool.errors import OperatorError
from onnx_maxpool.model_nodes import OperatorNode, canonical_domain, operator_nodes
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.operator import too_old
from onnx_maxpool.registry import OperatorVersion, versions_of
from onnx_maxpool.schemas import register_schemas

LARGEST_KEPT = 1024
"""Initializers of more bytes than this are left out of the copy that types are inferred on."""


def check_model(model: onnx.ModelProto) -> None:
    """Raise OperatorError for the first of our nodes that its version's schema or rules refuse.

    Looked at: the opset import, the number of inputs and outputs, attributes (names, types, values) and, where type
    inference finds them, the inputs' element types. The message names the node.
    """
    if not any(True for _ in operator_nodes(model)):
        return
    inferred = infer(outline(model))
    types = {name: type_name(tensor.elem_type) for name, tensor in tensor_types(inferred.graph)}
    for found in operator_nodes(inferred):
        # A function that could not be inlined has values of its own, whose names say nothing.
        known = types if found.place.startswith("graph") else {}
        try:
            check_node(found, known)
        except OperatorError as error:
            raise OperatorError(f"{found.label}: {error}") from None


def check_node(found: OperatorNode, types: dict[str, str]) -> None:
    """Raise OperatorError if a node is not what its version allows; `types` are values' element types by name."""
    node, version = found.node, found.version
    if version is None:
        raise too_old(versions_of(node.domain, node.op_type)[0], found.opset)
    schema = defs.get_schema(version.name, version.since_version, version.domain)
    for what, count, least, most in (
        ("input", len(node.input), schema.min_input, schema.max_input),
        ("output", len(node.output), schema.min_output, schema.max_output),
    ):
        if not least <= count <= most:
            required = str(least) if least == most else f"{least} to {most}"
            found_count = f"{count} {what}{'s' * (count != 1)}"
            raise OperatorError(f"{version.title}: the node has {found_count}, expected {required}")
    for what, parameters, values, needed in (
        ("input", schema.inputs, node.input, schema.min_input),
        ("output", schema.outputs, node.output, schema.min_output),
    ):
        for parameter, value in list(zip(parameters, values, strict=False))[:needed]:
            if not value:
                raise OperatorError(f"{version.title}: the {what} {parameter.name} is left out, expected a value")
    definition = operator(version.name)
    given = {name: types[value] for name, value in zip(definition.inputs, node.input, strict=False) if value in types}
    definition.check_types(version, given)
    attributes = node_attributes(node, version)
    if not any(attribute.ref_attr_name for attribute in node.attribute):
        definition.complete(version, attributes)


def node_attributes(node: onnx.NodeProto, version: OperatorVersion) -> dict[str, Any]:
    """A node's attributes as Python values, without those that refer to a function's attribute.

    Raises OperatorError for unknown, mistyped and missing ones.
    """
    definition = operator(version.name)
    definition.check_names(version, [attribute.name for attribute in node.attribute])
    known = definition.attributes_of(version)
    for attribute in node.attribute:
        check_kind(version, attribute, known[attribute.name].kind)
    return {attribute.name: attribute_value(attribute) for attribute in node.attribute if not attribute.ref_attr_name}


def outline(model: onnx.ModelProto) -> onnx.ModelProto:
    """A copy without the data of large initializers, which become typed inputs: small whatever the model's size."""
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
    return copy


def import_domains_of_functions(model: onnx.ModelProto) -> None:
    """Import what only local functions import, as ONNX allows: where one is inlined, its nodes are the model's."""
    known = {canonical_domain(entry.domain) for entry in model.opset_import}
    newest: dict[str, int] = {}
    for function in model.functions:
        for entry in function.opset_import:
            newest[entry.domain] = max(entry.version, newest.get(entry.domain, 0))
    for domain, version in newest.items():
        if canonical_domain(domain) not in known:
            model.opset_import.append(helper.make_opsetid(domain, version))


def infer(model: onnx.ModelProto) -> onnx.ModelProto:
    """An outline with its local functions inlined, and with the types and shapes that ONNX infers.

    What the inliner refuses is not inlined: what is wrong with it is for a runtime to say.
    """
    if not model.functions:
        return infer_types(model)
    register_schemas()
    import_domains_of_functions(model)
    try:
        return infer_types(inliner.inline_local_functions(model, convert_version=False))
    except (RuntimeError, ValueError):
        return infer_types(model)


def infer_types(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with the types and shapes that ONNX infers; as it is where inference refuses it."""
    register_schemas()
    try:
        return shape_inference.infer_shapes(model)
    except (shape_inference.InferenceError, RuntimeError, ValueError):
        return model


def tensor_types(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TypeProto.Tensor]]:
    """Names and types of the tensors in a graph and in its subgraphs, as far as the element types are known."""
    for value in (*graph.input, *graph.value_info, *graph.output):
        if value.type.tensor_type.elem_type:
            yield value.name, value.type.tensor_type
    for tensor in graph.initializer:
        yield tensor.name, helper.make_tensor_type_proto(tensor.data_type, tensor.dims).tensor_type
    for node in graph.node:
        for attribute in node.attribute:
            for subgraph in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
                yield from tensor_types(subgraph)


def type_name(data_type: int) -> str:
    """The ONNX name of a TensorProto element type, in lower case: `float`, `bfloat16`; `undefined` for no such type."""
    known = data_type in onnx.TensorProto.DataType.values()
    return str(onnx.TensorProto.DataType.Name(data_type)).lower() if known else "undefined"
