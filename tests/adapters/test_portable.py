"""to_portable: what it gives in ONNX Runtime without our library, in OpenVINO and in onnx.reference."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import parser
from support import one_node
from support.one_node import ADAPTIVE
from support.portable_runtimes import Run, assert_equal, everywhere, in_onnxruntime, in_reference

from onnx_maxpool import to_portable
from onnx_maxpool.adapters.portable.library import OLDEST_OPSET
from onnx_maxpool.types import dtype_of

pytestmark = pytest.mark.slow("compiles a converted model for each case in three runtimes")

NEWEST_OPSET = onnx.defs.onnx_opset_version()
NEWEST_OPSET_OF_ONNXRUNTIME = 23  # that the oldest supported one, 1.23, takes


@pytest.mark.parametrize("opset", range(OLDEST_OPSET, NEWEST_OPSET + 1))
@pytest.mark.parametrize("element_type", ["float", "double"])
def test_every_opset(opset: int, element_type: str) -> None:
    rng = np.random.default_rng(opset)
    proto = one_node.roi_model(element_type, opset, pooled_shape=(3, 2), spatial_scale=0.5)
    x, rois = one_node.random_rois(rng, dtype_of(element_type), (2, 5, 9, 11), 12, 0.5)
    portable = to_portable(proto)
    assert portable.opset_import == proto.opset_import
    feeds = {"X": x, "rois": rois}
    expected = [one_node.reference_rois(proto, x, rois)]
    assert_equal(in_reference(portable, feeds), expected)
    if opset <= NEWEST_OPSET_OF_ONNXRUNTIME:
        assert_equal(in_onnxruntime(portable, feeds), expected)


def roi_model(**attributes: object) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """A model of one MaxRoiPool of floats, and its portable form."""
    proto = one_node.roi_model(**attributes)
    return proto, to_portable(proto)


@everywhere
def test_random_rois(run: Run) -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        sides = tuple(int(side) for side in rng.integers(1, 10, 2))
        scale = float(rng.choice([1, 0.5, 0.0625, 0.7]))
        shape = tuple(int(dim) for dim in rng.integers(1, (4, 20, 40, 40)))
        x, rois = one_node.random_rois(rng, np.dtype(np.float32), shape, int(rng.integers(1, 30)), scale)
        proto, portable = roi_model(pooled_shape=sides, spatial_scale=scale)
        assert_equal(run(portable, {"X": x, "rois": rois}), [one_node.reference_rois(proto, x, rois)])


@everywhere
def test_coordinates_round_half_away_from_zero(run: Run) -> None:
    """M5: an ROI of one cell shows which cell it is; negative ones by the bins above the map."""
    x = np.arange(64, dtype=np.float32).reshape(1, 1, 1, 64)
    cells = [(0.5, 1), (0.49999997, 0), (1.5, 2), (2.5, 3), (4.4999995, 4), (-0.5, 0), (-0.49999997, 0)]
    rois = np.array([[0, value, 0, value, 0] for value, _ in cells], np.float32)
    _, portable = roi_model(pooled_shape=(1, 1))
    assert run(portable, {"X": x, "rois": rois})[0].ravel().tolist() == [cell for _, cell in cells]
    _, scaled = roi_model(pooled_shape=(1, 1), spatial_scale=0.7)
    assert run(scaled, {"X": x, "rois": np.array([[0, 45, 0, 45, 0]], np.float32)})[0].item() == 32


@pytest.mark.parametrize("bin_edges", ["onnx", "exact"])
@everywhere
def test_bin_edges(run: Run, bin_edges: Any) -> None:
    check_bin_edges(run, bin_edges)


@pytest.mark.parametrize("run", [in_onnxruntime, in_reference])
def test_double_bin_edges(run: Run) -> None:
    """Not in OpenVINO, which computes doubles in float32."""
    check_bin_edges(run, "double")


def check_bin_edges(run: Run, bin_edges: Any) -> None:
    """M7: over cells that rise a bin's maximum is its last cell, over cells that fall its first."""
    cells = np.arange(600, dtype=np.float32)
    x = np.stack([cells, -cells]).reshape(1, 2, 1, 600)
    extents = np.arange(1, 513, 11 if run is in_reference else 1)  # it takes long for a Loop over many ROIs
    rois = np.zeros((len(extents), 5), np.float32)
    rois[:, 1] = -extents % 5
    rois[:, 3] = rois[:, 1] + extents - 1
    for count in (1, 7, 13, 21, 58):
        proto = one_node.roi_model(pooled_shape=(1, count))
        portable = to_portable(proto, bin_edges=bin_edges)
        assert_equal(
            run(portable, {"X": x, "rois": rois}), [one_node.reference_rois(proto, x, rois, bin_edges=bin_edges)]
        )


