"""What a model asks of our operators, and whether ONNX Runtime could run it without them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper

from onnx_maxpool.errors import OperatorError, number
from onnx_maxpool.graph.building import Declared, one_node_graph
from onnx_maxpool.graph.checking import check_model
from onnx_maxpool.graph.nodes import OperatorNode, canonical_domain
from onnx_maxpool.graph.survey import Survey
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.registry import versions_of
from onnx_maxpool.operators.schemas import attribute_value, dims_of
from onnx_maxpool.types import Dims, type_name

UNKNOWN = "unknown"


@dataclass(frozen=True)
class TensorFacts:
    """One input or output of a node."""

    parameter: str
    """Its name in the operator's definition: `rois`."""
    value: str
    """Its name in the graph; in a function's call, one that ONNX's inliner made."""
    element_type: str
    """By ONNX's name, or `unknown`."""
    shape: Dims | None
    """None where not even the rank is known."""


@dataclass(frozen=True)
class StockAnswer:
    """What ONNX Runtime without our library says to one node in one combination of element types."""

    element_types: tuple[str, ...]
    """The inputs' element types, one per type variable of the operator."""
    refusal: str | None
    """Its reason in its own words; None where it makes a session."""


@dataclass(frozen=True)
class NodeFacts:
    """One of our operators in a model. A function's node counts once per call."""

    place: str
    """`graph`, `graph, 'loop' body`, `function local::pool, call 2`."""
    name: str
    domain: str
    operator: str
    opset: int | None
    """None where the operator's domain is not imported."""
    since_version: int | None
    """The operator's version that the opset selects; None where the opset is too old."""
    attributes: Mapping[str, Any]
    """As the node gives them; `@name` refers to an attribute of a function that could not be inlined."""
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    stock: tuple[StockAnswer, ...]
    """One answer, or where a type is unknown, one for each type that the version allows; none where an attribute's
    value is not known."""


@dataclass(frozen=True)
class ModelFacts:
    """What `inspect_model` finds."""

    nodes: tuple[NodeFacts, ...]
    refusal: str | None
    """What `graph.check.check_model` says against the model; None where it has nothing to say."""
    onnxruntime: str
    """The version of the ONNX Runtime that was asked."""


def inspect_model(model: onnx.ModelProto) -> ModelFacts:
    """The facts of every node of ours in `model`, subgraphs and local functions included.

    External data need not be there. The session options of others are not touched: stock ONNX Runtime is asked by
    sessions of its own, for models of one node.
    """
    survey = Survey(model)
    try:
        check_model(survey)
        refusal = None
    except OperatorError as error:
        refusal = str(error)
    return ModelFacts(tuple(_node_facts(survey)), refusal, str(ort.__version__))


def _node_facts(survey: Survey) -> Iterator[NodeFacts]:
    # Types inside a function are known per call only.
    calls: dict[int, list[OperatorNode]] = {i: [] for i in range(len(survey.nodes))}
    for i, found in survey.calls:
        if found.place.startswith("graph"):
            calls[i].append(found)
    for i, original in enumerate(survey.nodes):
        called = original.place.startswith("function") and bool(calls[i])
        # A function that is never called, or cannot be inlined, has no types: it stands here as it is written.
        for call, found in enumerate(calls[i] or [original], start=1):
            place = f"{original.place}, call {call}" if called else original.place
            known = found.types if calls[i] else {}
            yield _facts(original, found.node, place, known, survey.model.ir_version)


def _facts(
    found: OperatorNode, node: onnx.NodeProto, place: str, types: Mapping[str, onnx.TypeProto.Tensor], ir_version: int
) -> NodeFacts:
    """`found` as the model has it, `node` as inlining left it."""
    row = found.version or versions_of(node.domain, node.op_type)[0]
    inputs = tuple(_tensor(p, value, types) for p, value in zip(operator(row.name).inputs, node.input, strict=False))
    schema = onnx.defs.get_schema(row.name, row.since_version, row.domain)
    outputs = tuple(_tensor(p.name, value, types) for p, value in zip(schema.outputs, node.output, strict=False))
    return NodeFacts(
        place=place,
        name=found.node.name,
        domain=canonical_domain(node.domain),
        operator=node.op_type,
        opset=found.opset,
        since_version=found.version.since_version if found.version else None,
        attributes={attribute.name: _attribute(attribute) for attribute in node.attribute},
        inputs=inputs,
        outputs=outputs,
        stock=tuple(_ask_stock(found, node, inputs, ir_version)),
    )


def _tensor(parameter: str, value: str, types: Mapping[str, onnx.TypeProto.Tensor]) -> TensorFacts:
    if value not in types:
        return TensorFacts(parameter, value, UNKNOWN, None)
    tensor = types[value]
    return TensorFacts(parameter, value, type_name(tensor.elem_type), dims_of(tensor))


def _attribute(attribute: onnx.AttributeProto) -> Any:
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"
    if attribute.type == onnx.AttributeProto.FLOAT:
        return _short(attribute.f)
    if attribute.type == onnx.AttributeProto.FLOATS:
        return [_short(value) for value in attribute.floats]
    if attribute.type in (onnx.AttributeProto.STRING, onnx.AttributeProto.INT):
        return attribute_value(attribute)
    if attribute.type == onnx.AttributeProto.INTS:
        return list(attribute.ints)
    return str(helper.printable_attribute(attribute))


def _short(value: float) -> float | str:
    """0.1 for 0.10000000149011612, which is what a float32 attribute reads as; `nan` and `inf`, which JSON has not."""
    text = number(value, np.dtype(np.float32))
    return float(text) if math.isfinite(value) else text


def _ask_stock(
    found: OperatorNode, node: onnx.NodeProto, inputs: tuple[TensorFacts, ...], ir_version: int
) -> Iterator[StockAnswer]:
    if any(attribute.ref_attr_name for attribute in node.attribute):
        return
    row = found.version or versions_of(node.domain, node.op_type)[0]
    variables = operator(row.name).inputs
    known = {fact.parameter: fact.element_type for fact in inputs if fact.element_type != UNKNOWN}
    bound = {variables[parameter]: element_type for parameter, element_type in known.items()}
    choices = [[bound[variable]] if variable in bound else list(row.types[variable]) for variable in row.types]
    for chosen in itertools.product(*choices):
        by_variable = dict(zip(row.types, chosen, strict=True))
        types = {fact.value: known.get(fact.parameter, by_variable[variables[fact.parameter]]) for fact in inputs}
        yield StockAnswer(chosen, _stock_refusal(_one_node_model(found.opset, node, types, ir_version)))


def _one_node_model(
    opset: int | None, node: onnx.NodeProto, types: Mapping[str, str], ir_version: int
) -> onnx.ModelProto:
    """Only `node`, its inputs of the given types and of any shape, with the versions of the model that it is in."""
    graph = one_node_graph(node, {name: Declared(kind) for name, kind in types.items()}, node.op_type)
    graph.node[0].name = node.name  # by which ONNX Runtime's message names it
    opsets = [helper.make_opsetid(node.domain, opset)] if opset else []
    return helper.make_model(graph, opset_imports=opsets, ir_version=ir_version)


def _stock_refusal(model: onnx.ModelProto) -> str | None:
    """Why ONNX Runtime, without our library, makes no session of `model`; None if it does."""
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    except Exception as error:  # ONNX Runtime's exceptions have no base class of their own
        return " ".join(str(error).split())
    return None
