"""The order of a graph's nodes."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from onnx_maxpool.graph.nodes import every_node, subgraphs


def sort_nodes(graph: onnx.GraphProto) -> None:
    """Put each node behind those whose outputs it reads, as ONNX wants it, and ONNX Runtime in subgraphs only.

    Others stay in their order, and so do all where nodes read each other's outputs.
    """
    nodes = list(graph.node)
    makers = {name: i for i, node in enumerate(nodes) for name in node.output if name}
    needed = [{makers[name] for name in _reads(node) if name in makers} - {i} for i, node in enumerate(nodes)]
    order: list[int] = []
    placed: set[int] = set()
    for first in range(len(nodes)):
        waiting = [first]
        while waiting:
            missing = sorted(needed[waiting[-1]] - placed)
            if waiting[-1] in placed or not missing:
                last = waiting.pop()
                if last not in placed:
                    placed.add(last)
                    order.append(last)
            elif missing[0] in waiting:
                return
            else:
                waiting.append(missing[0])
    if order != sorted(order):
        copies = onnx.GraphProto(node=(nodes[i] for i in order))  # what is cleared may not be read again
        graph.ClearField("node")
        graph.node.extend(copies.node)


def _reads(node: onnx.NodeProto) -> Iterator[str]:
    """The names of what a node and the nodes of its subgraphs read, and of what the subgraphs give."""
    for each in every_node([node]):
        yield from each.input
        for _, subgraph in subgraphs(each):
            yield from (value.name for value in subgraph.output)
