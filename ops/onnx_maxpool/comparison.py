"""Hold ONNX Runtime's outputs to the reference evaluator's, exactly: rules G3, G4 and G6."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

from onnx_maxpool.aliases import Array, BinEdges
from onnx_maxpool.errors import element_type, shape
from onnx_maxpool.local_functions import callees_first
from onnx_maxpool.model_files import Model, read_model
from onnx_maxpool.model_nodes import canonical_domain, every_node
from onnx_maxpool.ort_values import run
from onnx_maxpool.reference import reference_ops


@dataclass(frozen=True)
class Difference:
    """How two tensors differ; its text is a full sentence's worth for a report."""

    what: str
    """`element type`, `shape` or `cells`; the first of these that differs."""
    expected: str
    actual: str
    index: tuple[int, ...] | None = None
    """The first differing cell in row-major order, where cells differ."""
    count: int = 0
    """How many cells differ."""
    size: int = 0
    """How many cells there are."""

    def __str__(self) -> str:
        if self.index is None:
            return f"{self.what} is {self.actual}, expected {self.expected}"
        cells = f"{self.count} of {self.size} cells differ"
        return f"{cells}, first at {shape(self.index)}: {self.actual}, expected {self.expected}"


@dataclass(frozen=True)
class Comparison:
    """A model's outputs, compared, and the seconds that either side took."""

    differences: Mapping[str, Difference | None]
    """By output name; None where equal."""
    expected: Mapping[str, Array]
    actual: Mapping[str, Array]
    reference_seconds: float
    runtime_seconds: float

    @property
    def equal(self) -> bool:
        """Whether every output is."""
        return all(difference is None for difference in self.differences.values())


def first_difference(expected: Array, actual: Array) -> Difference | None:
    """Where `actual` first differs from `expected`, in element type, shape or cells; None if it does not.

    NaN equals NaN and +0 equals -0 (G3, G4); beyond that cells are equal or not, with no tolerance (G6).
    """
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.dtype != actual.dtype:
        return Difference("element type", element_type(expected), element_type(actual))
    if expected.shape != actual.shape:
        return Difference("shape", shape(expected.shape), shape(actual.shape))
    differs = (expected != actual) & ~((expected != expected) & (actual != actual))  # only a NaN is not itself
    differs = np.asarray(differs, dtype=np.bool_)
    if not differs.any():
        return None
    index = tuple(int(i) for i in np.unravel_index(differs.argmax(), differs.shape))
    count = int(np.count_nonzero(differs))
    return Difference("cells", str(expected[index]), str(actual[index]), index, count, differs.size)


def compare(session: ort.InferenceSession, evaluator: ReferenceEvaluator, inputs: Mapping[str, Array]) -> Comparison:
    """Run both on the same inputs and compare every output of the model.

    `session` comes from `native.load`, `evaluator` from `reference_evaluator`. Whatever either raises, it raises here.
    """
    names = [output.name for output in session.get_outputs()]
    start = time.perf_counter()
    actual = dict(zip(names, run(session, inputs), strict=True))
    middle = time.perf_counter()
    results = evaluator.run(names, dict(inputs))
    end = time.perf_counter()
    expected = {name: np.asarray(result) for name, result in zip(names, results, strict=True)}
    differences = {name: first_difference(expected[name], actual[name]) for name in names}
    return Comparison(differences, expected, actual, end - middle, middle - start)


def reference_evaluator(model: Model, *, bin_edges: BinEdges = "exact") -> ReferenceEvaluator:
    """onnx.reference's evaluator with our operators, in subgraphs and in local functions too.

    `model` is a path, whose external data is loaded, serialized bytes or a ModelProto that holds its data; it is not
    changed. Raises what `read_model` raises.
    """
    whole = onnx.ModelProto()
    whole.CopyFrom(read_model(model, "load"))
    for part in (whole, *whole.functions):
        for entry in part.opset_import:
            entry.domain = canonical_domain(entry.domain)
    for nodes in (whole.graph.node, *(function.node for function in whole.functions)):
        for node in every_node(nodes):
            node.domain = canonical_domain(node.domain)
    # Given a model, onnx's evaluator makes evaluators for its functions that do not know `new_ops`: made here instead.
    operators = reference_ops(bin_edges=bin_edges)
    functions: list[ReferenceEvaluator | onnx.FunctionProto] = []
    for function in callees_first(whole.functions):
        functions.append(ReferenceEvaluator(function, functions=[*functions], new_ops=operators))
    opsets = {entry.domain: entry.version for entry in whole.opset_import}
    return ReferenceEvaluator(whole.graph, opsets=opsets, functions=functions, new_ops=operators)
