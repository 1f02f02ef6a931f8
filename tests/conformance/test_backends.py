"""Adapters of runtimes that the tests' own environment has, by what is known of these."""

from __future__ import annotations

import re

import pytest

from onnx_maxpool.conformance import BackendRun, Outcome, all_cases, run_backend


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


def test_torchvision_pools_rois_in_the_types_that_it_has() -> None:
    pytest.importorskip("torchvision")
    names = "^max_roi_pool_22_(float|double|bfloat16|minus_infinity|roi_rank)$|^roi_pooling_1_(float|rois_of_two_.*)$"
    run = asked("torchvision", names)
    for name in ("max_roi_pool_22_float", "max_roi_pool_22_double", "roi_pooling_1_float"):
        assert outcome(run, name) is Outcome.PASS, name
    assert outcome(run, "max_roi_pool_22_bfloat16") is Outcome.UNSUPPORTED
    lowest = next(result for result in run.results if result.case.name == "max_roi_pool_22_minus_infinity")
    assert lowest.answers == ("maximum starts at the lowest finite number",)
    for result in run.results:
        if result.case.refuses:
            assert result.outcome is Outcome.PASS, (result.case.name, result.detail)
