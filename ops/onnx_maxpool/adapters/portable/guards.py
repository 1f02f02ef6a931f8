"""What a converted model says of inputs that it rejects: the names of its guard nodes.

Standard operators have none that ends a run with a sentence. So a guard is a Concat of parts that do not fit, and its
name is the sentence: ONNX Runtime and OpenVINO put the name of the node that fails into their messages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from onnx import NodeProto

from onnx_maxpool.facts import LARGEST_SIDE
from onnx_maxpool.graph.nodes import every_node
from onnx_maxpool.operators.registry import newest_versions

GUARDS = {
    "x_has_4_dimensions_and_rois_are_r_by_5": "X or rois has another shape, expected X [N,C,H,W] and rois [R,5]",
    "rois_begin_with_two_dimensions_of_1": "rois has another shape, expected [1,1,R,5]",
    "every_batch_is_in_range": "rois has a batch number that no image has, expected one of an image in X, from 0 on",
    "no_coordinate_is_nan": "rois has a coordinate that is NaN, expected a number",
    "every_axis_has_a_window": "X is too small for a window along dimension {dimension}, "
    "expected room for one, padding included",
    "every_size_is_in_range": "output_size has a size out of range or too many or too few sizes, "
    f"expected one from 1 to {LARGEST_SIDE} for each spatial dimension of X",
    "x_has_cells": "X has a spatial dimension of size 0, expected at least 1",
}
"""What is wrong and what is required, by the value in the functions' text that is `Require`'s output.

A guard that stands once for each spatial dimension names it: names of nodes must differ.
"""

FIRST_SPATIAL = 2
"""The dimension of X, behind N and C."""

LAST = "fitted"
"""The value in `Require` of the node that fails."""

FAILED = re.compile(rf"Name:'\S*?((?:{'|'.join(row.name for row in newest_versions())}) \(.*?\): .*?)' Status Message:")
"""How ONNX Runtime names a guard: as the model does, in a function with something before it."""


def name_guards(nodes: Iterable[NodeProto], operator: str, place: str) -> None:
    """Give the guards among the nodes that stand for an operator their sentences. `place` says which node it was."""
    found = Counter[str]()
    for node in every_node(nodes):
        *_, guard, value = ("", *node.name.split("/"))
        if value == LAST and guard in GUARDS:
            said = GUARDS[guard].format(dimension=FIRST_SPATIAL + found[guard])
            node.name = f"{operator} ({place}): {said}"
            found[guard] += 1


def said_by_guard(message: str) -> str | None:
    """The sentence of the guard that ONNX Runtime's message is about; None if it is about another node."""
    found = FAILED.search(message)
    return found[1] if found else None
