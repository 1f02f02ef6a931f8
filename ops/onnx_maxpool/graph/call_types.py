"""The types of what local functions give, where ONNX Runtime cannot infer them."""

from __future__ import annotations

import onnx

from onnx_maxpool.graph.functions import callees_first
from onnx_maxpool.graph.inference import outline
from onnx_maxpool.graph.nodes import REPLACEABLE, FunctionKey, called, every_node, key_of, own_functions
from onnx_maxpool.graph.survey import infer


def undeclared_calls(model: onnx.ModelProto) -> frozenset[str]:
    """The outputs of calls in the graph, not in its subgraphs, whose types ONNX Runtime does not know.

    The model declares none, and inside a function ONNX Runtime infers nothing through an operator that ONNX lacks.
    """
    opaque = _opaque_functions(model)
    declared = {value.name for value in (*model.graph.value_info, *model.graph.output)}
    outputs = (name for node in model.graph.node if called(node) in opaque for name in node.output if name)
    return frozenset(outputs) - declared


def declare_calls(model: onnx.ModelProto, outputs: frozenset[str]) -> None:
    """Write the types of these outputs as far as they can be inferred. The model is changed."""
    inferred = infer(outline(model)).graph.value_info
    model.graph.value_info.extend(value for value in inferred if value.name in outputs)


def _opaque_functions(model: onnx.ModelProto) -> frozenset[FunctionKey]:
    """Those that hold one of our operators in another domain than ai.onnx, or call a function that does."""
    own, found = own_functions(model), set[FunctionKey]()
    for function in callees_first(model.functions):
        for node in every_node(function.node):
            is_ours = (node.domain, node.op_type) in REPLACEABLE and called(node) not in own
            if is_ours or called(node) in found:
                found.add(key_of(function))
    return frozenset(found)
