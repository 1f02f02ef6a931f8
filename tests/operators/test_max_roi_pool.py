"""MaxRoiPool in ONNX Runtime and in the reference: every version and type, and rules M1 to M11.

The situations that ONNX's own node tests for it cover, by default, are asked in every form. Their outputs are written
out, so that no code of the package decides about them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import helper
from support.one_node import assert_same, native_rois, random_rois, reference_rois, roi_model
from support.subnormals import run_without_subnormals

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


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("pooled_shape", [(1, 1), (1, 2), (3, 1), (4, 3)])
@pytest.mark.parametrize("channels", [3, 70])
def test_windows_of_many_rois(element_type: str, pooled_shape: tuple[int, int], channels: int) -> None:
    """They are found many at once, unless one of these is far from the map: here all are near, and not."""
    rng = np.random.default_rng(11)
    dtype = dtype_of(element_type)
    proto = roi_model(element_type, pooled_shape=pooled_shape, spatial_scale=0.5)
    x, rois = random_rois(rng, dtype, (2, channels, 12, 19), 150, 0.5)
    rois[::7, 1:] = rng.integers(-3, 80, (22, 4)) / 2  # halves
    assert_same(native_rois(proto, x, rois), reference_rois(proto, x, rois))
    for row, far in ((130, 3e4), (131, -(2.0**23)), (140, 2.0**24 + 2), (149, np.inf)):
        with np.errstate(over="ignore"):  # float16's are infinite
            rois[row, 1 + row % 4] = dtype.type(far)
    assert_same(native_rois(proto, x, rois), reference_rois(proto, x, rois))


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("channels", [9, 17, 34, 66])
def test_channels_that_are_left_beyond_full_vectors(element_type: str, channels: int) -> None:
    """One or two more than a vector of 16, 32 or 64 bytes, or several, has lanes. Each run may take another plan."""
    rng = np.random.default_rng(17)
    proto = roi_model(element_type, pooled_shape=(5, 6))
    x, rois = random_rois(rng, dtype_of(element_type), (2, channels, 21, 30), 170, 1.0)
    expected = reference_rois(proto, x, rois)
    session = onnx_maxpool.load(proto)
    for _ in range(14):
        (y,) = onnx_maxpool.run(session, {"X": x, "rois": rois})
        assert_same(y, expected)


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("channels", [64, 150, 300])
def test_rois_on_several_blocks_of_channels(element_type: str, channels: int) -> None:
    """On one thread a unit pools ROIs on several blocks. Each run may take another plan, and large outputs stream."""
    rng = np.random.default_rng(23)
    x, rois = random_rois(rng, dtype_of(element_type), (2, channels, 9, 20), 120, 1.0)
    rois[::7, 3] = rois[::7, 1] - 30  # no column
    for pooled in ((1, 1), (2, 2), (4, 1), (7, 7)):
        proto = roi_model(element_type, pooled_shape=pooled)
        expected = reference_rois(proto, x, rois)
        for threads in (1, 2):
            options = ort.SessionOptions()
            options.intra_op_num_threads = threads
            session = onnx_maxpool.load(proto, options)
            for _ in range(10):
                (y,) = onnx_maxpool.run(session, {"X": x, "rois": rois})
                assert_same(y, expected)


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
@pytest.mark.parametrize(("channels", "bins"), [(1, 2), (3, 7), (9, 3), (40, 1), (130, 1), (130, 4)])
def test_a_single_nan(element_type: str, channels: int, bins: int) -> None:
    """G3, in every way to pool: a node's first runs try them. In every other run there is none."""
    rng = np.random.default_rng(43)
    proto = roi_model(element_type, pooled_shape=(bins, bins), spatial_scale=0.5)
    session = onnx_maxpool.load(proto)
    for run in range(60):
        shape = (2, channels, 30, 37)
        x, rois = random_rois(rng, dtype_of(element_type), shape, 25, 0.5, special=False)
        rois[0] = [0, 0, 0, 80, 80]  # the whole of an image
        if run % 2:
            x[0, rng.integers(channels), rng.choice([0, 13, 29]), rng.choice([0, 20, 36])] = np.nan
        y = onnx_maxpool.run(session, {"X": x, "rois": rois})[0]
        assert np.isnan(y[0].astype(np.float32)).any() == run % 2
        assert_same(y, reference_rois(proto, x, rois))


