"""Compare a model's outputs with another's: first difference (rules G3, G4 and G6), and how far they are apart."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import onnx
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

from onnx_maxpool.adapters.arrays import run
from onnx_maxpool.cli.inputs import needed_inputs
from onnx_maxpool.difference import Difference, differing_cells, first_difference
from onnx_maxpool.errors import InputError
from onnx_maxpool.types import Array, element_type, type_name

TOLERANCES = {"float16": 1e-2, "bfloat16": 5e-2, "float": 1e-4, "double": 1e-4}
"""How far outputs may be apart, by their element type, in parts of an output's largest value.

Runtimes sum a Conv or a Gemm in other orders: sums of 25,088 floats are 1e-6 apart, those of float16 6e-4, and layers
add up. A wrong cell of a pooling is not: it is apart by the difference of two cells. Other types, such as indices, must
be equal.
"""


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

    `session` comes from `load`, `evaluator` from `reference_evaluator`. Whatever either raises, it raises here.
    """
    names = [output.name for output in session.get_outputs()]
    actual, actual_seconds = _timed(lambda: run(session, inputs, names))
    expected, expected_seconds = _timed(lambda: [*evaluator.run(names, dict(inputs))])
    return _compared(names, expected, expected_seconds, actual, actual_seconds)


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
    wanted = {name: np.asarray(array) for name, array in zip(names, expected, strict=True)}
    got = dict(zip(names, actual, strict=True))
    differences = {name: first_difference(wanted[name], got[name]) for name in names}
    return Comparison(differences, wanted, got, expected_seconds, actual_seconds)


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
