"""Each kind of operator, and ai.onnx's MaxPool with its index, as standard nodes without control flow."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ml_dtypes
import numpy as np

from onnx_maxpool.adapters.portable.static.blocks import flat
from onnx_maxpool.adapters.portable.static.edges import roi_bins
from onnx_maxpool.adapters.portable.static.maxima import AxisPlan, plan_cells, plan_windows, row_major, window_max
from onnx_maxpool.adapters.portable.static.roi import roi_max
from onnx_maxpool.adapters.portable.static.tensors import Graph, Tensor, Value
from onnx_maxpool.errors import OperatorError, shape
from onnx_maxpool.operators import adaptive_max_pool, max_pooling1
from onnx_maxpool.operators.registry import OperatorVersion
from onnx_maxpool.operators.roi import check_rois
from onnx_maxpool.types import Array, BinEdges, Integers
from onnx_maxpool.windows import adaptive_windows, sliding_windows

COMPUTED = {
    np.dtype(ml_dtypes.bfloat16): np.dtype(np.float32),
    np.dtype(np.int16): np.dtype(np.int32),
    np.dtype(np.uint16): np.dtype(np.int32),
}
"""The types that maxima are taken in, where runtimes have no Max in the tensor's own: nothing is lost."""


@dataclass(frozen=True)
class Call:
    """A node whose operator is to be written out."""

    name: str
    """The operator's, as messages have it."""
    inputs: Sequence[Value]
    constants: Sequence[Array | None]
    """The inputs that are constants of the model."""
    attributes: Mapping[str, Any]
    """Complete and checked."""
    index_type: np.dtype[Any] | None
    """None where no index is wanted."""
    bin_edges: BinEdges | None = None
    """None for operators without bins."""

    @property
    def x(self) -> Value:
        """What is pooled."""
        return self.inputs[0]

    @property
    def spatial(self) -> tuple[int, ...]:
        """The spatial dimensions of X."""
        return self.x.shape[2:]


Outputs = list[Tensor]
Translation = Callable[[Graph, Call], Outputs]


def translation(version: OperatorVersion) -> Translation:
    """What writes an operator out, by the plan of its windows."""
    return partial({"roi": roi_pooling, "adaptive": adaptive, "sliding": sliding}[version.plan], version)


def roi_pooling(version: OperatorVersion, graph: Graph, call: Call) -> Outputs:
    """M, D."""
    x, given = call.inputs
    height, width = call.attributes[version.size_attribute]
    count = given.shape[-2]
    assert call.bin_edges is not None
    rois: Tensor = given
    constant = call.constants[1]
    if constant is not None:
        rois = constant
        check_rois(call.name, constant.reshape(count, 5), x.shape[0])
    elif count and not x.shape[0]:
        raise OperatorError(
            f"{call.name}: X has shape {shape(x.shape)} and rois {shape(given.shape)}, "
            "expected no ROI, as X has batch size 0"
        )
    dims = (count, x.shape[1], height, width)
    if 0 in dims:
        return [np.zeros(dims, x.dtype)]
    rois = graph.reshape(rois, (count, 5))
    scale = float(call.attributes["spatial_scale"])
    sizes = (x.shape[2], x.shape[3])
    bins = roi_bins(graph, rois, x.shape[0], (height, width), scale, sizes, call.bin_edges)
    if 0 in sizes:  # M9; what is bad is NaN here too
        nothing, nan = np.array([[0], [np.nan]], COMPUTED.get(x.dtype, x.dtype))
        filled = graph.elementwise("Where", graph.reshape(bins.is_bad, (count, 1, 1, 1)), nan, nothing)
        return [graph.expand(graph.cast(filled, x.dtype), dims)]
    return [graph.cast(roi_max(graph, _computed(graph, x), bins), x.dtype)]


def adaptive(version: OperatorVersion, graph: Graph, call: Call) -> Outputs:
    """A."""
    sizes = call.constants[1]
    if sizes is None:
        raise OperatorError(
            f"{call.name}: output_size is computed, expected a constant of the model, for a model without control flow"
        )
    counts = tuple(map(int, sizes))
    adaptive_max_pool.check_sizes(counts)
    if call.index_type is not None:
        adaptive_max_pool.check_index(call.x.shape, call.index_type)
    windows = list(map(adaptive_windows, call.spatial, counts))
    plans = [plan_windows(*window, size) for window, size in zip(windows, call.spatial, strict=True)]
    return pooled(graph, call, counts, plans, row_major(call.spatial), per_tensor=version.index_scope == "tensor")


def sliding(version: OperatorVersion, graph: Graph, call: Call) -> Outputs:
    """P."""
    names = ("window_size", "strides", "start_padding", "end_padding")
    settings = [call.attributes[name] for name in names]
    dims = max_pooling1.output_shape(call.x.shape, *settings)
    if call.index_type is not None:
        max_pooling1.check_index(call.x.shape, call.index_type)
    plans = [
        plan_windows(*sliding_windows(size, *along), size) for size, *along in zip(call.spatial, *settings, strict=True)
    ]
    return pooled(graph, call, dims[2:], plans, row_major(call.spatial), per_tensor=version.index_scope == "tensor")