@pytest.mark.parametrize("element_type", TYPES)
def test_an_only_bin_of_any_width(element_type: str) -> None:
    """Of few channels a row is read as it comes, in vectors. What lies beside the window counts for nothing."""
    rng = np.random.default_rng(71)
    dtype = dtype_of(element_type)
    session = onnx_maxpool.load(proto := roi_model(element_type, pooled_shape=(1, 1), spatial_scale=1.0))
    height, width = 5, 320
    for wide in [*range(1, 70), 96, 97, 127, 128, 129, 130, 255, 256, 257, 290, 319, 320]:
        for tall in range(1, height + 1):
            top, left = rng.integers(height - tall + 1), rng.integers(width - wide + 1)
            if wide % 3 == 0:
                top, left = height - tall, width - wide  # the end of the tensor
            x = rng.standard_normal((1, 3, height, width)).astype(dtype)
            x[0, 0, rng.integers(top, top + tall), rng.integers(left, left + wide)] = rng.choice([9, np.nan])
            beside = np.full((height, width), True)
            beside[top : top + tall, left : left + wide] = False
            x[0, :, beside] = rng.choice([99, np.nan, np.inf])
            rois = np.array([[0, left, top, left + wide - 1, top + tall - 1]], dtype)
            expected = x[0, :, top : top + tall, left : left + wide].astype(np.float64).max(axis=(1, 2))
            y = onnx_maxpool.run(session, {"X": x, "rois": rois})[0]
            if element_type != "bfloat16":  # of which not all edges are numbers
                np.testing.assert_array_equal(y[0, :, 0, 0].astype(np.float64), expected)
            assert_same(y, reference_rois(proto, x, rois))


def test_shapes_whose_numbers_were_once_the_same() -> None:
    """A node keeps the plan of a brief run for others whose shapes have the same number, as these two had."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    proto = roi_model(pooled_shape=(2, 2))
    session = onnx_maxpool.load(proto, options)
    rng = np.random.default_rng(61)
    some = rng.standard_normal((1, 257, 14), np.float32)
    tall, wide = np.zeros((1, 256, 871, 1), np.float32), np.zeros((1, 257, 1, 189226), np.float32)
    tall[:, :, :14, 0], wide[:, :, 0, :14] = some[:, :256], some
    down, across = (np.array([[0, 0, 0, x, y]] * 2, np.float32) for x, y in [(0, 13), (13, 0)])
    expected = reference_rois(proto, wide[..., :14], across)
    for run in range(60):
        session.run(None, {"X": tall, "rois": down})
        if run >= 40:
            assert_same(session.run(None, {"X": wide, "rois": across})[0], expected)


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize(("channels", "bins"), [(3, 3), (16, 3), (40, 3), (40, 1)])
def test_zeros_have_one_sign_however_they_are_pooled(element_type: str, channels: int, bins: int) -> None:
    """G4 leaves it open, but a node's runs must not differ."""
    rng = np.random.default_rng(47)
    session = onnx_maxpool.load(roi_model(element_type, pooled_shape=(bins, bins), spatial_scale=0.5))
    x, rois = random_rois(rng, dtype_of(element_type), (1, channels, 30, 37), 25, 0.5)
    x[...] = rng.choice([-1.0, -0.0, 0.0], x.shape)
    signs = {onnx_maxpool.run(session, {"X": x, "rois": rois})[0].tobytes() for _ in range(40)}
    assert len(signs) == 1


