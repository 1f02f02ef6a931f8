"""The pictures of windows: what is drawn on them, and where."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

import onnx_maxpool
from onnx_maxpool import plot_windows
from onnx_maxpool.types import dtype_of
from onnx_maxpool.windows import adaptive_windows, roi_windows, sliding_windows

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
    mpl.pyplot.close("all")


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
    _, ax = mpl.pyplot.subplots()
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
