"""Sessions of a model with inputs and their outputs, for tests of many threads and processes."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxruntime as ort
from support.one_node import Array, random_rois, reference_rois, roi_model

import onnx_maxpool

PROTO = roi_model(pooled_shape=(7, 7), spatial_scale=0.5)
X, ROIS = random_rois(np.random.default_rng(0), np.dtype(np.float32), (2, 40, 24, 28), 30, 0.5)
FEEDS = {"X": X, "rois": ROIS}
EXPECTED = reference_rois(PROTO, X, ROIS)


def session(**options: Any) -> ort.InferenceSession:
    return onnx_maxpool.load(PROTO, one_thread(), **options)


def one_thread() -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return options


def run(of: ort.InferenceSession) -> Array:
    output: Array = of.run(None, FEEDS)[0]
    return output


def at_once(*works: Callable[[], object]) -> None:
    """Each in a thread of its own, all begun together. Raises what any of them raises."""
    start = threading.Barrier(len(works))

    def begin(work: Callable[[], object]) -> None:
        start.wait()
        work()

    with ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(begin, work) for work in works]:
            done.result()