@pytest.mark.parametrize("bins", [1, 3])
@pytest.mark.parametrize("element_type", ["float", "double"])
def test_subnormal_numbers_where_the_runtime_takes_them_for_0(element_type: str, bins: int, tmp_path: Path) -> None:
    """G6: a maximum selects, whatever a processor would make of numbers."""
    rng = np.random.default_rng(53)
    dtype = dtype_of(element_type)
    proto = roi_model(element_type, pooled_shape=(bins, bins), spatial_scale=0.5)
    x, rois = random_rois(rng, dtype, (2, 40, 30, 37), 25, 0.5)
    x[...] = rng.integers(1, 1000, x.shape) * np.finfo(dtype).smallest_subnormal
    run_without_subnormals(proto, {"X": x, "rois": rois}, reference_rois(proto, x, rois), tmp_path)


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


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_any_number_of_threads(threads: int) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    rng = np.random.default_rng(19)
    proto = roi_model(pooled_shape=(7, 7), spatial_scale=0.25)
    session = onnx_maxpool.load(proto, options)
    for shape, roi_count in [((3, 67, 20, 30), 50), ((1, 3, 50, 60), 9), ((2, 130, 5, 5), 1)]:
        x, rois = random_rois(rng, np.dtype(np.float32), shape, roi_count, 0.25)
        assert_same(session.run(None, {"X": x, "rois": rois})[0], reference_rois(proto, x, rois))


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize(
    ("shape", "roi_count", "pooled_shape"),
    [((1, 3, 40, 50), 40, (7, 7)), ((2, 20, 30, 90), 100, (2, 3)), ((1, 40, 9, 11), 30, (1, 20))],
)
def test_first_runs_try_ways_to_pool(
    element_type: str, shape: tuple[int, int, int, int], roi_count: int, pooled_shape: tuple[int, int]
) -> None:
    """Whichever of them a run takes, with ROIs of its own, the outputs are the reference's."""
    rng = np.random.default_rng(41)
    proto = roi_model(element_type, pooled_shape=pooled_shape, spatial_scale=0.25)
    session = onnx_maxpool.load(proto)
    for _ in range(24):
        x, rois = random_rois(rng, dtype_of(element_type), shape, roi_count, 0.25)
        given = {"X": x, "rois": rois}
        assert_same(onnx_maxpool.run(session, given)[0], reference_rois(proto, x, rois))


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize(
    ("shape", "roi_count"), [((1, 35, 120, 130), 60), ((3, 8, 300, 90), 200), ((1, 2, 700, 600), 9)]
)
def test_maps_larger_than_the_cache(element_type: str, shape: tuple[int, int, int, int], roi_count: int) -> None:
    """Tables of maxima over rows, swept from bottom to top."""
    rng = np.random.default_rng(31)
    for pooled_shape in [(7, 7), (1, 3), (30, 2)]:
        x, rois = random_rois(rng, dtype_of(element_type), shape, roi_count, 0.25)
        proto = roi_model(element_type, pooled_shape=pooled_shape, spatial_scale=0.25)
        assert_same(native_rois(proto, x, rois), reference_rois(proto, x, rois))


def test_more_rois_than_a_sweep_pools_at_once() -> None:
    rng = np.random.default_rng(37)
    x, rois = random_rois(rng, np.dtype(np.float32), (2, 17, 110, 120), 900, 0.5, special=False)
    proto = roi_model("float", 11, pooled_shape=(20, 20), spatial_scale=0.5)
    stock = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    assert_same(native_rois(proto, x, rois), stock.run(None, {"X": x, "rois": rois})[0])


@pytest.mark.parametrize(
    ("element_type", "width", "pooled_shape"),
    [("float16", 40, (7, 7)), ("float16", 40, (4, 8)), ("float", 40, (7, 7)), ("float", 12, (7, 7))],
)
def test_an_output_larger_than_the_cache(element_type: str, width: int, pooled_shape: tuple[int, int]) -> None:
    """Stores past the caches: with pieces that start and end within a cache line."""
    rng = np.random.default_rng(29)
    x, rois = random_rois(rng, dtype_of(element_type), (1, 70, 12, width), 3_000, 1.0, special=False)
    proto = roi_model(element_type, pooled_shape=pooled_shape)
    y = native_rois(proto, x, rois)
    assert y.nbytes > 12 << 20
    some = rng.choice(len(rois), 500, replace=False)
    assert_same(y[some], reference_rois(proto, x, rois[some]))


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
