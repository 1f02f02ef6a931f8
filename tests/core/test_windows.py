"""The planned windows, by their properties and against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

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
