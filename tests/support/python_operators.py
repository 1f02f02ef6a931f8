"""What the tests of Python operators run: the inputs of a MaxRoiPool, and a model with any implementation."""

from __future__ import annotations

from typing import Any

import numpy as np
from support.one_node import random_rois

import onnx_maxpool
from onnx_maxpool.adapters.onnxruntime import Implementation
from onnx_maxpool.types import Array

X, ROIS = random_rois(np.random.default_rng(0), np.dtype(np.float32), (2, 6, 12, 14), 20, 1.0)
ROI_FEEDS = {"X": X, "rois": ROIS}


def outputs(proto: Any, feeds: dict[str, Array], implementation: Implementation, **options: Any) -> list[Array]:
    return onnx_maxpool.run(onnx_maxpool.load(proto, implementation=implementation, **options), feeds)
