"""A model's own local functions with the domain and name of one of our operators.

ONNX Runtime without our library and onnx.reference run the function. With it a registered operator comes before the
function, and in ONNX's inference a schema does: there the function needs another name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import onnx

from onnx_maxpool.graph.nodes import FunctionKey, every_node, own_functions
from onnx_maxpool.graph.rewriting import fresh_name


def rename_own_functions(model: onnx.ModelProto) -> dict[tuple[str, str], str]:
    """Give the model's own functions names that no operator has, in their calls too; the model is changed.

    Returns the names that they had, by domain and new name.
    """
    own = own_functions(model)
    if not own:
        return {}
    taken = {(function.domain, function.name) for function in model.functions}
    taken |= {(node.domain, node.op_type) for node in _nodes(model)}
    renamed: dict[FunctionKey, str] = {}
    for domain, name, overload in sorted(own):
        in_domain = {name for other, name in taken if other == domain}
        new = fresh_name(f"{name}_of_the_model", in_domain.__contains__)
        taken.add((domain, new))
        renamed[domain, name, overload] = new
    for function in model.functions:
        function.name = renamed.get((function.domain, function.name, function.overload), function.name)
    for node in _nodes(model):
        node.op_type = renamed.get((node.domain, node.op_type, node.overload), node.op_type)
    return {(domain, new): name for (domain, name, _), new in renamed.items()}


def restore_own_functions(model: onnx.ModelProto, names: Mapping[tuple[str, str], str]) -> None:
    """Undo `rename_own_functions`, which returned `names`."""
    if not names:
        return
    for function in model.functions:
        function.name = names.get((function.domain, function.name), function.name)
    for node in _nodes(model):
        node.op_type = names.get((node.domain, node.op_type), node.op_type)


def _nodes(model: onnx.ModelProto) -> Iterator[onnx.NodeProto]:
    """Of the graph, the functions and their subgraphs."""
    yield from every_node(model.graph.node)
    for function in model.functions:
        yield from every_node(function.node)
