"""Which values of a graph other values are computed from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from onnx import GraphProto, NodeProto

from onnx_maxpool.graph.nodes import subgraphs

Sources = Mapping[str, set[str]]


def all_inputs(node: NodeProto) -> list[str]:
    """What a node reads."""
    return list(node.input)


def sources_of(graph: GraphProto, inputs: Callable[[NodeProto], Iterable[str]] = all_inputs) -> Sources:
    """For each value, the values that it is computed from, subgraphs included; `inputs` says which of a node count.

    What flows in and out of a subgraph is not told apart, so there may be too many, but never too few.
    """
    sources: dict[str, set[str]] = defaultdict(set)
    for node in graph.node:
        inside: set[str] = set()
        for _, subgraph in subgraphs(node):
            inside |= {value.name for value in subgraph.output}
            for name, values in sources_of(subgraph, inputs).items():
                sources[name] |= values
            for value in subgraph.input:
                sources[value.name] |= set(inputs(node))
        for name in node.output:
            sources[name] |= {*inputs(node), *inside}
    return sources


def inverse(sources: Sources) -> Sources:
    """For each value, the values that are computed from it."""
    users: dict[str, set[str]] = defaultdict(set)
    for name, values in sources.items():
        for value in values:
            users[value].add(name)
    return users


def ancestors(names: Iterable[str], sources: Sources) -> set[str]:
    """The values that these are computed from, these included; of an inverse, those that are computed from them."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        value = waiting.pop()
        if value not in found:
            found.add(value)
            waiting.extend(sources.get(value, ()))
    return found
