"""A model's local functions: which of them hold our operators, and their bodies in the place of their calls."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import onnx
from onnx import inliner

from onnx_maxpool.errors import ModelError, OperatorError
from onnx_maxpool.graph.functions import callees_first, import_domains_of_functions, write_defaults
from onnx_maxpool.graph.inference import infer_types, outline
from onnx_maxpool.graph.nodes import (
    FunctionKey,
    called,
    canonical_domain,
    every_node,
    key_of,
    operator_nodes,
    write_canonical_domains,
)
from onnx_maxpool.operators.registry import newest_versions, versions_of


def inline_functions(model: onnx.ModelProto, operators: Collection[str]) -> None:
    """Put the bodies of the local functions that hold one of our `operators`, by name, in the place of their calls.

    And those of functions that call such ones. Where a function imports another opset of ai.onnx than the model, ONNX
    converts it; all other functions stay. ai.onnx becomes `""` everywhere. Raises ModelError where ONNX's inliner
    fails, and OperatorError for a function that it leaves.
    """
    write_canonical_domains(model)
    holding = _holding(model.functions, operators)
    if holding:
        import_domains_of_functions(model)
        _raise_our_opsets([model, *holding])
    for function in reversed(holding):  # callers first: then the calls in their bodies stand in the graph
        _inline(model, function)
    inlined = {key_of(function) for function in holding}
    kept = [function for function in model.functions if key_of(function) not in inlined]
    model.ClearField("functions")
    model.functions.extend(kept)
    for found in operator_nodes(model):
        if found.place.startswith("function") and found.node.op_type in operators:
            raise OperatorError(f"{found.label}: expected a function that ONNX's inliner can inline")


def _holding(functions: Iterable[onnx.FunctionProto], operators: Collection[str]) -> list[onnx.FunctionProto]:
    """Those that hold one of our operators or call one that does, callees first."""
    holding: dict[FunctionKey, onnx.FunctionProto] = {}
    for function in callees_first(functions):
        for node in every_node(function.node):
            is_ours = node.op_type in operators and bool(versions_of(canonical_domain(node.domain), node.op_type))
            if is_ours or called(node) in holding:
                holding[key_of(function)] = function
    return list(holding.values())


def _raise_our_opsets(parts: Iterable[onnx.ModelProto | onnx.FunctionProto]) -> None:
    """To the newest that any part imports. ONNX converts none of them; our newer versions have more types, and that
    is all.
    """
    imports = [entry for part in parts for entry in part.opset_import]
    for domain in {row.domain for row in newest_versions() if row.domain}:
        ours = [entry for entry in imports if entry.domain == domain]
        for entry in ours:
            entry.version = max(e.version for e in ours)


def _inline(model: onnx.ModelProto, function: onnx.FunctionProto) -> None:
    """One function. To convert it, ONNX must know the types of its calls' inputs, which other functions may give."""
    part = infer_types(outline(model))
    part.ClearField("functions")
    part.functions.append(function)
    write_defaults(part)
    try:
        inlined = inliner.inline_local_functions(part, convert_version=True)
    except RuntimeError as error:  # of a call that does not fit, and of nodes that cannot be converted
        raise ModelError(
            f"the model's function {function.domain}::{function.name} cannot be inlined: {error}"
        ) from None
    # The outline has no large initializers, and what the inliner does to graphs does not concern them.
    model.graph.ClearField("node")
    model.graph.node.extend(inlined.graph.node)
    model.ClearField("opset_import")
    model.opset_import.extend(inlined.opset_import)
