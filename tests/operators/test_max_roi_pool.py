"""MaxRoiPool in ONNX Runtime and in the reference: every version and type, and rules M1 to M11.

The situations that ONNX's own node tests for it cover, by default, are asked in every form. Their outputs are written
out, so that no code of the package decides about them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper
from support.one_node import assert_same, native_rois, random_rois, reference_rois, roi_model

import onnx_maxpool
from onnx_maxpool.graph.building import Declared, as_array, one_node
from onnx_maxpool.operators.registry import resolve, versions_of
from onnx_maxpool.types import Array, dtype_of

NEWEST_OPSET = onnx.defs.onnx_opset_version()
TYPES = versions_of("", "MaxRoiPool")[-1].types["T"]


def allowed(opset: int) -> tuple[str, ...]:
    version = resolve("", "MaxRoiPool", opset)
    assert version is not None
    return version.types["T"]


@pytest.mark.parametrize(
    ("opset", "element_type"), [(opset, t) for opset in range(1, NEWEST_OPSET + 1) for t in allowed(opset)]
)
def test_every_opset_and_type_equals_the_reference(opset: int, element_type: str) -> None:
    rng = np.random.default_rng(opset)
    proto = roi_model(element_type, opset, pooled_shape=(3, 2), spatial_scale=0.5)
    x, rois = random_rois(rng, dtype_of(element_type), (2, 5, 9, 11), 12, 0.5)
    assert_same(native_rois(proto, x, rois), reference_rois(proto, x, rois))


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("bin_edges", [None, "onnx", "exact", "double"])
def test_random_cases_equal_the_reference(element_type: str, bin_edges: str | None) -> None:
    rng = np.random.default_rng(7)
    for _ in range(40):
        pooled_shape = tuple(int(side) for side in rng.integers(1, 10, 2))
        scale = float(rng.choice([1, 0.5, 0.0625, 0.7]))
        shape = tuple(int(dim) for dim in rng.integers(1, (4, 70, 40, 40)))
        x, rois = random_rois(rng, dtype_of(element_type), shape, int(rng.integers(1, 30)), scale)
        proto = roi_model(element_type, pooled_shape=pooled_shape, spatial_scale=scale)
        expected = reference_rois(proto, x, rois, bin_edges=bin_edges)
        assert_same(native_rois(proto, x, rois, bin_edges=bin_edges), expected)


def test_equals_onnx_runtimes_own_kernel() -> None:
    """4,000 ROIs, of which many are malformed or reach beyond the map. The map is finite (PEERS: NaN, -inf)."""
    rng = np.random.default_rng(13)
    for _ in range(40):
        pooled_shape = tuple(int(side) for side in rng.integers(1, 16, 2))
        scale = float(rng.choice([1, 0.5, 0.0625, 0.7]))
        shape = tuple(int(dim) for dim in rng.integers(1, (4, 20, 80, 80)))
        x, rois = random_rois(rng, np.dtype(np.float32), shape, 100, scale, special=False)
        proto = roi_model("float", 11, pooled_shape=pooled_shape, spatial_scale=scale)
        stock = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
        assert_same(native_rois(proto, x, rois), stock.run(None, {"X": x, "rois": rois})[0])


def test_equals_openvino() -> None:
    import openvino as ov

    rng = np.random.default_rng(17)
    core = ov.Core()
    for _ in range(25):
        pooled_shape = tuple(int(side) for side in rng.integers(1, 16, 2))
        scale = float(rng.choice([1, 0.5, 0.0625, 0.7]))
        n, c, h, w = (int(dim) for dim in rng.integers(1, (4, 20, 80, 80)))
        x, rois = random_rois(rng, np.dtype(np.float32), (n, c, h, w), 80, scale, special=False)
        parameters = [ov.opset1.parameter(a.shape, np.float32) for a in (x, rois)]
        node = ov.opset2.roi_pooling(*parameters, list(pooled_shape), scale, "max")
        compiled = core.compile_model(ov.Model([node], parameters), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
        proto = roi_model(pooled_shape=pooled_shape, spatial_scale=scale)
        assert_same(native_rois(proto, x, rois, bin_edges="exact"), compiled([x, rois])[0])


@pytest.mark.parametrize(
    ("coordinate", "scale", "cell_in_float", "cell_in_double"),
    [
        (0.5, 1.0, 1, 1),
        (0.49999997, 1.0, 0, 0),  # floor(x + 0.5) would give 1 in float32
        (1.5, 1.0, 2, 2),
        (2.5, 1.0, 3, 3),  # half to even would give 2
        (45.0, 0.7, 32, 31),  # the product with the float32 nearest to 0.7 is 31.4999995, which float32 rounds to 31.5
    ],
)
def test_halves_round_away_from_zero(coordinate: float, scale: float, cell_in_float: int, cell_in_double: int) -> None:
    """M5: an ROI of one cell shows which cell it is."""
    for element_type, cell in [("float", cell_in_float), ("double", cell_in_double)]:
        dtype = dtype_of(element_type)
        x = np.arange(64, dtype=dtype).reshape(1, 1, 1, 64)
        rois = np.array([[0, coordinate, 0, coordinate, 0]], dtype)
        proto = roi_model(element_type, pooled_shape=(1, 1), spatial_scale=scale)
        assert native_rois(proto, x, rois).item() == reference_rois(proto, x, rois).item() == cell


@pytest.mark.parametrize(("low", "extent"), [(-0.5, 3), (-0.49999997, 2), (-1.5, 4), (-2.5, 5)])
def test_negative_halves_round_away_from_zero(low: float, extent: int) -> None:
    """M5: an ROI from `low` to 1 is `extent` cells high, so its last bin of `extent` is only the cell 1."""
    x = np.array([5, 7, 9], np.float32).reshape(1, 1, 3, 1)
    rois = np.array([[0, 0, low, 0, 1]], np.float32)
    proto = roi_model(pooled_shape=(extent, 1))
    expected = [0] * (extent - 2) + [5, 7]  # bins above the map are empty (M9)
    assert native_rois(proto, x, rois).ravel().tolist() == reference_rois(proto, x, rois).ravel().tolist() == expected


@pytest.mark.parametrize("element_type", ["float", "double"])
def test_bin_edges_of_every_extent_up_to_512_and_count_up_to_64(element_type: str) -> None:
    """M7: over cells that rise a bin's maximum is its last cell, over cells that fall its first."""
    dtype = dtype_of(element_type)
    cells = np.arange(600, dtype=dtype)
    x = np.stack([cells, -cells]).reshape(1, 2, 1, 600)
    extents = np.arange(1, 513)[:, None]
    rois = np.zeros((512, 5), dtype)
    rois[:, 3] = np.arange(512)
    differing: dict[str, set[tuple[int, int]]] = {"onnx": set(), "double": set()}
    for count in range(1, 65):
        p = np.arange(count)
        proto = roi_model(element_type, pooled_shape=(1, count))
        first, last = p * extents // count, -(-(p + 1) * extents // count) - 1
        exact = native_rois(proto, x, rois, bin_edges="exact")[:, :, 0]
        np.testing.assert_array_equal(exact, np.stack([last, -first], axis=1))
        for bin_edges, kind in (("onnx", dtype.type), ("double", np.float64)):
            size = extents.astype(kind) / kind(count)
            low = np.floor(p.astype(kind) * size)
            high = np.ceil((p + 1).astype(kind) * size) - 1
            rounded = native_rois(proto, x, rois, bin_edges=bin_edges)[:, :, 0]
            np.testing.assert_array_equal(rounded, np.stack([high, -low], axis=1))
            differ = np.flatnonzero((exact != rounded).any(axis=(1, 2))) + 1
            differing[bin_edges] |= {(int(extent), count) for extent in differ}
    assert {(29, 7), (58, 14), (116, 7)} <= differing["double"]
    assert len(differing["double"]) == 1491
    if element_type == "float":
        assert {(57, 7), (3, 21), (7, 13), (62, 14)} <= differing["onnx"]
        assert len(differing["onnx"]) == 1576
    else:
        assert differing["onnx"] == differing["double"]


