"""Random questions to ROI pooling, whose answers the published texts settle."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._roi.operator import RoiOperator
from onnx_maxpool.hashing import integers


def random_family(roi: RoiOperator) -> Iterator[Case]:
    """Breadth: random maps and ROIs whose outputs the published texts settle."""
    for number, seed in enumerate(RANDOM_SEEDS):
        yield random_case(roi, number, seed)


def random_case(roi: RoiOperator, number: int, seed: int) -> Case:
    """Coordinates are whole cells and a quarter, so that none is a half; corners are in order; no cell is NaN."""
    height, width, pooled_height, pooled_width, rois, scale = integers(seed, (6,), 0, 1 << 20).tolist()
    height, width, rois = 3 + height % 8, 3 + width % 10, 2 + rois % 4
    pooled = 1 + pooled_height % 7, 1 + pooled_width % 7
    factor = 2.0 ** -(scale % 5)
    x = integers(seed + 1, (2, 2, height, width), -99, 100).astype(np.float32)
    corners = integers(seed + 2, (rois, 2, 2), -2, 14)
    ordered = np.sort(corners, axis=1).reshape(rois, 4) + 0.25
    images = integers(seed + 3, (rois, 1), 0, 2)
    rows: Any = np.concatenate([images, ordered / factor], axis=1).tolist()
    return roi.case(
        f"random_{number:02}",
        f"Are {rois} random ROIs pooled to {pooled[0]} x {pooled[1]} as the rules say?",
        "G1, G2, M4, M5, M7, M8, M9",
        rows,
        x,
        pooled,
        scale=factor,
    )


RANDOM_SEEDS = (100, 110, 120, 130, 140, 180, 200, 220, 230, 240, 270, 280)
"""Seeds for which all of `OPEN_ANSWERS` give the same outputs; a test checks that."""

OPEN_ANSWERS = (
    *("half to even", "floor(x + 0.5)", "half toward zero", "product in double"),
    *("exact integers", "float32 edges", "double edges", "accumulated float32 edges"),
    *("malformed ROI is empty", "malformed ROI is turned round", "NaN ignored"),
)
"""Answers on which the published texts are silent, so that a random case must not turn on them."""
