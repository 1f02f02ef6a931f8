"""Compare a model's outputs with another's, and its nodes with the reference: rules G3, G4 and G6.

Outputs: the first difference, and how far they are apart. Our nodes: exactly, each on the inputs that it really got.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import defs
from onnx.reference import ReferenceEvaluator

from onnx_maxpool.adapters.arrays import run, tensors
from onnx_maxpool.adapters.python.calls import Call
from onnx_maxpool.adapters.python.observing import observed_session
from onnx_maxpool.cli.inputs import needed_inputs
from onnx_maxpool.difference import Difference, differing_cells, first_difference
from onnx_maxpool.errors import InputError, ModelError, OperatorError
from onnx_maxpool.graph.nodes import canonical_domain, model_nodes
from onnx_maxpool.graph.reading import Model
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.schemas import register_schemas
from onnx_maxpool.types import Array, BinEdges, element_type, type_name

TOLERANCES = {"float16": 1e-2, "bfloat16": 5e-2, "float": 1e-4, "double": 1e-4}
"""How far outputs may be apart, by their element type, in parts of an output's largest value.

Runtimes sum a Conv or a Gemm in other orders: sums of 25,088 floats are 1e-6 apart, those of float16 6e-4, and layers
add up. A wrong cell of a pooling is not: it is apart by the difference of two cells. Other types, such as indices, must
be equal.
"""


MISSING = np.empty(0, np.void(1).dtype)
"""In the place of a tensor that only the other run's sequence has; of a type that no tensor has."""


@dataclass(frozen=True)
class Deviation:
    """How far two tensors are apart; infinite where types or shapes differ, or a cell is finite in only one of them."""

    absolute: float
    """The largest difference of two cells."""
    relative: float
    """That, in parts of the largest finite value that is expected."""


@dataclass(frozen=True)
class Comparison:
    """A model's outputs, compared, and the seconds that either side took."""

    differences: Mapping[str, Difference | None]
    """By output name; None where equal."""
    expected: Mapping[str, Array]
    actual: Mapping[str, Array]
    expected_seconds: float
    actual_seconds: float

    @property
    def equal(self) -> bool:
        """Whether every output is."""
        return all(difference is None for difference in self.differences.values())

    @cached_property
    def deviations(self) -> dict[str, Deviation]:
        """By output name."""
        return {name: deviation(self.expected[name], self.actual[name]) for name in self.differences}

    def within(self, name: str, tolerance: float | None = None) -> bool:
        """Whether the output differs by no more than `tolerance`, by default its type's, of its largest value."""
        if tolerance is None:
            tolerance = TOLERANCES.get(element_type(self.expected[name]), 0.0)
        return self.differences[name] is None or self.deviations[name].relative <= tolerance


def compare(session: ort.InferenceSession, evaluator: ReferenceEvaluator, inputs: Mapping[str, Array]) -> Comparison:
    """Run both on the same inputs and compare every output of the model with what the evaluator gives.

    `session` comes from `load`, `evaluator` from `reference_evaluator`. Raises what the session raises, and for the
    evaluator what `reference_errors` raises.
    """
    names = [output.name for output in session.get_outputs()]
    actual, actual_seconds = _timed(lambda: run(session, inputs, names))
    with reference_errors():
        expected, expected_seconds = _timed(lambda: [*evaluator.run(names, dict(inputs))])
    return _compared(names, expected, expected_seconds, actual, actual_seconds)


@contextmanager
def reference_errors() -> Iterator[None]:
    """Raise RuntimeError, which says whose error it is, for whatever onnx's reference evaluator raises of its own.

    It raises errors of many kinds for operators that it does not know or computes wrong. Ours stay as they are, and so
    do those of files and memory.
    """
    try:
        yield
    except (OperatorError, ModelError, OSError, MemoryError):
        raise
    except Exception as error:
        raise RuntimeError(
            f"onnx's reference evaluator cannot run the model: {type(error).__name__}: {str(error).strip()}"
        ) from error


def check_reference(model: onnx.ModelProto) -> None:
    """Raise RuntimeError for a node of an operator that onnx does not know: its reference evaluator cannot run it.

    Such operators come from other libraries of custom operators.
    """
    register_schemas()
    functions = {(function.domain, function.name) for function in model.functions}
    for node in model_nodes(model):
        if (node.domain, node.op_type) in functions or defs.has(node.op_type, canonical_domain(node.domain)):
            continue
        name = node.name or next(iter(node.output), "")
        raise RuntimeError(
            f"onnx's reference evaluator cannot run the model: node '{name}' is {node.op_type} of domain "
            f"{node.domain or 'ai.onnx'}, expected an operator that onnx knows. The model's outputs are not compared: "
            "give another model to compare with, for example what onnx-maxpool convert writes"
        )