@everywhere
def test_huge_and_infinite_coordinates_saturate(run: Run) -> None:
    """M11: the extents reach 2^31 + 1, which no runtime may overflow."""
    huge = float(np.finfo(np.float32).max)
    edges = [-np.inf, -huge, -(2.0**31), -1e9, 0.0, 1e9, 2.0**31, huge, np.inf]
    along = np.array([(first, last) for first in edges for last in edges])
    (x1, x2), (y1, y2) = along.T, np.random.default_rng(0).permutation(along).T
    rois = np.stack([np.zeros(len(along)), x1, y1, x2, y2], axis=1).astype(np.float32)
    x = np.arange(20, dtype=np.float32).reshape(1, 1, 4, 5)
    for scale in (1.0, float(np.finfo(np.float32).tiny)):
        proto, portable = roi_model(pooled_shape=(3, 2), spatial_scale=scale)
        assert_equal(run(portable, {"X": x, "rois": rois}), [one_node.reference_rois(proto, x, rois)])


@everywhere
@pytest.mark.parametrize("value", [-np.inf, np.finfo(np.float32).min, 0.0, np.inf, np.nan])
def test_a_map_of_one_value_gives_that_value_and_empty_bins_give_0(run: Run, value: float) -> None:
    """G2, G3 and M9."""
    x = np.full((1, 3, 4, 4), value, np.float32)
    rois = np.array([[0, 0, 0, 3, 3], [0, 4, 4, 9, 9], [0, -9, -9, -5, -5]], np.float32)
    _, portable = roi_model(pooled_shape=(2, 2))
    expected = np.zeros((3, 3, 2, 2), np.float32)
    expected[0] = value
    assert_equal(run(portable, {"X": x, "rois": rois}), [expected])


@everywhere
@pytest.mark.parametrize(
    ("shape", "roi_count"),
    [((1, 3, 4, 5), 0), ((0, 3, 4, 5), 0), ((2, 0, 4, 5), 2), ((1, 3, 0, 5), 2), ((1, 3, 4, 0), 2)],
)
def test_empty_tensors(run: Run, shape: tuple[int, int, int, int], roi_count: int) -> None:
    """G7; a map without cells gives 0 (M9)."""
    _, portable = roi_model(pooled_shape=(2, 2))
    feeds = {"X": np.ones(shape, np.float32), "rois": np.zeros((roi_count, 5), np.float32)}
    assert_equal(run(portable, feeds), [np.full((roi_count, shape[1], 2, 2), float(0 not in shape), np.float32)])


@everywhere
@pytest.mark.parametrize(
    "values", [(-np.inf, np.finfo(np.float32).min), (-np.inf, np.nan, 1.0), (0.0, -0.0), (2.0, np.inf)]
)
def test_first_indices_of_special_values(run: Run, values: tuple[float, ...]) -> None:
    """G3 to G5, where windows overlap, and where they are larger in number than the cells."""
    rng = np.random.default_rng(3)
    proto = parser.parse_model(ADAPTIVE)
    portable = to_portable(proto)
    for sizes in ((3, 4), (9, 1)):
        feeds = {"X": rng.choice(np.array(values, np.float32), (2, 3, 7, 10)), "output_size": np.array(sizes)}
        expected = one_node.reference(proto, feeds)
        assert_equal(run(portable, feeds), expected)


def test_memory_stays_bounded() -> None:
    """1,000 ROIs, each the whole map. All their cells at once would take 1.5 GB, one ROI's take 1.5 MB."""
    program = """
import re, sys
import numpy as np, onnxruntime as ort
session = ort.InferenceSession(sys.stdin.buffer.read(), providers=["CPUExecutionProvider"])
x = np.random.default_rng(0).standard_normal((1, 64, 64, 64), np.float32)
rois = np.tile(np.array([0, 0, 0, 63, 63], np.float32), (1000, 1))
peak = lambda: int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
before = peak()
(y,) = session.run(None, {"X": x, "rois": rois})
assert y.shape == (1000, 64, 7, 7)
print(peak() - before)
"""
    _, portable = roi_model(pooled_shape=(7, 7))
    done = subprocess.run(
        [sys.executable, "-c", program], input=portable.SerializeToString(), capture_output=True, check=True
    )
    assert 0 < int(done.stdout) < 150_000_000
