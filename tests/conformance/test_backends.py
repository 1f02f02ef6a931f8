"""An adapter of a runtime that every environment of the tests has, by what is known of that."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

from onnx_maxpool.conformance import BackendRun, Outcome, all_cases, run_backend
from onnx_maxpool.conformance.backends import BACKENDS

ROOT = Path(__file__).parent.parent.parent


def asked(backend: str, pattern: str) -> BackendRun:
    return run_backend(backend, [case for case in all_cases() if re.search(pattern, case.name)], repeat=1)


def outcome(run: BackendRun, name: str) -> Outcome:
    return next(result.outcome for result in run.results if result.case.name == name)


def test_onnxs_reference_has_max_pool_and_its_indices_are_wrong() -> None:
    """Of a window of 1 x 4 in a row of 4 cells it gives 4, which is no cell of the row."""
    run = asked("onnx-reference", "^max_pooling1_5_(negative_cells|values_alone)$|^max_roi_pool_22_float$")
    assert outcome(run, "max_roi_pool_22_float") is Outcome.UNSUPPORTED
    assert outcome(run, "max_pooling1_5_values_alone") is Outcome.PASS
    wrong = next(result for result in run.results if result.case.name == "max_pooling1_5_negative_cells")
    assert (wrong.outcome, wrong.detail) == (
        Outcome.FAIL,
        "Indices: 1 of 1 cells differ, first at [0,0,0,0]: 4, expected 1",
    )


def test_every_backend_runs_in_one_environment_of_the_script_that_asks_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    namespace = runpy.run_path(str(ROOT / "scripts" / "ask_backends.py"))
    placed = [*namespace["OWN"], *(name for backends in namespace["ENVIRONMENTS"].values() for name in backends)]
    assert sorted(placed) == sorted(BACKENDS)
