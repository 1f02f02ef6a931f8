"""RoiPooling in ONNX Runtime and in the reference: rules D1 and D2. It is MaxRoiPool for another ROI tensor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support import one_node
from support.one_node import (
    Array,
    Run,
    assert_same,
    both,
    model,
)

import onnx_maxpool

NAME, OPSET = "RoiPooling", 1
MAP = np.zeros((2, 1, 4, 4), np.float32)
GOOD_ROI = [0, 0, 0, 1, 1]


def feeds(x: Array, rois: Any) -> dict[str, Array]:
    return {"X": x, "rois": np.array(rois, x.dtype)}


@pytest.mark.parametrize("bin_edges", ["onnx", "exact", "double"])
def test_equals_max_roi_pool(bin_edges: str) -> None:
    """D1, and M7: (57, 7) is a pair that float32 cuts otherwise than exact integers, (29, 7) one that double does."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((2, 3, 60, 60)).astype(np.float32)
    rois = np.array([[0, 0, 0, 56, 56], [1, 3, 2, 31, 30]], np.float32)
    given = feeds(x, rois[None, None])
    session = onnx_maxpool.load(model(NAME, OPSET, given, pooled_size=[7, 7]), bin_edges=bin_edges)
    proto = one_node.roi_model(pooled_shape=[7, 7])
    assert_same(session.run(None, given)[0], one_node.reference_rois(proto, x, rois, bin_edges=bin_edges))


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