def check_comparable(first: onnx.ModelProto, second: onnx.ModelProto) -> None:
    """Raise InputError for two models that have not the same inputs and outputs, by name, and types of inputs.

    Shapes are for ONNX Runtime to compare with the arrays.
    """
    inputs = needed_inputs(first), needed_inputs(second)
    outputs = [{value.name: value for value in model.graph.output} for model in (first, second)]
    for what, (expected, found) in {"inputs": inputs, "outputs": outputs}.items():
        if set(expected) != set(found):
            raise InputError(f"the second model has the {what} {', '.join(found)}, expected {', '.join(expected)}")
    for name in inputs[0]:
        expected_type, found_type = (type_name(each[name].type.tensor_type.elem_type) for each in inputs)
        if expected_type != found_type:
            raise InputError(f"the second model's input {name!r} is {found_type}, expected {expected_type}")


def compare_sessions(
    expected: ort.InferenceSession, actual: ort.InferenceSession, inputs: Mapping[str, Array]
) -> Comparison:
    """Run two models on the same inputs and compare their outputs by name; of the second, `actual`, with the first's.

    They are as `check_comparable` requires. Raises what either raises.
    """
    names = [output.name for output in expected.get_outputs()]
    expected_arrays, expected_seconds = _timed(lambda: run(expected, inputs, names))
    actual_arrays, actual_seconds = _timed(lambda: run(actual, inputs, names))
    return _compared(names, expected_arrays, expected_seconds, actual_arrays, actual_seconds)


def _timed(function: Callable[[], list[Array]]) -> tuple[list[Array], float]:
    start = time.perf_counter()
    outputs = function()
    return outputs, time.perf_counter() - start


def _compared(
    names: list[str], expected: list[Array], expected_seconds: float, actual: list[Array], actual_seconds: float
) -> Comparison:
    pairs = paired(names, expected, actual)
    differences = {name: tensor_difference(*pair) for name, pair in pairs.items()}
    wanted, got = ({name: pair[side] for name, pair in pairs.items()} for side in (0, 1))
    return Comparison(differences, wanted, got, expected_seconds, actual_seconds)


def paired(names: Sequence[str], expected: Sequence[Any], actual: Sequence[Any]) -> dict[str, tuple[Array, Array]]:
    """The outputs of two runs, tensor by tensor; those of a sequence as `tensors` names them."""
    wanted, got = (tensors(dict(zip(names, outputs, strict=True))) for outputs in (expected, actual))
    return {name: (wanted.get(name, MISSING), got.get(name, MISSING)) for name in dict.fromkeys((*wanted, *got))}


def tensor_difference(expected: Array, actual: Array) -> Difference | None:
    """`first_difference` of two that `paired` gave."""
    if expected is MISSING or actual is MISSING:
        wanted, found = ("none" if array is MISSING else "one" for array in (expected, actual))
        return Difference("tensor", wanted, found)
    return first_difference(expected, actual)


def deviation(expected: Array, actual: Array) -> Deviation:
    """How far two tensors are apart; cells that `first_difference` takes for equal, such as two NaN, are not."""
    if expected.dtype != actual.dtype or expected.shape != actual.shape:
        return Deviation(np.inf, np.inf)
    differs = differing_cells(expected, actual)
    if not differs.any():
        return Deviation(0.0, 0.0)
    if expected.dtype.kind in "OSU":  # strings
        return Deviation(np.inf, np.inf)
    real = np.complex128 if expected.dtype.kind == "c" else np.float64
    # Doubles hold every float exactly, but not 64-bit integers: those are subtracted as Python's.
    exact = np.dtype(object if expected.dtype.kind in "iub" else real)
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(expected[differs].astype(exact) - actual[differs].astype(exact)).astype(np.float64)
        sizes = np.abs(expected.astype(real))
    absolute = float(np.where(np.isnan(apart), np.inf, apart).max())
    largest = float(np.where(np.isfinite(sizes), sizes, 0).max())
    return Deviation(absolute, absolute / largest if largest else np.inf)


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
