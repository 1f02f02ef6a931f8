"""Runs of MaxRoiPool in one session: the first ones try ways to pool, and later ones go the way that was the fastest.

Each of them has the reference's output (G6), whatever the ROIs of the run before were.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from support.one_node import assert_same, random_rois, reference_rois, roi_model

import onnx_maxpool
from onnx_maxpool.types import Array, dtype_of

RUNS = 150
"""Until ways were tried, kept for 63 runs, and tried again."""


@dataclass(frozen=True)
class Runs:
    """Of a node that has such a map and bins: so many ROIs in each run, at first and later."""

    shape: tuple[int, int, int, int]
    pooled_shape: tuple[int, int]
    rois: tuple[int, ...]
    element_type: str = "float"


SMALL = {
    "few channels": Runs((1, 8, 14, 14), (7, 7), (4,)),
    "one block": Runs((1, 16, 42, 42), (4, 4), (4,)),
    "several blocks": Runs((1, 40, 30, 30), (3, 3), (5,)),
    "several images": Runs((5, 12, 24, 20), (3, 2), (8,)),
    "one bin": Runs((3, 20, 27, 20), (1, 1), (9,)),
    "narrow map": Runs((1, 30, 9, 9), (5, 5), (6,)),
    "double": Runs((2, 9, 28, 28), (4, 4), (8,), "double"),
    "half": Runs((1, 33, 28, 28), (3, 3), (7,), "float16"),
    "as many ROIs as there are": Runs((2, 10, 30, 30), (3, 3), (1, 3, 9, 16, 5)),
    "fewest outputs": Runs((1, 4, 14, 14), (2, 2), (1, 2, 4)),
}


@pytest.mark.parametrize("case", SMALL)
def test_small_runs(case: str) -> None:
    """ROIs are of all sizes, so that some runs are like those before them, and others are not."""
    rng = np.random.default_rng(71)
    runs = SMALL[case]
    given = [some_rois(rng, runs, count, part) for count in runs.rois for part in (0.1, 0.2, 1.0)]
    proto = roi_model(runs.element_type, pooled_shape=runs.pooled_shape)
    expected = [reference_rois(proto, x, rois) for x, rois in given]
    session = onnx_maxpool.load(proto)
    for run in range(RUNS):
        i = 0 if run < RUNS // 3 else int(rng.integers(len(given)))
        x, rois = given[i]
        assert_same(session.run(None, {"X": x, "rois": rois})[0], expected[i])


def some_rois(rng: np.random.Generator, runs: Runs, count: int, part: float) -> tuple[Array, Array]:
    """A map with NaN, and ROIs that reach beyond this part of it; image by image, or not."""
    x, rois = random_rois(rng, dtype_of(runs.element_type), runs.shape, count, 1.0)
    rois[:, 1:] *= part
    if rng.random() < 0.5:
        rois = rois[np.argsort(rois[:, 0], kind="stable")]
    return x, rois


@pytest.mark.parametrize("width", [12, 40])
def test_an_output_that_caches_may_hold(width: int) -> None:
    """It is stored past them, or by way of them."""
    rng = np.random.default_rng(59)
    x, rois = random_rois(rng, np.dtype(np.float32), (1, 70, 12, width), 450, 1.0, special=False)
    proto = roi_model(pooled_shape=(7, 7))
    expected = reference_rois(proto, x, rois)
    assert 5 << 20 < expected.nbytes < 8 << 20
    session = onnx_maxpool.load(proto)
    for _ in range(50):
        assert_same(session.run(None, {"X": x, "rois": rois})[0], expected)


@pytest.mark.parametrize(("pooled_shape", "count"), [((1, 1), 4_000), ((2, 2), 1_000), ((7, 7), 90), ((28, 28), 8)])
@pytest.mark.parametrize("element_type", ["float", "float16"])
def test_a_map_and_an_output_that_leave_the_caches(
    element_type: str, pooled_shape: tuple[int, int], count: int
) -> None:
    """Lines of both are fetched before they are needed: of the map's last cells and of the last outputs, too."""
    rng = np.random.default_rng(61)
    shape = (1, 70, 200, 170)
    x, rois = random_rois(rng, dtype_of(element_type), shape, count, 1.0, special=False)
    rois[:, 3:] = np.maximum(rois[:, 1:3], np.minimum(rois[:, 3:], rois[:, 1:3] + 9))
    rois[-1] = (0, 160, 190, 169, 199)
    proto = roi_model(element_type, pooled_shape=pooled_shape)
    expected = reference_rois(proto, x, rois)
    assert x.nbytes > 4 << 20
    assert expected.nbytes > 512 << 10
    session = onnx_maxpool.load(proto)
    for _ in range(20):
        assert_same(session.run(None, {"X": x, "rois": rois})[0], expected)
