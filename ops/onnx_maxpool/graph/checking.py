"""Check a model's operators by their versions' types and attributes, before a runtime sees them."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import defs

from onnx_maxpool.errors import OperatorError
from onnx_maxpool.graph.nodes import OperatorNode
from onnx_maxpool.graph.survey import Survey
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.definition import too_old
from onnx_maxpool.operators.registry import OperatorVersion, versions_of
from onnx_maxpool.operators.schemas import attribute_value, check_kind, dims_of
from onnx_maxpool.types import type_name


def check_model(survey: Survey) -> None:
    """Raise OperatorError for the first of the model's nodes that its version's schema or rules reject.

    Looked at: the opset import, the number of inputs and outputs, attributes (names, types, values) and, where
    inference finds them, the inputs' element types and shapes. The message names the node. Shapes count only if they
    follow from those of the model's inputs, as a runtime does not mind what else is declared, and only for a node that
    each run comes to: a branch may be there for another shape.
    """
    for i, (_, found) in enumerate(survey.calls):
        known = found.types
        types = {name: type_name(known[name].elem_type) for name in found.node.input if name in known}
        try:
            check_node(found, types)
            if found.place == "graph" and _refuses_shapes(found):
                _check_shapes(survey.calls_by_inputs[i][1])
        except OperatorError as error:
            raise OperatorError(f"{found.label}: {error}") from None


def _refuses_shapes(found: OperatorNode) -> bool:
    try:
        _check_shapes(found)
    except OperatorError:
        return True
    return False


def _check_shapes(found: OperatorNode) -> None:
    """Raise OperatorError for shapes that the operator rejects, as far as they are known; the rest of it is right."""
    node, version = found.node, found.version
    if version is None or any(attribute.ref_attr_name for attribute in node.attribute):
        return
    definition = operator(version.name)
    shapes = [dims_of(found.types[name]) if name in found.types else None for name in node.input]
    definition.check_shapes(shapes, definition.complete(version, node_attributes(node, version)))


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
