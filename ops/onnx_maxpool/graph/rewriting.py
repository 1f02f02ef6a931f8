"""Put other nodes in the place of some, with names that the model has not; and give its own functions other names.

A model may have local functions with the domain and name of one of our operators. ONNX Runtime without our library and
onnx.reference run the function. With it a registered operator comes before the function, and in ONNX's inference a
schema does: there the function needs another name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from onnx import GraphProto, ModelProto, NodeProto

from onnx_maxpool.graph.nodes import (
    FunctionKey,
    OperatorNode,
    Resolver,
    called,
    inside,
    key_of,
    model_nodes,
    names,
    own_functions,
    subgraphs,
)
from onnx_maxpool.graph.scopes import Scope


class Rewriter:
    """Puts other nodes in the place of our operators, in a model's graph and its subgraphs.

    A subclass says which. The model's functions stay: inline those that hold our operators first.
    """

    def __init__(self, model: ModelProto) -> None:
        self.model = model
        self.resolver = Resolver.of_model(model)
        self.taken = set(names(model.graph))
        """Names that something in the model has, and beginnings of names, which end in a slash."""

    def rewrite(self) -> None:
        """Change the model."""
        self.rewrite_graph(Scope(self.model.graph))

    def replacement(self, node: NodeProto, scope: Scope) -> Iterable[NodeProto] | None:
        """The nodes that take a node's place; None where it stays."""
        found = self.resolver.operator_node(node, scope.place, scope)
        return None if found is None else self.operator_replacement(found, scope)

    def operator_replacement(self, found: OperatorNode, scope: Scope) -> Iterable[NodeProto] | None:
        """The nodes that take the place of one of our operators; None where it stays."""
        raise NotImplementedError

    def fresh(self, wish: str) -> str:
        """A name that no value of the model has, and no node."""
        name = fresh_name(wish, self.taken.__contains__)
        self.taken.add(name)
        return name

    def fresh_prefix(self, wish: str) -> str:
        """A prefix with which no name begins as `prefix/...`."""
        prefix = fresh_name(wish, lambda prefix: any(name.startswith(f"{prefix}/") for name in self.taken))
        self.taken.add(f"{prefix}/")
        return prefix

    def rewrite_graph(self, scope: Scope) -> None:
        """Change one graph, and those inside it."""
        kept = GraphProto(node=self._rewritten(scope))  # copies: what is cleared may not be read again
        scope.graph.ClearField("node")
        scope.graph.node.extend(kept.node)

    def _rewritten(self, scope: Scope) -> Iterator[NodeProto]:
        for node in scope.graph.node:
            others = self.replacement(node, scope)
            if others is not None:
                yield from others
                continue
            for attribute, subgraph in subgraphs(node):
                self.rewrite_graph(Scope(subgraph, inside(scope.place, node, attribute), scope))
            yield node


def fresh_name(wish: str, is_taken: Callable[[str], bool]) -> str:
    """The name that is wished for, or where it is taken the first of `wish_1`, `wish_2` and so on that is not."""
    name, number = wish, 0
    while is_taken(name):
        number += 1
        name = f"{wish}_{number}"
    return name


def rename_own_functions(model: ModelProto) -> dict[tuple[str, str], str]:
    """Give the model's own functions names that no operator has, in their calls too; the model is changed.

    Returns the names that they had, by domain and new name.
    """
    own = own_functions(model)
    if not own:
        return {}
    taken = {(function.domain, function.name) for function in model.functions}
    taken |= {(node.domain, node.op_type) for node in model_nodes(model)}
    renamed: dict[FunctionKey, str] = {}
    for domain, name, overload in sorted(own):
        in_domain = {name for other, name in taken if other == domain}
        new = fresh_name(f"{name}_of_the_model", in_domain.__contains__)
        taken.add((domain, new))
        renamed[domain, name, overload] = new
    for function in model.functions:
        function.name = renamed.get(key_of(function), function.name)
    for node in model_nodes(model):
        node.op_type = renamed.get(called(node), node.op_type)
    return {(domain, new): name for (domain, name, _), new in renamed.items()}


def restore_own_functions(model: ModelProto, names: Mapping[tuple[str, str], str]) -> None:
    """Undo `rename_own_functions`, which returned `names`."""
    if not names:
        return
    for function in model.functions:
        function.name = names.get((function.domain, function.name), function.name)
    for node in model_nodes(model):
        node.op_type = names.get((node.domain, node.op_type), node.op_type)
