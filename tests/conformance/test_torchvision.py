"""torchvision's ROI pooling in the suite, by what is known of it."""

from __future__ import annotations

import re

import pytest

from onnx_maxpool.conformance import BackendRun, Outcome, all_cases, run_backend

pytestmark = pytest.mark.slow("asks torchvision for many draws")


def asked(backend: str, pattern: str) -> BackendRun:
    return run_backend(backend, [case for case in all_cases() if re.search(pattern, case.name)], repeat=1)


def outcome(run: BackendRun, name: str) -> Outcome:
    return next(result.outcome for result in run.results if result.case.name == name)


def test_torchvision_pools_rois_in_the_types_that_it_has() -> None:
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