def pooled(
    graph: Graph,
    call: Call,
    sizes: Sequence[int],
    plans: Sequence[AxisPlan],
    numbers: Integers,
    *,
    per_tensor: bool,
) -> Outputs:
    """The values, and with an index the `numbers` of the cells that they come from, in the spatial dimensions' shape.

    `per_tensor`: cells are numbered on from one channel to the next, and from one image to the next.
    """
    x, index_type = call.x, call.index_type
    dims = (*x.shape[:2], *sizes)
    if 0 in dims:
        return [np.zeros(dims, dtype) for dtype in (x.dtype, index_type) if dtype is not None]
    planes = x.shape[0] * x.shape[1]  # one axis, as accelerators have but four
    computed = graph.reshape(_computed(graph, x), (planes, *call.spatial))
    if index_type is None:
        values = window_max(graph, computed, plans).values
        return [graph.reshape(_typed(graph, values, x.dtype), dims)]
    # With 64 bits, IREE has no code to gather some. A model has no room for 2^30 labels, so sums of two have 32 bits.
    maxima = window_max(graph, computed, plans, row_major(call.spatial).astype(np.int32))
    labels = maxima.labels
    assert labels is not None
    if isinstance(labels, np.ndarray):
        # Windows of one cell each: what does not depend on values some runtimes do not give as an output. Its shape is
        # the output's, as IREE takes what both branches are for the node's result.
        never = graph.elementwise("Less", maxima.values, maxima.values)
        labels = np.broadcast_to(labels, never.shape)
        labels = graph.elementwise("Where", never, labels, labels)
    if index_type != labels.dtype:  # no Cast: IREE has none to uint64, and tract makes sizes of what is cast to int64
        labels = _looked_up(graph, numbers.reshape(-1).astype(index_type), labels)
    if per_tensor and planes > 1:
        first = row_major((planes, *(1 for _ in sizes))) * numbers.size
        labels = graph.elementwise("Add", labels, first.astype(index_type))
    return [graph.reshape(_typed(graph, maxima.values, x.dtype), dims), graph.reshape(labels, dims)]


def _computed(graph: Graph, x: Value) -> Tensor:
    return graph.cast(x, COMPUTED.get(x.dtype, x.dtype))


def _typed(graph: Graph, x: Tensor, dtype: np.dtype[Any]) -> Tensor:
    """Maxima in the tensor's own type. IREE has no Cast to types of 16 bits."""
    if dtype not in (np.int16, np.uint16):
        return graph.cast(x, dtype)
    numbers = np.arange(2**16) + np.iinfo(dtype).min
    place = graph.elementwise("Sub", x, numbers[:1].astype(x.dtype)) if numbers[0] else x
    return _looked_up(graph, numbers.astype(dtype), place)


def _looked_up(graph: Graph, numbers: Array, place: Tensor) -> Tensor:
    return graph.reshape(graph.gather(numbers, flat(graph, place)), place.shape)


MAX_POOL = "MaxPool"
"""Of ai.onnx."""
MAX_POOL_SPATIAL = (1, 2, 3)
"""How many spatial dimensions it may have."""


def max_pool(graph: Graph, call: Call) -> Outputs:
    """ai.onnx's MaxPool for runtimes that lack its second output: the values, and their index in the whole tensor.

    Cells are numbered along the last spatial axis first, with storage_order 1 along the first. Raises OperatorError for
    what the standard does not define: a window without a cell, and strides and dilations below 1.
    """
    sizes, rank = call.spatial, len(call.spatial)
    kernel = list(call.attributes.get("kernel_shape") or [])
    if rank not in MAX_POOL_SPATIAL or len(kernel) != rank:
        raise OperatorError(
            f"{MAX_POOL}: X has shape {shape(call.x.shape)} and kernel_shape is {shape(kernel)}, "
            "expected 3 to 5 dimensions (N, C and 1 to 3 spatial ones) and a side for each spatial one"
        )
    strides = list(call.attributes.get("strides") or [1] * rank)
    dilations = list(call.attributes.get("dilations") or [1] * rank)
    pads = list(call.attributes.get("pads") or [0] * (2 * rank))
    for name, given, count in ("strides", strides, rank), ("dilations", dilations, rank), ("pads", pads, 2 * rank):
        if len(given) != count:
            raise OperatorError(f"{MAX_POOL}: {name} is {shape(given)}, expected {count} integers")
        if name != "pads" and min(given) < 1:
            raise OperatorError(f"{MAX_POOL}: {name} is {shape(given)}, expected integers of at least 1")
    mode = call.attributes.get("auto_pad", "NOTSET")
    plans, counts = [], []
    for axis, size in enumerate(sizes):
        reach = (kernel[axis] - 1) * dilations[axis] + 1
        before, after = pads[axis], pads[axis + rank]
        if mode != "NOTSET":
            before, after = _automatic_pads(mode, size, reach, strides[axis])
        count = _window_count(
            size + before + after, before + size, reach, strides[axis], call.attributes.get("ceil_mode", 0)
        )
        starts = np.arange(max(count, 0), dtype=np.int64) * strides[axis] - before
        plans.append(_dilated_plan(starts, kernel[axis], dilations[axis], size, call))
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


def _window_count(padded: int, end: int, reach: int, stride: int, ceil_mode: int) -> int:
    """How many windows there are; with `ceil_mode` one may go beyond the padding, if it begins before the map's end."""
    if not ceil_mode:
        return (padded - reach) // stride + 1
    count = -(-(padded - reach) // stride) + 1
    return count - 1 if (count - 1) * stride >= end else count


def _dilated_plan(starts: Integers, kernel: int, dilation: int, size: int, call: Call) -> AxisPlan:
    cells = [
        [cell for cell in range(start, start + kernel * dilation, dilation) if 0 <= cell < size] for start in starts
    ]
    if not cells or not all(cells):
        raise OperatorError(
            f"{MAX_POOL}: X has shape {shape(call.x.shape)}, expected a cell in each window: kernel_shape is "
            f"{shape(call.attributes['kernel_shape'])}, pads {shape(call.attributes.get('pads') or [])}"
        )
    if dilation > 1:
        return plan_cells(cells)
    firsts, lasts = (np.array([window[i] for window in cells], np.int64) for i in (0, -1))
    return plan_windows(firsts, lasts + 1, size)
