"""RoiPooling in ONNX Runtime and in the reference: rules D1 and D2. It is MaxRoiPool for another ROI tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracle
import pytest
import roi_cases
from pool_cases import (
    Array,
    Refusal,
    Run,
    assert_same,
    both,
    check_attribute_refusal,
    check_refusal,
    check_type_refusal,
    dtype_of,
    model,
)

import onnx_maxpool

NAME, OPSET = "RoiPooling", 1
MAP = np.zeros((2, 1, 4, 4), np.float32)
GOOD_ROI = [0, 0, 0, 1, 1]


def feeds(x: Array, rois: Any) -> dict[str, Array]:
    return {"X": x, "rois": np.array(rois, x.dtype)}


@both
@pytest.mark.parametrize("element_type", ["float16", "float"])
def test_equals_the_brute_force_oracle(run: Run, element_type: str) -> None:
    rng = np.random.default_rng(3)
    for pooled_size, scale in [((1, 1), 1.0), ((3, 2), 0.5), ((7, 7), 0.7)]:
        x, rois = roi_cases.random_case(rng, dtype_of(element_type), (2, 2, 8, 10), 15, scale)
        given = feeds(x, rois[None, None])
        (y,) = run(model(NAME, OPSET, given, pooled_size=pooled_size, spatial_scale=scale), given)
        assert_same(y, oracle.max_roi_pool(x, rois, pooled_size, scale))


@pytest.mark.parametrize("bin_edges", ["exact", "float32"])
def test_equals_max_roi_pool(bin_edges: str) -> None:
    """D1, and M12: 57 cells in 7 bins are cut otherwise in float32."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 3, 60, 60)).astype(np.float32)
    rois = np.array([[0, 0, 0, 56, 56], [1, 3, 2, 59, 58]], np.float32)
    given = feeds(x, rois[None, None])
    session = onnx_maxpool.load(model(NAME, OPSET, given, pooled_size=[7, 7]), bin_edges=bin_edges)
    proto = roi_cases.model(pooled_shape=[7, 7])
    assert_same(session.run(None, given)[0], roi_cases.reference(proto, x, rois, bin_edges=bin_edges))


@both
def test_the_default_scale_is_1(run: Run) -> None:
    x = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
    given = feeds(x, [[[[0, 1, 1, 2, 2]]]])
    (y,) = run(model(NAME, OPSET, given, pooled_size=[2, 2]), given)
    assert y.tolist() == [[[[5, 6], [9, 10]]]]


@both
@pytest.mark.parametrize(("shape", "count"), [((2, 3, 4, 4), 0), ((2, 0, 4, 4), 2), ((0, 3, 4, 4), 0)])
def test_no_rois_channels_or_images(run: Run, shape: tuple[int, ...], count: int) -> None:
    """G7."""
    given = feeds(np.zeros(shape, np.float32), np.zeros((1, 1, count, 5)))
    (y,) = run(model(NAME, OPSET, given, pooled_size=[2, 3]), given)
    assert_same(y, np.zeros((count, shape[1], 2, 3), np.float32))


COLUMNS = "expected (1, 1, R, 5) with columns batch, x1, y1, x2, y2"
BAD: dict[str, tuple[Array, Any, str]] = {
    "X rank": (MAP[0], [[[GOOD_ROI]]], "X has shape [1,4,4], expected 4 dimensions (N, C, H, W)"),
    "rois rank": (MAP, [GOOD_ROI], f"rois has shape [1,5], {COLUMNS}"),
    "rois leading": (MAP, [[[GOOD_ROI]], [[GOOD_ROI]]], f"rois has shape [2,1,1,5], {COLUMNS}"),
    "rois second": (MAP, [[[GOOD_ROI], [GOOD_ROI]]], f"rois has shape [1,2,1,5], {COLUMNS}"),
    "rois columns": (MAP, [[[GOOD_ROI[:4]]]], f"rois has shape [1,1,1,4], {COLUMNS}"),
    "batch N": (
        MAP,
        [[[GOOD_ROI, [2, 0, 0, 1, 1]]]],
        "rois row 1 has batch 2, expected a batch number from 0 to 1",
    ),
    "no images": (MAP[:0], [[[GOOD_ROI]]], "rois row 0 has batch 0, expected no ROI, as X has batch size 0"),
    "nan": (MAP, [[[[0, 0, np.nan, 1, 1]]]], "rois row 0 has y1 nan, expected a number"),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_refusals(bad: tuple[Array, Any, str]) -> None:
    """D1, M10, M11."""
    x, rois, words = bad
    check_refusal(NAME, OPSET, Refusal(feeds(x, rois), words, {"pooled_size": [2, 2]}))


def test_an_output_too_large() -> None:
    largest = 2**31 - 1
    words = f"Y would have shape [2,1,{largest},{largest}], expected fewer than 2^63 bytes"
    given = feeds(MAP, [[[GOOD_ROI, GOOD_ROI]]])
    check_refusal(NAME, OPSET, Refusal(given, words, {"pooled_size": [largest, largest]}))


@pytest.mark.parametrize("pooled_size", [[7], [2, 0], [2, 2, 2], [2**31, 1]])
def test_bad_sizes(pooled_size: list[int]) -> None:
    """M3."""
    listed = ",".join(map(str, pooled_size))
    words = f"pooled_size is [{listed}], expected two integers from 1 to 2147483647"
    check_attribute_refusal(NAME, OPSET, feeds(MAP, [[[GOOD_ROI]]]), words, pooled_size=pooled_size)


@pytest.mark.parametrize("scale", ["0", "-1", "inf", "nan"])
def test_bad_scales(scale: str) -> None:
    """M3."""
    words = f"spatial_scale is {scale}, expected a finite number greater than 0"
    given = feeds(MAP, [[[GOOD_ROI]]])
    check_attribute_refusal(NAME, OPSET, given, words, pooled_size=[2, 2], spatial_scale=float(scale))


def test_types_are_the_versions() -> None:
    """D2."""
    given = feeds(MAP.astype(np.float64), [[[GOOD_ROI]]])
    words = "RoiPooling-1: X is double, expected float16 or float"
    check_type_refusal(NAME, OPSET, given, words, pooled_size=[2, 2])
    mixed = {**given, "X": MAP, "rois": given["rois"].astype(np.float16)}
    words = "RoiPooling-1: rois is float16, expected float as X is"
    check_type_refusal(NAME, OPSET, mixed, words, pooled_size=[2, 2])