@pytest.mark.parametrize("bin_edges", ["onnx", "exact", "double"])
@pytest.mark.parametrize("element_type", ["float", "double"])
def test_edges_up_to_2_to_the_40_are_those_of_the_unbounded_computation(element_type: str, bin_edges: Any) -> None:
    """M11: what Python's integers and fractions say, for ROIs that begin or end that far away."""
    rng = np.random.default_rng(41)
    dtype = dtype_of(element_type)
    x = np.arange(1, 41, dtype=dtype).reshape(1, 1, 1, 40)
    far = -np.floor(2.0 ** rng.uniform(20, 40, 200))
    near = np.floor(2.0 ** rng.uniform(0, 40, 200))
    rois = np.stack([0 * far, far, 0 * far, near, 0 * far], axis=1).astype(dtype)
    rois = np.concatenate([rois, rois[:, [0, 3, 2, 1, 4]] * [1, -1, 1, -1, 1]]).astype(dtype)
    rois = np.concatenate([rois, np.array([[0, -1e10, 0, 127, 0], [0, -(2.0**40), 0, 2.0**40, 0]], dtype)])
    kind: Any = np.float64 if "double" in (bin_edges, element_type) else np.float32
    for count in (1, 2, 3, 7):
        expected = np.zeros((len(rois), count))
        for r, row in enumerate(rois):
            start, extent = int(row[1]), int(row[3]) - int(row[1]) + 1
            size = kind(extent) / kind(count)
            for p in range(count):
                if bin_edges == "exact":
                    low, high = start + p * extent // count, start - (-(p + 1) * extent // count)
                else:
                    low, high = start + math.floor(kind(p) * size), start + math.ceil(kind(p + 1) * size)
                inside = range(max(low, 0), min(high, 40))
                expected[r, p] = inside[-1] + 1 if inside else 0
        proto = roi_model(element_type, pooled_shape=(1, count))
        for y in (
            native_rois(proto, x, rois, bin_edges=bin_edges),
            reference_rois(proto, x, rois, bin_edges=bin_edges),
        ):
            np.testing.assert_array_equal(y[:, 0, 0], expected)


