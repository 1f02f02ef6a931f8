"""Put functions' bodies in place of the nodes that call them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

import numpy as np
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, helper, numpy_helper


def inline(
    node: NodeProto,
    library: Mapping[str, FunctionProto],
    domain: str,
    prefix: str,
    *,
    open_attributes: Collection[str] = (),
) -> Iterator[NodeProto]:
    """What stands for `node`, a call of a function in `domain`: nodes without such calls, in subgraphs neither.

    A value `v` of the function's body gets the name `prefix/v`, and the node that makes it too. References to the
    `open_attributes` of the function stay.
    """
    function = library[node.op_type]
    names = dict(zip(function.input, node.input, strict=True))
    names.update((formal, actual) for formal, actual in zip(function.output, node.output, strict=False) if actual)
    attributes = {attribute.name: attribute for attribute in (*function.attribute_proto, *node.attribute)}
    attributes = {name: attribute for name, attribute in attributes.items() if name not in open_attributes}
    body = _Body(library, domain, prefix, names, attributes)
    for inner in function.node:
        yield from body.expanded(inner)


class _Body:
    """A function's body at one call."""

    def __init__(
        self,
        library: Mapping[str, FunctionProto],
        domain: str,
        prefix: str,
        names: Mapping[str, str],
        attributes: Mapping[str, AttributeProto],
    ) -> None:
        self.library = library
        self.domain = domain
        self.prefix = prefix
        self.names = names
        """The caller's names of the function's inputs and outputs."""
        self.attributes = attributes
        """The call's attributes, with the function's defaults."""

    def name(self, value: str) -> str:
        return self.names.get(value, f"{self.prefix}/{value}") if value else ""

    def expanded(self, node: NodeProto) -> Iterator[NodeProto]:
        """The node in the caller's names, itself expanded if it is a call."""
        own = f"{self.prefix}/{node.output[0]}"
        renamed = NodeProto(op_type=node.op_type, domain=node.domain, name=own)
        renamed.input.extend(map(self.name, node.input))
        renamed.output.extend(map(self.name, node.output))
        renamed.attribute.extend(map(self.attribute, node.attribute))
        if node.op_type == "Constant":
            yield _plain_constant(renamed)
        elif node.domain == self.domain:
            yield from inline(renamed, self.library, self.domain, own)
        else:
            yield renamed

    def attribute(self, attribute: AttributeProto) -> AttributeProto:
        """With the call's value where it refers to one of the function's attributes."""
        if attribute.ref_attr_name in self.attributes:
            value = AttributeProto()
            value.CopyFrom(self.attributes[attribute.ref_attr_name])
            value.name = attribute.name
            return value
        if attribute.HasField("g"):
            return AttributeProto(name=attribute.name, type=AttributeProto.GRAPH, g=self.graph(attribute.g))
        return attribute

    def graph(self, graph: GraphProto) -> GraphProto:
        expanded = GraphProto(name=f"{self.prefix}/{graph.name}")
        for values, renamed in ((graph.input, expanded.input), (graph.output, expanded.output)):
            for value in values:
                added = renamed.add()
                added.CopyFrom(value)
                added.name = self.name(value.name)
        for node in graph.node:
            expanded.node.extend(self.expanded(node))
        return expanded


def _plain_constant(node: NodeProto) -> NodeProto:
    """A Constant with a tensor, which is the one form that every opset has."""
    (attribute,) = node.attribute
    if attribute.name == "value" or attribute.ref_attr_name:
        return node
    value = np.asarray(helper.get_attribute_value(attribute))
    array = value.astype(np.float32 if value.dtype.kind == "f" else np.int64)
    return helper.make_node("Constant", [], list(node.output), name=node.name, value=numpy_helper.from_array(array))
