"""Compare our nodes of a model with the reference, exactly, each on the inputs that it really got: rules G3, G4, G6."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import onnxruntime as ort

from onnx_maxpool.adapters.arrays import run
from onnx_maxpool.adapters.python.calls import Call
from onnx_maxpool.adapters.python.observing import observed_session
from onnx_maxpool.difference import first_difference
from onnx_maxpool.errors import OperatorError
from onnx_maxpool.graph.reading import Model
from onnx_maxpool.operators import operator
from onnx_maxpool.types import Array, BinEdges


@dataclass
class NodeComparison:
    """One of our nodes, in all its runs."""

    label: str
    """Its name and place; a function's node stands once, whoever calls it."""
    operator: str
    """With its version, `MaxRoiPool-22`."""
    runs: int = 0
    """How often it ran: a Loop's in each iteration, a function's in each call, one in a branch not taken never."""
    difference: str | None = None
    """The first run that differs, which output, and where; None where all are equal."""
    not_compared: str | None = None
    """Why the node cannot be compared; None where it can."""


def compare_nodes(
    model: Model,
    inputs: Mapping[str, Array],
    sess_options: ort.SessionOptions | None = None,
    *,
    bin_edges: BinEdges | None = None,
) -> list[NodeComparison]:
    """Run `model` in ONNX Runtime and compare what each of our nodes gave with the reference's answer to what it got.

    `sess_options` must be new ones. Raises what `load` and the run raise.
    """
    nodes: list[NodeComparison] = []
    folded: list[tuple[int, Call, Sequence[Array], Sequence[Array]]] = []

    def observe(number: int, call: Call, given: Sequence[Array], found: Sequence[Array]) -> None:
        if not nodes:  # ONNX Runtime runs nodes whose inputs are constants while it makes the session
            folded.append((number, call, given, found))
            return
        node = nodes[number]
        node.runs += 1
        if node.difference is None:
            difference = _difference(call, given, found)
            node.difference = difference and f"run {node.runs}: {difference}"

    observed = observed_session(model, observe, sess_options, bin_edges=bin_edges)
    for i, found in enumerate(observed.nodes):
        nodes.append(NodeComparison(found.label, found.operator, not_compared=observed.unobserved.get(i)))
    for seen in folded:
        observe(*seen)
    if nodes:
        run(observed.session, inputs)
    return nodes


def _difference(call: Call, given: Sequence[Array], found: Sequence[Array]) -> str | None:
    """How `found` differs from the reference's outputs; None where it does not."""
    definition = operator(call.operator)
    try:
        expected = definition.compute(
            call.version, *given, with_index=len(found) > 1, bin_edges=call.bin_edges, **call.attributes
        )
    except OperatorError as error:
        return f"the reference rejects the inputs: {error}"
    for name, wanted, got in zip(definition.outputs, expected, found, strict=False):
        difference = first_difference(wanted, got)
        if difference is not None:
            return f"{name}: {difference}"
    return None
