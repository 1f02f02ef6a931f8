"""The order of a graph's nodes."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from onnx_maxpool.graph.nodes import subgraphs


def sort_nodes(graph: onnx.GraphProto) -> None:
    """Put each node behind those whose outputs it reads, as ONNX wants it, and ONNX Runtime in subgraphs only.

    Others stay in their order, and so do all where nodes read each other's outputs.
    """
    order = _order(list(graph.node))
    if order is None or order == list(range(len(order))):
        return
    nodes = graph.node
    copies = onnx.GraphProto(node=(nodes[i] for i in order))  # what is cleared may not be read again
    graph.ClearField("node")
    graph.node.extend(copies.node)


def _order(nodes: list[onnx.NodeProto]) -> list[int] | None:
    """The nodes' numbers, sorted; None where there is no such order."""
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}

    def needs(i: int) -> Iterator[int]:
        return (makers[name] for name in _reads(nodes[i]) if makers.get(name, i) != i)

    order: list[int] = []
    placed: set[int] = set()
    for first in range(len(nodes)):
        waiting = {} if first in placed else {first: needs(first)}  # the last one is placed first
        while waiting:
            current = next(reversed(waiting))
            missing = next((i for i in waiting[current] if i not in placed), None)
            if missing is None:
                del waiting[current]
                placed.add(current)
                order.append(current)
            elif missing in waiting:
                return None
            else:
                waiting[missing] = needs(missing)
    return order


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """The names of what a node and its subgraphs read of the graph that it stands in, or of those around that."""
    yield from node.input
    for _, graph in subgraphs(node):
        own = {value.name for value in (*graph.input, *graph.initializer)}
        own.update(sparse.values.name for sparse in graph.sparse_initializer)
        own.update(name for each in graph.node for name in each.output)
        read = [name for each in graph.node for name in _reads(each)] + [value.name for value in graph.output]
        yield from (name for name in read if name not in own)