@pytest.mark.parametrize("element_type", TYPES)
def test_a_nan_anywhere_in_a_window_wins(element_type: str) -> None:
    """G3, for NaNs of either sign at each place of a window."""
    dtype = dtype_of(element_type)
    x = np.tile(np.arange(12).reshape(1, 1, 3, 4), (24, 1, 1, 1)).astype(dtype)
    places = np.arange(24)
    x.reshape(24, 12)[places, places % 12] = np.where(places < 12, np.nan, -np.nan).astype(dtype)
    rois = np.array([[i, 0, 0, 3, 2] for i in range(24)], dtype)
    proto = roi_model(element_type, pooled_shape=(1, 1))
    assert np.isnan(native_rois(proto, x, rois).astype(np.float64)).all()
    assert np.isnan(reference_rois(proto, x, rois).astype(np.float64)).all()


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("value", [-np.inf, -3.0, 0.0, np.inf])
def test_a_map_of_one_value_gives_that_value_and_empty_bins_give_0(element_type: str, value: float) -> None:
    """G2 and M9."""
    dtype = dtype_of(element_type)
    x = np.full((1, 3, 4, 4), value, dtype)
    rois = np.array([[0, 0, 0, 3, 3], [0, 4, 4, 9, 9], [0, -9, -9, -5, -5]], dtype)
    proto = roi_model(element_type, pooled_shape=(2, 2))
    expected = np.zeros((3, 3, 2, 2), dtype)
    expected[0] = value
    assert_same(native_rois(proto, x, rois), expected)
    assert_same(reference_rois(proto, x, rois), expected)


@pytest.mark.parametrize(
    ("shape", "roi_count"),
    [
        ((1, 3, 4, 5), 0),
        ((0, 3, 4, 5), 0),
        ((2, 0, 4, 5), 2),
        ((1, 3, 0, 5), 2),
        ((1, 3, 4, 0), 2),
    ],
)
def test_empty_tensors(shape: tuple[int, int, int, int], roi_count: int) -> None:
    """G7; a map without cells gives 0 (M9)."""
    x = np.ones(shape, np.float32)
    rois = np.zeros((roi_count, 5), np.float32)
    proto = roi_model(pooled_shape=(2, 2))
    expected = np.full((roi_count, shape[1], 2, 2), float(x.size > 0), np.float32)
    assert_same(native_rois(proto, x, rois), expected)
    assert_same(reference_rois(proto, x, rois), expected)


def test_huge_and_infinite_coordinates_saturate() -> None:
    """M11."""
    huge = float(np.finfo(np.float32).max)
    edges = [-np.inf, -huge, -(2.0**31), -1e9, 0.0, 1e9, 2.0**31, huge, np.inf]
    rois = np.array([[0, a, b, c, d] for a in edges for b in edges[::3] for c in edges for d in edges[::2]], np.float32)
    x = np.arange(20, dtype=np.float32).reshape(1, 1, 4, 5)
    for scale in (1.0, float(np.finfo(np.float32).tiny), huge):
        proto = roi_model(pooled_shape=(3, 2), spatial_scale=scale)
        expected = reference_rois(proto, x, rois)
        assert_same(native_rois(proto, x, rois), expected)


def test_a_batch_number_is_truncated_toward_zero() -> None:
    """M10."""
    x = np.arange(3, dtype=np.float32).reshape(3, 1, 1, 1)
    rois = np.array([[batch, 0, 0, 0, 0] for batch in (-0.99, -0.0, 0.99, 1.5, 2.99)], np.float32)
    proto = roi_model(pooled_shape=(1, 1))
    assert (
        native_rois(proto, x, rois).ravel().tolist()
        == reference_rois(proto, x, rois).ravel().tolist()
        == [0, 0, 0, 1, 2]
    )


