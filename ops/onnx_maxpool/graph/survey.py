"""What a model asks of our operators: their nodes, and the types of what these get, in local functions too."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from functools import cached_property

import onnx

from onnx_maxpool.graph.dimensions import declared_values
from onnx_maxpool.graph.functions import import_domains_of_functions, inlined
from onnx_maxpool.graph.inference import infer_types, outline
from onnx_maxpool.graph.inlining import inline_functions
from onnx_maxpool.graph.nodes import OperatorNode, operator_nodes
from onnx_maxpool.graph.rewriting import rename_own_functions
from onnx_maxpool.operators.registry import newest_versions
from onnx_maxpool.operators.schemas import register_schemas


def infer(model: onnx.ModelProto) -> onnx.ModelProto:
    """An outline with its local functions inlined, and with the types and shapes that ONNX infers.

    Functions that hold our operators, or call ones that do, are converted to the model's opset where they import
    another; others with another opset stay. What the inliner rejects is not inlined: what is wrong with it is for a
    runtime to say. The model, an outline, may change.
    """
    if not model.functions:
        return infer_types(model)
    register_schemas()
    rename_own_functions(model)
    import_domains_of_functions(model)
    plain = model
    with contextlib.suppress(RuntimeError, ValueError):
        plain = inlined(model)
    if any(found.place.startswith("function") for found in operator_nodes(plain)):
        with contextlib.suppress(RuntimeError, ValueError):  # one that cannot be converted keeps all as they are
            converted = onnx.ModelProto()
            converted.CopyFrom(plain)
            inline_functions(converted, {row.name for row in newest_versions()})
            plain = inlined(converted)
    return infer_types(plain)


class Survey:
    """What a model asks of our operators. Nodes are searched for once, and types are inferred once they are asked for.

    The model is not changed, and is to stay as it is while the survey is in use.
    """

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.nodes = tuple(operator_nodes(model))
        """Our operators as the model has them."""

    @cached_property
    def calls(self) -> tuple[tuple[int, OperatorNode], ...]:
        """Our operators where local functions are inlined, each with the place in `nodes` of the one that it is.

        One that stands in a function is here once for every call of the function, in the version that the function
        imports. Where functions cannot be inlined, the nodes are as the model has them.
        """
        return self._calls(outline(self.model))

    @cached_property
    def calls_by_inputs(self) -> tuple[tuple[int, OperatorNode], ...]:
        """The same, with only the shapes that follow from those of the model's inputs: others may be stale."""
        small = outline(self.model)
        inputs = {value.name for value in small.graph.input}
        for value in declared_values(small.graph):
            if value.name not in inputs and value.type.HasField("tensor_type"):
                value.type.tensor_type.ClearField("shape")
        return self._calls(small)

    def _calls(self, small: onnx.ModelProto) -> tuple[tuple[int, OperatorNode], ...]:
        if not self.nodes:
            return ()
        # Inlining copies and renames nodes: a mark leads back to the one that the model has.
        for i, found in enumerate(operator_nodes(small)):
            found.node.doc_string = str(i)
        marked = ((int(found.node.doc_string), found) for found in operator_nodes(infer(small)))
        return tuple(
            (i, replace(found, opset=self.nodes[i].opset, version=self.nodes[i].version)) for i, found in marked
        )
