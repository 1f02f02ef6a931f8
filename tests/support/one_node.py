"""Models of one node, what they are run on, and the two ways to run them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import onnx_maxpool
from onnx_maxpool.graph.building import Declared, one_node
from onnx_maxpool.operators.registry import OPERATORS, OperatorVersion, resolve, versions_of
from onnx_maxpool.types import Array, element_type

Run = Callable[[onnx.ModelProto, Mapping[str, Array]], list[Array]]

DOMAINS = {row.name: row.domain for row in OPERATORS}
SPELLINGS = {"i32": "int32", "i64": "int64", "u32": "uint32", "u64": "uint64"}

ADAPTIVE = """
<ir_version: 10, opset_import: ["" : 18, "org.openvinotoolkit" : 8]>
adaptive (float[n, c, h, w] X, int64[2] output_size) => (float[n, c, a, b] Y, int64[n, c, a, b] Indices)
{ Y, Indices = org.openvinotoolkit.AdaptiveMaxPool(X, output_size) }
"""
"""A model of one AdaptiveMaxPool with both outputs, as text. Their ranks are declared."""


def version_of(name: str, opset: int) -> OperatorVersion:
    version = resolve(DOMAINS[name], name, opset)
    assert version is not None
    return version


def model(
    name: str, opset: int, feeds: Mapping[str, Array], *, with_index: bool = False, **attributes: Any
) -> onnx.ModelProto:
    """One node, named `pool`, for the feeds' types. Shapes are left open, so that wrong ones reach the operator.

    An attribute may be an AttributeProto, where its type is none of a Python value's. An empty list is of integers.
    """
    version = resolve(DOMAINS[name], name, opset) or versions_of(DOMAINS[name], name)[0]  # an opset may be too old
    values = {key: Declared(element_type(array)) for key, array in feeds.items()}
    outputs = {"Y": next(iter(values.values()))}
    if with_index:
        index = SPELLINGS.get(attributes.get("index_element_type", ""), version.index_types[0])
        outputs["Indices"] = Declared(index)
    node = helper.make_node(name, list(feeds), list(outputs), name="pool", domain=version.domain)
    node.attribute.extend(attribute_of(key, value) for key, value in attributes.items())
    return one_node(node, {**values, **outputs}, {version.domain: opset})


def roi_model(element_type: str = "float", opset: int = 22, **attributes: Any) -> onnx.ModelProto:
    """One MaxRoiPool node; `pooled_shape` is (2, 3) unless given, and left out if None."""
    attributes = {k: v for k, v in {"pooled_shape": (2, 3), **attributes}.items() if v is not None}
    node = helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], name="pool", **attributes)
    # Ranks are left open, so that wrong ones reach the operator.
    return one_node(node, {name: Declared(element_type) for name in ("X", "rois", "Y")}, {"": opset})


def attribute_of(name: str, value: Any) -> onnx.AttributeProto:
    if isinstance(value, onnx.AttributeProto):
        return value
    return helper.make_attribute(name, value, attr_type=None if value != [] else onnx.AttributeProto.INTS)


def native(proto: onnx.ModelProto, feeds: Mapping[str, Array], **options: Any) -> list[Array]:
    return onnx_maxpool.run(onnx_maxpool.load(proto, **options), feeds)


def reference(proto: onnx.ModelProto, feeds: Mapping[str, Array], **options: Any) -> list[Array]:
    evaluator = ReferenceEvaluator(proto, new_ops=onnx_maxpool.reference_ops(**options))
    outputs = evaluator.run(None, dict(feeds))
    assert isinstance(outputs, list)
    return outputs


def native_rois(proto: onnx.ModelProto, x: Array, rois: Array, **options: Any) -> Array:
    return native(proto, {"X": x, "rois": rois}, **options)[0]


def reference_rois(proto: onnx.ModelProto, x: Array, rois: Array, **options: Any) -> Array:
    return reference(proto, {"X": x, "rois": rois}, **options)[0]


both = pytest.mark.parametrize("run", [native, reference])


def assert_same(actual: Array, expected: Array) -> None:
    """Equal in type, shape and every cell; NaN equals NaN, +0 equals -0 (G3, G4, G6)."""
    assert actual.dtype == expected.dtype
    kind = actual.dtype if actual.dtype.kind in "iu" else np.dtype(np.float64)  # widening is exact
    np.testing.assert_array_equal(actual.astype(kind), expected.astype(kind))


def mixed(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], *, special: bool = True, nan: bool = True
) -> Array:
    """Few different values, so that windows hold equal ones.

    `special` strews ±inf, -0 and with `nan` NaN over floats, and the type's ends over integers.
    """
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        values = [0, 1, 2, 3, *((ends.min, ends.min + 1, ends.max - 1, ends.max) if special else ())]
        return rng.choice(np.array(values, dtype), shape)
    x = rng.integers(-3, 4, shape).astype(np.float64)
    if special:
        for value, share in ((-np.inf, 0.3), (np.inf, 0.03), (-0.0, 0.03), (np.nan, 0.03 if nan else 0)):
            x[rng.random(shape) < share] = value
    return x.astype(dtype)


def random_rois(
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
