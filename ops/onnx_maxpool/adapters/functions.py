"""The operators as plain functions: NumPy arrays in, NumPy arrays out, through the native library."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from onnx_maxpool.adapters.sessions import NEWEST, Setting, run_one_node
from onnx_maxpool.errors import OperatorError, listing
from onnx_maxpool.facts import INDEX_ATTRIBUTE, INDEX_SPELLINGS
from onnx_maxpool.types import Array, BinEdges, element_type, native_order

Attribute = tuple[str, Any]
Outputs = Array | tuple[Array, Array]


def max_roi_pool(
    x: Array,
    rois: Array,
    pooled_shape: Sequence[int],
    spatial_scale: float = 1.0,
    *,
    bin_edges: BinEdges | None = None,
) -> Array:
    """MaxRoiPool of ai.onnx: the maximum in each of `pooled_shape` bins of each region of interest.

    `x` (N, C, H, W) and `rois` (R, 5), with rows `[batch, x1, y1, x2, y2]`, have the same type: float16, bfloat16,
    float32 or float64. Returns (R, C, pooled_height, pooled_width) of that type. `bin_edges` (M7) is "onnx", the
    default, "exact" or "double". Raises OperatorError for everything that the operator rejects, and ValueError for
    other `bin_edges`.
    """
    shape = _integers("MaxRoiPool", "pooled_shape", pooled_shape)
    x, rois = _array(x), _array(rois)
    attributes = (shape, _scale("MaxRoiPool", spatial_scale))
    return run_one_node(Setting("MaxRoiPool", (x.dtype, rois.dtype), attributes, bin_edges=bin_edges), x, rois)[0]


def roi_pooling(
    x: Array,
    rois: Array,
    pooled_size: Sequence[int],
    spatial_scale: float = 1.0,
    *,
    bin_edges: BinEdges | None = None,
) -> Array:
    """RoiPooling of DirectML: like `max_roi_pool`, for `rois` (1, 1, R, 5), float16 or float32.

    The default of `bin_edges` is "exact".
    """
    size = _integers("RoiPooling", "pooled_size", pooled_size)
    x, rois = _array(x), _array(rois)
    attributes = (size, _scale("RoiPooling", spatial_scale))
    return run_one_node(Setting("RoiPooling", (x.dtype, rois.dtype), attributes, bin_edges=bin_edges), x, rois)[0]


@overload
def max_pooling(
    x: Array,
    window_size: Sequence[int],
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    *,
    return_indices: Literal[False] = False,
    index_dtype: npt.DTypeLike = np.uint32,
) -> Array: ...


@overload
def max_pooling(
    x: Array,
    window_size: Sequence[int],
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    *,
    return_indices: Literal[True],
    index_dtype: npt.DTypeLike = np.uint32,
) -> tuple[Array, Array]: ...


def max_pooling(
    x: Array,
    window_size: Sequence[int],
    strides: Sequence[int] | None = None,
    start_padding: Sequence[int] | None = None,
    end_padding: Sequence[int] | None = None,
    *,
    return_indices: bool = False,
    index_dtype: npt.DTypeLike = np.uint32,
) -> Outputs:
    """MaxPooling1 of DirectML: the maximum of windows that slide over the spatial dimensions.

    `x` is (N, C, H, W) or (N, C, D, H, W), of float16, float32, or an integer type of 8 to 64 bits. The other arguments
    have one integer for each spatial dimension; the default of strides is 1, of paddings 0. Returns the maxima. With
    `return_indices` it also returns the index of each maximum in the flattened `x`, uint32 or uint64 (P5). Raises
    OperatorError for everything that the operator rejects.
    """
    given = {
        "window_size": window_size,
        "strides": strides,
        "start_padding": start_padding,
        "end_padding": end_padding,
    }
    attributes = [_integers("MaxPooling1", name, values) for name, values in given.items() if values is not None]
    return _with_index("MaxPooling1", (_array(x),), attributes, return_indices, index_dtype)


@overload
def adaptive_max_pool(
    x: Array,
    output_size: npt.ArrayLike,
    *,
    return_indices: Literal[False] = False,
    index_dtype: npt.DTypeLike = np.int64,
) -> Array: ...


@overload
def adaptive_max_pool(
    x: Array, output_size: npt.ArrayLike, *, return_indices: Literal[True], index_dtype: npt.DTypeLike = np.int64
) -> tuple[Array, Array]: ...


def adaptive_max_pool(
    x: Array, output_size: npt.ArrayLike, *, return_indices: bool = False, index_dtype: npt.DTypeLike = np.int64
) -> Outputs:
    """AdaptiveMaxPool of OpenVINO: the maximum of windows that divide each spatial dimension.

    `x` is (N, C, spatial...) with 1 to 3 spatial dimensions, of float16, bfloat16, float32 or float64. `output_size`
    has one integer for each of them. Returns the maxima (N, C, output_size...). With `return_indices` it also returns
    the index of each maximum in the flattened spatial dimensions of its own image and channel, int64 or int32 (A3).
    Raises OperatorError for everything that the operator rejects.
    """
    return _with_index("AdaptiveMaxPool", (_array(x), _array(output_size)), [], return_indices, index_dtype)


def _with_index(
    name: str, inputs: tuple[Array, ...], attributes: list[Attribute], with_index: bool, index_dtype: npt.DTypeLike
) -> Outputs:
    if with_index:
        attributes.append((INDEX_ATTRIBUTE, _index_spelling(name, index_dtype)))
    dtypes = tuple(x.dtype for x in inputs)
    outputs = run_one_node(Setting(name, dtypes, tuple(attributes), with_index), *inputs)
    return (outputs[0], outputs[1]) if with_index else outputs[0]


def _index_spelling(name: str, index_dtype: npt.DTypeLike) -> str:
    """As the attribute has it. Raises OperatorError in the words of the argument."""
    known = NEWEST[name].index_types
    try:
        index_type = np.dtype(index_dtype).name
    except TypeError:
        index_type = repr(index_dtype)
    if index_type not in known:
        raise OperatorError(f"{name}: index_dtype is {index_type}, expected {listing(known)}")
    return INDEX_SPELLINGS[index_type]


def _array(x: npt.ArrayLike) -> Array:
    array = np.asarray(x)
    if array.dtype == object and element_type(array) == "string":
        array = array.astype(str)  # whose dtype says so: only that reaches those who check types
    return native_order(array)


def _integers(operator: str, name: str, values: Sequence[int]) -> Attribute:
    try:
        return name, tuple([value.__index__() for value in values])
    except (AttributeError, TypeError):
        raise OperatorError(f"{operator}: {name} is {values!r}, expected a sequence of integers") from None


def _scale(operator: str, spatial_scale: float) -> Attribute:
    try:
        return "spatial_scale", float(spatial_scale)
    except OverflowError:  # beyond double as well as float: rejected as any infinite one is
        return "spatial_scale", math.inf if spatial_scale > 0 else -math.inf
    except (TypeError, ValueError):
        raise OperatorError(f"{operator}: spatial_scale is {spatial_scale!r}, expected a number") from None
