"""The portable operators as ONNX functions, for one element type and one opset, and their bodies in place of calls."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from string import Template

import numpy as np
from onnx import AttributeProto, FunctionProto, GraphProto, NodeProto, helper, numpy_helper, parser

from onnx_maxpool.adapters.portable import arithmetic, roi, windows
from onnx_maxpool.errors import OperatorError
from onnx_maxpool.types import BinEdges, tensor_type

DOMAIN = "portable"
"""Of the functions, within this package: nothing of it is left in a converted model."""

OLDEST_OPSET, OLDEST_FOR_BFLOAT16 = 11, 13
"""The oldest opsets of ai.onnx in which the functions can be written: they brought Range, and bfloat16 to Shape."""

OPSET_FOR_ALL = 13
"""In which both forms of every operator can be written, in every type."""

NARROW = ("int8", "uint8", "int16", "uint16")

COMPUTED = {"float16": "float", "bfloat16": "float", **dict.fromkeys(NARROW, "int32")}
"""The types that maxima are taken in, where it is not the tensor's own: runtimes reduce them, and lose nothing."""

REDUCTIONS = [("ReduceMax", "Along", 0), ("ReduceMax", "Kept", 1), ("ReduceMin", "Along", 0)]
"""Operators along given axes, the functions' suffixes, and whether the axes stay."""

REDUCTION = "$reduce$suffix <axes> (x) => (y) { y = $reduce <axes = @axes, keepdims = $kept> (x) }"
REDUCTION_18 = """
$reduce$suffix <axes> (x) => (y)
{
    axes = Constant <value_ints = @axes> ()
    y = $reduce <keepdims = $kept> (x, axes)
}"""


def too_old(opset: int, oldest: int, condition: str) -> OperatorError:
    """The error for a model's opset of ai.onnx; `condition` says for which form this is the oldest one."""
    return OperatorError(
        f"to_portable: opset of ai.onnx is {opset}, expected {oldest} or newer{condition}: "
        f"onnx.version_converter.convert_version(model, {OPSET_FOR_ALL}) raises it"
    )


@lru_cache(maxsize=64)
def function_library(element_type: str, opset: int, bin_edges: BinEdges | None = None) -> dict[str, FunctionProto]:
    """By name, every operator and what it calls, for an element type by ONNX's name and an opset of ai.onnx.

    Without `bin_edges`, those of ROIs are not among them. Raises OperatorError for an opset that is too old.
    """
    oldest = OLDEST_FOR_BFLOAT16 if element_type == "bfloat16" else OLDEST_OPSET
    if opset < oldest:
        raise too_old(opset, oldest, " for bfloat16" if oldest > OLDEST_OPSET else "")
    computed = COMPUTED.get(element_type, element_type)
    edge = "double" if bin_edges == "double" or element_type == "double" else "float"
    values = {"F": computed, "to": _data_type(computed), "T": _data_type(element_type), "edge": _data_type(edge)}
    texts = _texts(element_type)
    if bin_edges is not None:
        texts += [*roi.TEXTS, *roi.BINS["exact" if bin_edges == "exact" else edge]]
    texts = [Template(text).substitute(values) for text in texts]
    reduction = Template(REDUCTION_18 if opset >= 18 else REDUCTION)
    texts += [reduction.substitute(reduce=op, suffix=suffix, kept=kept) for op, suffix, kept in REDUCTIONS]
    header = f'<domain: "{DOMAIN}", opset_import: ["": {opset}, "{DOMAIN}": 1]>\n'
    protos = [parser.parse_function(header + text) for text in texts]
    return {proto.name: proto for proto in protos}


def _data_type(element_type: str) -> str:
    return str(tensor_type(element_type))


def _texts(element_type: str) -> list[str]:
    common = [*arithmetic.FOR_ANY, *windows.FOR_ANY]
    for rank in (1, 2, 3):
        common += windows.window_texts(rank)
    if element_type in windows.WIDE_INTEGERS:
        return [*common, *windows.WIDE_INTEGERS[element_type]]
    if element_type in NARROW:
        return [*common, *windows.NARROW_INTEGERS]
    return [*common, *windows.FLOATS, *arithmetic.FOR_FLOATS]


PUBLIC_DOMAIN = "onnx_maxpool.portable"
"""Of functions that stand in models."""


def whole_function(
    call: NodeProto,
    attributes: Sequence[str],
    name: str,
    element_type: str,
    opset: int,
    bin_edges: BinEdges | None = None,
) -> FunctionProto:
    """A function in `PUBLIC_DOMAIN` that does what `call` does, and needs no other function.

    Its inputs and outputs are the call's, and so are the `attributes`, which the call leaves open.
    """
    library = function_library(element_type, opset, bin_edges)
    nodes = inline(call, library, DOMAIN, name, open_attributes=attributes)
    imports = [helper.make_opsetid("", opset)]
    return helper.make_function(
        PUBLIC_DOMAIN, name, list(call.input), list(call.output), list(nodes), imports, attributes=list(attributes)
    )


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
