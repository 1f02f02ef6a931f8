"""ai.onnx MaxPool with its index, for runtimes that lack that output."""

from __future__ import annotations

import numpy as np

from onnx_maxpool.adapters.portable.static.maxima import AxisPlan, plan_cells, plan_windows, row_major
from onnx_maxpool.adapters.portable.static.operators import Call, Outputs, pooled
from onnx_maxpool.adapters.portable.static.tensors import Graph
from onnx_maxpool.errors import OperatorError, shape
from onnx_maxpool.types import Integers

NAME = "MaxPool"
SPATIAL = (1, 2, 3)
"""How many spatial dimensions there may be."""


def max_pool(graph: Graph, call: Call) -> Outputs:
    """The values, and their index in the whole tensor.

    Cells are numbered along the last spatial axis first, with storage_order 1 along the first. Raises OperatorError for
    what the standard does not define: a window without a cell.
    """
    sizes, rank = call.spatial, len(call.spatial)
    kernel = list(call.attributes["kernel_shape"])
    if rank not in SPATIAL or len(kernel) != rank:
        raise OperatorError(
            f"{NAME}: X has shape {shape(call.x.shape)} and kernel_shape is {shape(kernel)}, "
            "expected 3 to 5 dimensions (N, C and 1 to 3 spatial ones) and a side for each spatial one"
        )
    strides = list(call.attributes.get("strides") or [1] * rank)
    dilations = list(call.attributes.get("dilations") or [1] * rank)
    pads = list(call.attributes.get("pads") or [0] * (2 * rank))
    mode = call.attributes.get("auto_pad", "NOTSET")
    plans, counts = [], []
    for axis, size in enumerate(sizes):
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        before, after = pads[axis], pads[axis + rank]
        if mode != "NOTSET":
            before, after = _automatic_pads(mode, size, reach, strides[axis])
        count = _count(size + before + after, before + size, reach, strides[axis], call.attributes.get("ceil_mode", 0))
        starts = np.arange(max(count, 0), dtype=np.int64) * strides[axis] - before
        plans.append(_plan(starts, kernel[axis], dilations[axis], size, call))
        counts.append(count)
    numbers = row_major(sizes)
    if call.attributes.get("storage_order", 0):
        numbers = row_major(sizes[::-1]).transpose()
    return pooled(graph, call, counts, plans, numbers, per_tensor=True)


def _automatic_pads(mode: str, size: int, reach: int, stride: int) -> tuple[int, int]:
    """So that there are ceil(size / stride) windows; the odd cell goes to the end, or for SAME_LOWER to the start."""
    if mode == "VALID":
        return 0, 0
    total = max((-(-size // stride) - 1) * stride + reach - size, 0)
    small, large = total // 2, total - total // 2
    return (large, small) if mode == "SAME_LOWER" else (small, large)


def _count(padded: int, end: int, reach: int, stride: int, ceil_mode: int) -> int:
    """How many windows there are; with `ceil_mode` one may go beyond the padding, if it begins before the map's end."""
    if not ceil_mode:
        return (padded - reach) // stride + 1
    count = -(-(padded - reach) // stride) + 1
    return count - 1 if (count - 1) * stride >= end else count


def _plan(starts: Integers, kernel: int, dilation: int, size: int, call: Call) -> AxisPlan:
    cells = [
        [cell for cell in range(start, start + kernel * dilation, dilation) if 0 <= cell < size] for start in starts
    ]
    if not cells or not all(cells):
        raise OperatorError(
            f"{NAME}: X has shape {shape(call.x.shape)}, expected a cell in each window: kernel_shape is "
            f"{shape(call.attributes['kernel_shape'])}, pads {shape(call.attributes.get('pads') or [])}"
        )
    if dilation > 1:
        return plan_cells(cells)
    firsts, lasts = (np.array([window[i] for window in cells], np.int64) for i in (0, -1))
    return plan_windows(firsts, lasts + 1, size)
