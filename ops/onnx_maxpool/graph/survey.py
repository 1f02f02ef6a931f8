"""One look at a model: our operators in it, and the types that ONNX infers for them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import onnx

from onnx_maxpool.graph.inference import infer, outline, tensor_types
from onnx_maxpool.graph.nodes import OperatorNode, operator_nodes


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

    @cached_property
    def types(self) -> Mapping[str, onnx.TypeProto.Tensor]:
        """The types of the values in `calls` that stand in the graph, by name, as far as they are known.

        A function that could not be inlined has values of its own, whose names say nothing here.
        """
        return dict(tensor_types(self._inferred.graph)) if self.nodes else {}

    def types_of(self, call: OperatorNode) -> Mapping[str, onnx.TypeProto.Tensor]:
        """The types that are known where one of `calls` stands."""
        return self.types if call.place.startswith("graph") else {}
