"""Hold ONNX Runtime's outputs to the reference evaluator's, exactly: rules G3, G4 and G6."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import onnxruntime as ort
from onnx.reference import ReferenceEvaluator

from onnx_maxpool.adapters.arrays import run
from onnx_maxpool.difference import Difference, first_difference
from onnx_maxpool.types import Array


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
