"""Rows with images and ROIs of their own, a model for them, and what each row's outputs are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from support.one_node import Array, assert_same

import onnx_maxpool

HEAD = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    head (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,3] pooled, float[N,C,1,1] best) {
        pooled = MaxRoiPool <pooled_shape = [2, 3], spatial_scale = 0.5> (X, rois)
        best = GlobalMaxPool (X)
    }""")
"""An output with an entry per ROI, and one with an entry per row."""

SLOW = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    slow (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,3] pooled, float[N,C,1,1] best) {
        pooled = MaxRoiPool <pooled_shape = [2, 3], spatial_scale = 0.5> (X, rois)
        most = GlobalMaxPool (X)
        greatest = ReduceMax (X)
        cells = Constant <value_ints = [50000000]> ()
        flat = Constant <value_ints = [-1]> ()
        one = Reshape (greatest, flat)
        many = Expand (one, cells)
        again = ReduceMax <keepdims = 0> (many)
        best = Min (most, again)
    }""")
"""The same outputs, after some 50 ms."""


def ragged_rows(count: int, shapes: tuple[tuple[int, ...], ...] = ((3, 12, 16),)) -> dict[str, Any]:
    """Columns of images in these shapes by turns, with 0, 1, 2, 3 boxes by turns, and a column of the caller's."""
    rng = np.random.default_rng(count)
    images = [rng.standard_normal(shapes[i % len(shapes)], np.float32) for i in range(count)]
    corners = [np.sort(rng.uniform(0, 30, (i % 4, 2, 2)), axis=1) for i in range(count)]
    boxes = [each.reshape(-1, 4).astype(np.float32) for each in corners]
    return {"id": [f"row {i}" for i in range(count)], "X": images, "rois": boxes}


def oracle(proto: onnx.ModelProto, image: Array, boxes: Array) -> list[Array]:
    """The outputs for one row by ONNX's reference evaluator, which has the ROI operators from us."""
    evaluator = ReferenceEvaluator(proto, new_ops=onnx_maxpool.reference_ops())
    outputs = evaluator.run(None, {"X": image[None], "rois": np.insert(boxes[:, -4:], 0, 0, axis=1)})
    assert isinstance(outputs, list)
    return outputs


def assert_rows_match(proto: onnx.ModelProto, batch: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    """Every row's outputs are those of a run of its own, bit for bit."""
    assert list(result["id"]) == list(batch["id"])
    for row, (image, boxes) in enumerate(zip(batch["X"], batch["rois"], strict=True)):
        pooled, best = oracle(proto, image, boxes)
        assert_same(result["pooled"][row], pooled)
        assert_same(result["best"][row], best[0])


def describe(predictor: onnx_maxpool.Predictor, batch: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """What another process makes of a batch, and its session's threads: here, as spawned processes import this."""
    return predictor(batch), predictor.session.get_session_options().intra_op_num_threads
