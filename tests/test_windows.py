"""The planned windows, by their properties and against exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from onnx_maxpool.windows import even_windows, roi_windows, round_half_away

EXTENTS = st.integers(1, 2**31 + 1)
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
    """The largest extent (M11) times the largest count (M3) stays within 64 bits."""
    assert (2**31 + 1) * (2**31 - 1) + 2**31 < 2**63


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
