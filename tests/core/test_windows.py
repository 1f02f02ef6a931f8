"""Windows: how they are planned, by their properties and against exact fractions, and the pictures of them."""

from __future__ import annotations

import math
from fractions import Fraction

import matplotlib as mpl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import onnx_maxpool
from onnx_maxpool import plot_windows
from onnx_maxpool.types import dtype_of
from onnx_maxpool.windows import adaptive_windows, even_windows, roi_windows, round_half_away, sliding_windows

EXTENTS = st.integers(1, 2**31 + 1) | st.integers(1, 2**63 - 1)
COUNTS = st.integers(1, 300)


@given(EXTENTS, COUNTS)
def test_even_windows_are_the_formula_in_exact_fractions(extent: int, count: int) -> None:
    """M7, A2."""
    start, end = even_windows(np.array(extent), count)
    for i in {0, 1, count // 2, count - 1} & set(range(count)):
        assert start[i] == math.floor(Fraction(i * extent, count))
        assert end[i] == math.ceil(Fraction((i + 1) * extent, count))


@given(EXTENTS, COUNTS)
def test_even_windows_cover_the_extent_and_none_is_empty(extent: int, count: int) -> None:
    start, end = even_windows(np.array(extent), count)
    assert start[0] == 0
    assert end[-1] == extent
    assert (start < end).all()
    assert (start[1:] <= end[:-1]).all()


def test_even_windows_do_not_overflow_at_the_largest_count() -> None:
    """A remainder is smaller than the count, so no product exceeds the count's square."""
    assert (2**31 - 1) ** 2 < 2**63


@pytest.mark.parametrize("size", [2**24 - 1, 2**24 + 1, 2**24 + 3, 2**31 + 1])
@pytest.mark.parametrize("output_size", [1, 3, 7, 23, 1000])
def test_adaptive_windows_of_axes_too_long_for_float32(size: int, output_size: int) -> None:
    """A2, where a quotient in float32 ends one cell early or late."""
    start, end = adaptive_windows(size, output_size)
    assert start.tolist() == [i * size // output_size for i in range(output_size)]
    assert end.tolist() == [-(-(i + 1) * size // output_size) for i in range(output_size)]
    assert start.dtype == end.dtype == np.int64


def test_adaptive_windows_of_more_outputs_than_cells() -> None:
    """A2: windows repeat, and overlap where the sizes do not divide."""
    start, end = adaptive_windows(2, 5)
    assert start.tolist() == [0, 0, 0, 1, 1]
    assert end.tolist() == [1, 1, 2, 2, 2]


def test_sliding_windows() -> None:
    """P3 and P4: as many as fit, cut to the axis; cells that no window reaches are left out."""
    start, end = sliding_windows(6, window=3, stride=2, start_padding=1, end_padding=0)
    assert start.tolist() == [0, 1, 3]
    assert end.tolist() == [2, 4, 6]
    start, end = sliding_windows(5, window=4, stride=3, start_padding=3, end_padding=2)
    assert start.tolist() == [0, 0, 3]
    assert end.tolist() == [1, 4, 5]
    start, end = sliding_windows(7, window=2, stride=4, start_padding=0, end_padding=0)
    assert start.tolist() == [0, 4]
    assert end.tolist() == [2, 6]


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 9), st.data())
def test_no_sliding_window_is_empty(size: int, window: int, stride: int, data: st.DataObject) -> None:
    """P2: paddings smaller than the window."""
    before, after = data.draw(st.integers(0, window - 1)), data.draw(st.integers(0, window - 1))
    start, end = sliding_windows(size, window, stride, before, after)
    assert (start < end).all()
    assert (end - start <= window).all()
    assert len(start) == max(0, (size + before + after - window) // stride + 1)


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
def test_round_half_away(value: float) -> None:
    """M5."""
    expected = math.copysign(math.floor(abs(Fraction(value)) + Fraction(1, 2)), value)
    assert round_half_away(np.array(value, np.float32)) == np.float32(expected)


def test_roi_windows_are_given_by_axis() -> None:
    """M4 to M8: rows first, then columns, each (R, bins)."""
    rois = np.array([[0, 2, 4, 5, 11], [0, -1, 3, 0, 2]], np.float32)
    (y_start, y_end), (x_start, x_end) = roi_windows(rois, (2, 3), 1.0, (10, 8))
    assert y_start.tolist() == [[4, 8], [3, 3]]
    assert y_end.tolist() == [[8, 10], [4, 4]]  # clipped to the height; a malformed ROI is one cell high
    assert x_start.tolist() == [[2, 3, 4], [0, 0, 0]]
    assert x_end.tolist() == [[4, 5, 6], [0, 1, 1]]


def test_no_window_fits() -> None:
    start, end = sliding_windows(2, 5, 1, 1, 0)
    assert start.shape == end.shape == (0,)


mpl.use("Agg")
MAP = np.random.default_rng(0).permutation(8 * 10).reshape(8, 10).astype(np.float32)


def frames(ax: Axes) -> list[tuple[int, int, int, int]]:
    """Top, bottom, left, right of each frame, in whole cells."""
    found = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    edges = [(p.get_y(), p.get_y() + p.get_height(), p.get_x(), p.get_x() + p.get_width()) for p in found]
    return [tuple(round(edge + 0.5) for edge in edge4) for edge4 in edges]  # type: ignore[misc]


def dots(ax: Axes) -> list[tuple[int, int]]:
    """Row and column of each dot's cell."""
    points = [(float(line.get_ydata()[0]), float(line.get_xdata()[0])) for line in ax.lines]  # type: ignore[index]
    return [(round(y), round(x)) for y, x in points]


def teardown_function() -> None:
    pyplot.close("all")


@pytest.mark.parametrize("element_type", ["float", "bfloat16", "int64"])
def test_a_sliding_plan(element_type: str) -> None:
    image = MAP.astype(dtype_of(element_type))
    ax = plot_windows(image, (sliding_windows(8, 3, 2, 1, 1), sliding_windows(10, 4, 3, 1, 0)))
    expected = [(t, b, lo, hi) for t, b in ((0, 2), (1, 4), (3, 6), (5, 8)) for lo, hi in ((0, 3), (2, 6), (5, 9))]
    assert frames(ax) == expected
    winners = [MAP[t:b, lo:hi].max() for t, b, lo, hi in expected]
    assert [MAP[cell] for cell in dots(ax)] == winners


def test_an_adaptive_plan_with_a_nan() -> None:
    image = MAP.copy()
    image[1, 1] = image[1, 2] = np.nan
    image[7, 9] = np.inf
    ax = plot_windows(image, (adaptive_windows(8, 3), adaptive_windows(10, 3)))
    assert len(frames(ax)) == 9
    assert dots(ax)[0] == (1, 1)  # the first NaN (G5)
    assert dots(ax)[-1] == (7, 9)
    ax.figure.savefig("/dev/null", format="png")


def test_the_bins_of_one_region_without_those_that_are_empty() -> None:
    rois = np.array([[0, 0, 0, 9, 7], [0, -4, 6, 3, 9]], np.float32)
    windows = roi_windows(rois, (2, 4), 1.0, MAP.shape)  # type: ignore[arg-type]
    assert frames(plot_windows(MAP, windows, roi=1)) == [(6, 8, 0, 2), (6, 8, 2, 4)]


def test_few_cells_are_numbered_and_a_given_axes_is_drawn_on() -> None:
    _, ax = pyplot.subplots()
    windows = adaptive_windows(8, 1), adaptive_windows(10, 1)
    assert plot_windows(MAP, windows, ax=ax) is ax
    assert sorted(float(text.get_text()) for text in ax.texts) == list(range(80))
    big = plot_windows(np.zeros((40, 40)), (adaptive_windows(40, 2), adaptive_windows(40, 2)))
    assert not big.texts


def test_bad_input() -> None:
    plan = adaptive_windows(8, 2), adaptive_windows(10, 2)
    with pytest.raises(ValueError, match=r"feature_map has shape \[1,8,10\], expected 2 dimensions"):
        plot_windows(MAP[None], plan)
    rois = roi_windows(np.zeros((2, 5), np.float32), (2, 2), 1.0, (8, 10))
    for windows, roi in ((plan, 0), (rois, None), (rois, 2), (rois, -1)):
        with pytest.raises(ValueError, match=f"and roi is {roi}, expected 1 dimension without roi"):
            plot_windows(MAP, windows, roi=roi)


def test_without_matplotlib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r'pip install "onnx-maxpool\[plot\]"'):
        onnx_maxpool.plot_windows(MAP, (adaptive_windows(8, 1), adaptive_windows(10, 1)))
