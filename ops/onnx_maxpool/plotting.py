"""Windows drawn on a feature map, for people who would rather look than read."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from onnx_maxpool.errors import shape
from onnx_maxpool.types import Array
from onnx_maxpool.windows import Windows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLORS = ("#d62728", "#1f77b4", "#2ca02c", "#e377c2")
"""Windows that touch have different ones: by the parity of their row and column."""
INSET = 0.09
"""How far a frame lies within its cells; windows of one parity lie deeper than their neighbours, so that both show."""
MOST_NUMBERED_CELLS = 400
LARGEST_SIDE = 16
"""Of a new figure, in inches."""


def plot_windows(
    feature_map: Array, windows: tuple[Windows, Windows], *, roi: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw windows as frames on a feature map, with a dot of the frame's colour in the cell with the maximum.

    `feature_map` is (H, W), of any type. `windows` are windows along y and along x, as `onnx_maxpool.windows` computes
    them: the result of `roi_windows`, with `roi` the row of the region to draw, or one pair of arrays for each axis. A
    window without cells is not drawn. If several cells have the maximum, the dot is in the first one in row-major
    order; if a window has a NaN, in the first NaN (G5). Values are written into the cells if there are few. Draws on
    `ax`, or on a new figure.

    Needs matplotlib, the extra `plot`. Raises ValueError for other shapes, and ImportError without matplotlib.
    """
    if feature_map.ndim != 2:
        raise ValueError(
            f"plot_windows: feature_map has shape {shape(feature_map.shape)}, expected 2 dimensions (H, W)"
        )
    (y_start, y_end), (x_start, x_end) = (_of_one_region(along, roi) for along in windows)
    try:
        from matplotlib import pyplot as plt
        from matplotlib.patches import Rectangle
    except ImportError as error:
        raise ImportError('plot_windows needs matplotlib: pip install "onnx-maxpool[plot]"') from error

    height, width = feature_map.shape
    if ax is None:
        cell = min(0.5, LARGEST_SIDE / max(height, width, 1))
        _, ax = plt.subplots(figsize=(cell * width + 0.6, cell * height + 0.6), layout="constrained")
    _draw_map(ax, feature_map)
    for i, j in product(range(len(y_start)), range(len(x_start))):
        top, bottom, left, right = (int(edge[k]) for edge, k in ((y_start, i), (y_end, i), (x_start, j), (x_end, j)))
        cells = feature_map[top:bottom, left:right]
        if not cells.size:
            continue
        down, across = i % 2, j % 2
        color = COLORS[2 * down + across]
        inset = INSET * (1 + down + across)
        corner = (left - 0.5 + inset, top - 0.5 + inset)
        sides = (right - left - 2 * inset, bottom - top - 2 * inset)
        ax.add_patch(Rectangle(corner, *sides, facecolor=(color, 0.08), edgecolor=color, linewidth=1.6))
        row, column = divmod(int(cells.argmax()), right - left)
        # In a quarter of the cell by parity: a cell that wins several windows shows a dot for each.
        ax.plot(left + column + 0.3 * across - 0.15, top + row + 0.14 + 0.2 * down, "o", color=color, markersize=5)
    return ax


def _of_one_region(windows: Windows, roi: int | None) -> Windows:
    """The windows along one axis, of the region `roi` where they are those of several."""
    start, end = windows
    if start.ndim == 1 and roi is None:
        return start, end
    if start.ndim == 2 and roi is not None and 0 <= roi < len(start):
        return start[roi], end[roi]
    raise ValueError(
        f"plot_windows: windows have shape {shape(start.shape)} and roi is {roi}, "
        "expected 1 dimension without roi, or 2 and roi the row of one region"
    )


def _draw_map(ax: Axes, feature_map: Array) -> None:
    """Cells in shades of grey with their grid, NaN in yellow."""
    from matplotlib import colormaps

    height, width = feature_map.shape
    values = feature_map.astype(np.float64)
    finite = values[np.isfinite(values)]
    lowest, highest = (finite.min(), finite.max()) if finite.size else (0.0, 1.0)
    greys = colormaps["Greys"].with_extremes(bad="#ffe45c")
    # The darkest half is left to the frames.
    shades = np.clip(values, lowest, highest)  # imshow takes infinities for NaN
    ax.imshow(shades, cmap=greys, vmin=lowest, vmax=2 * highest - lowest + (highest == lowest))
    ax.set_xticks(np.arange(width + 1) - 0.5, minor=True)
    ax.set_yticks(np.arange(height + 1) - 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=0.8)
    ax.tick_params(which="minor", length=0)
    if feature_map.size <= MOST_NUMBERED_CELLS:
        for (row, column), value in np.ndenumerate(values):
            ax.text(column, row - 0.2, f"{value:.3g}", ha="center", va="center", fontsize=7, color="#333333")
