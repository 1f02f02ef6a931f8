"""Models, feature maps and ROIs that the tests of MaxRoiPool share."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import helper
from onnx.reference import ReferenceEvaluator

import onnx_maxpool
from onnx_maxpool.types import tensor_type

Array = npt.NDArray[Any]


def model(element_type: str = "float", opset: int = 22, **attributes: Any) -> onnx.ModelProto:
    """One MaxRoiPool node, all dimensions symbolic; `pooled_shape` is (2, 3) unless given, and left out if None."""
    attributes = {k: v for k, v in {"pooled_shape": (2, 3), **attributes}.items() if v is not None}
    data_type = tensor_type(element_type)
    node = helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], name="pool", **attributes)
    graph = helper.make_graph(
        [node],
        "one_node",
        # Ranks are left open, so that wrong ones reach the operator.
        [helper.make_tensor_value_info(name, data_type, None) for name in ("X", "rois")],
        [helper.make_tensor_value_info("Y", data_type, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def random_case(
    rng: np.random.Generator,
    dtype: np.dtype[Any],
    shape: tuple[int, int, int, int],
    roi_count: int,
    spatial_scale: float,
    *,
    special: bool = True,
) -> tuple[Array, Array]:
    """A feature map and ROIs of which many reach beyond the map and a quarter are malformed.

    `special` strews NaN, -inf and -0 over the map.
    """
    n, c, h, w = shape
    x = rng.standard_normal((n, c, h, w))
    if special:
        for value in (np.nan, -np.inf, -0.0):
            x[rng.random(x.shape) < 0.02] = value
    corners = rng.uniform(-0.3, 1.3, (roi_count, 2, 2)) * (w, h)
    ordered = np.sort(corners, axis=1)
    corners = np.where(rng.random((roi_count, 1, 1)) < 0.25, corners, ordered)
    batch = rng.integers(0, n, (roi_count, 1))
    rois = np.concatenate([batch, corners.reshape(roi_count, 4) / spatial_scale], axis=1)
    return x.astype(dtype), rois.astype(dtype)


def native(proto: onnx.ModelProto, x: Array, rois: Array, **options: Any) -> Array:
    return onnx_maxpool.run(onnx_maxpool.load(proto, **options), {"X": x, "rois": rois})[0]


def reference(proto: onnx.ModelProto, x: Array, rois: Array, **options: Any) -> Array:
    evaluator = ReferenceEvaluator(proto, new_ops=onnx_maxpool.reference_ops(**options))
    y = evaluator.run(None, {"X": x, "rois": rois})[0]
    assert isinstance(y, np.ndarray)
    return y


def assert_same(actual: Array, expected: Array) -> None:
    """Equal in type, shape and every cell; NaN equals NaN, +0 equals -0 (G3, G4, G6)."""
    assert actual.dtype == expected.dtype
    # Widening is exact, and NumPy compares NaNs in its own types only.
    np.testing.assert_array_equal(actual.astype(np.float64), expected.astype(np.float64))