@pytest.mark.parametrize("run", [native_rois, reference_rois])
def test_more_images_than_float_counts_one_by_one(run: Callable[..., Array]) -> None:
    """M10: 2^24 + 1 images, whose number in float is 2^24, which is also the last image's."""
    x = np.zeros((2**24 + 1, 1, 1, 1), np.float32)
    x[-1] = 5
    proto = roi_model(pooled_shape=(1, 1))
    assert run(proto, x, np.array([[2**24, 0, 0, 0, 0]], np.float32)).item() == 5
    with pytest.raises(Exception, match="expected a batch number from 0 to 16777216"):
        run(proto, x, np.array([[2**24 + 2, 0, 0, 0, 0]], np.float32))


OPSET = 22


@dataclass(frozen=True)
class Situation:
    """One model with its inputs and what must come out."""

    name: str
    x: Array
    rois: list[list[float]]
    pooled_shape: tuple[int, int]
    expected: Any
    """Nested lists (R, C, pooled_height, pooled_width)."""
    scale: float = 1.0


def counted(*shape: int, dtype: Any = np.float32) -> Array:
    """1, 2, 3, ... in row-major order."""
    return np.arange(1, np.prod(shape) + 1).astype(dtype).reshape(shape)


GRID = counted(1, 1, 4, 6)
SITUATIONS = (
    Situation("plain", GRID, [[0, 0, 0, 5, 3]], (2, 3), [[[[8, 10, 12], [20, 22, 24]]]]),
    Situation(
        "several images",
        np.concatenate([GRID, -GRID]),
        [[1, 0, 0, 5, 3], [0, 2, 1, 3, 2], [1, 2, 1, 3, 2]],
        (1, 1),
        [[[[-1]]], [[[16]]], [[[-9]]]],
    ),
    Situation("scale", GRID, [[0, 32, 16, 64, 48]], (1, 2), [[[[22, 23]]]], scale=1 / 16),
    Situation("outside", GRID, [[0, 4, -2, 7, 1]], (2, 2), [[[[0, 0], [12, 0]]]]),
    Situation("double", GRID.astype(np.float64), [[0, 0, 0, 5, 3]], (1, 2), [[[[21, 24]]]]),
    Situation("negative values in a pool that is not square", -GRID, [[0, 0, 0, 5, 3]], (1, 3), [[[[-1, -3, -5]]]]),
    # 45 times the float32 nearest to 0.7 is 31.49999946, which float32 rounds to 31.5.
    Situation("a coordinate whose product rounds", counted(1, 1, 1, 40), [[0, 45, 0, 45, 0]], (1, 1), [[[[33]]]], 0.7),
    # In float32 the bin 41 of 82 over 2 cells starts before 1, so that the first cell, the greater, is in 42 of them.
    Situation("an edge that rounds", -counted(1, 1, 1, 3), [[0, 0, 0, 1, 0]], (1, 82), [[[[-1] * 42 + [-2] * 40]]]),
    Situation(
        "the double below one half",
        counted(1, 1, 1, 3, dtype=np.float64),
        [[0, 0.49999999999999994, 0, 0.49999999999999994, 0]],
        (1, 1),
        [[[[1]]]],
    ),
)


def native(model: onnx.ModelProto, feeds: dict[str, Array]) -> Any:
    return onnx_maxpool.load(model).run(None, feeds)[0]


def reference(model: onnx.ModelProto, feeds: dict[str, Array]) -> Any:
    return onnx_maxpool.reference_evaluator(model).run(None, feeds)[0]


def python(model: onnx.ModelProto, feeds: dict[str, Array]) -> Any:
    return onnx_maxpool.load(model, implementation="python").run(None, feeds)[0]


def portable(model: onnx.ModelProto, feeds: dict[str, Array]) -> Any:
    serialized = onnx_maxpool.to_portable(model).SerializeToString()
    return ort.InferenceSession(serialized, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


@pytest.mark.parametrize("form", [native, reference, python, portable])
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_a_situation(situation: Situation, form: Callable[..., Any]) -> None:
    node = helper.make_node(
        "MaxRoiPool", ["X", "rois"], ["Y"], pooled_shape=situation.pooled_shape, spatial_scale=situation.scale
    )
    dims = {"X": ["N", "C", "H", "W"], "rois": ["R", 5], "Y": ["R", "C", *situation.pooled_shape]}
    kind = as_array(situation.x).type
    model = one_node(node, {name: Declared(kind, each) for name, each in dims.items()}, {"": OPSET})
    y = form(model, {"X": situation.x, "rois": np.array(situation.rois, situation.x.dtype)})
    assert y.dtype == situation.x.dtype
    np.testing.assert_array_equal(y, np.array(situation.expected, situation.x.dtype))
