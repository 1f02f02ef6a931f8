"""MaxRoiPool's ways to pool, which the library chooses by shapes, sizes and threads, give the reference's outputs.

Each test has what leads to one of them, or to several. Longer series of runs are in test_repeated_roi_runs.py.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from support.one_node import assert_same, native_rois, random_rois, reference_rois, roi_model
from support.subnormals import run_without_subnormals

import onnx_maxpool
from onnx_maxpool.operators.registry import versions_of
from onnx_maxpool.types import dtype_of

TYPES = versions_of("", "MaxRoiPool")[-1].types["T"]


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
