"""What holds for every call of MaxRoiPool and RoiPooling, in sessions of ONNX Runtime."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from support.one_node import Array, assert_same
from support.strategies import (
    LARGE,
    LAYOUTS,
    NEWEST,
    SHIFTS,
    Call,
    any_values,
    dtype_of,
    generators,
    maps,
    roi_calls,
    roi_tensor,
    spread,
    whole_values,
)

import onnx_maxpool
from onnx_maxpool.windows import roi_windows

pytestmark = pytest.mark.slow("draws hundreds of models")

on_small = given(roi_calls())
on_large = given(roi_calls(LARGE))
max_roi_pool_calls = roi_calls(LARGE, operators=["MaxRoiPool"])


def pooled_sides(call: Call) -> tuple[int, int]:
    height, width = call.attributes[NEWEST[call.operator].size_attribute]
    return height, width


def pool(call: Call, x: Array, rois: Array) -> Array:
    """The call of other arrays; `rois` (R, 5) for either operator."""
    (y,) = call.on(x, roi_tensor(NEWEST[call.operator], rois)).native()
    return y


def arrays(call: Call) -> tuple[Array, Array]:
    x, rois = call.inputs
    return x, rois.reshape(-1, 5)


def windows(call: Call, x_shape: tuple[int, ...]) -> Any:
    """((y_start, y_end), (x_start, x_end)), each (R, bins)."""
    edges: Any = call.bin_edges or NEWEST[call.operator].bin_edges
    scale = call.attributes["spatial_scale"]
    return roi_windows(arrays(call)[1], pooled_sides(call), scale, (x_shape[2], x_shape[3]), bin_edges=edges)


# An ROI that begins where an answer of brute force's has its mark for coordinates of more than 32 bits.
LEAST_INT32 = np.array([[[[0, -(2**31), 0, 0, 0]]]], np.float32)
FROM_LEAST_INT32 = Call("RoiPooling", (np.ones((1, 1, 1, 1), np.float32), LEAST_INT32), {"pooled_size": (1, 1)})


@example(FROM_LEAST_INT32)
@on_small
def test_native_reference_and_brute_force_are_equal(call: Call) -> None:
    """G1 to G7, M4 to M11."""
    (y,) = call.brute_force()
    for (actual,) in (call.native(), call.reference()):
        assert_same(actual, y)


@on_large
def test_native_and_reference_are_equal(call: Call) -> None:
    """In what brute force would take too long for: every kernel, and vectors of every length."""
    assert_same(*call.native(), *call.reference())


@given(roi_calls(LARGE), st.sampled_from([*LAYOUTS]), st.sampled_from([*LAYOUTS]))
def test_how_arrays_lie_in_memory_changes_nothing(call: Call, layout: str, layout_of_rois: str) -> None:
    given_arrays = [LAYOUTS[name](x) for name, x in zip((layout, layout_of_rois), call.inputs, strict=True)]
    copies = [np.array(x, call.inputs[0].dtype, order="C") for x in given_arrays]
    assert_same(*call.on(*given_arrays).native(), *call.on(*copies).native())


@given(roi_calls(LARGE, operators=["RoiPooling"]))
def test_roi_pooling_is_max_roi_pool(call: Call) -> None:
    """D1, with the same edges of bins."""
    call = replace(call, bin_edges=call.bin_edges or "exact")
    attributes = {"pooled_shape": call.attributes["pooled_size"], "spatial_scale": call.attributes["spatial_scale"]}
    same = replace(call, operator="MaxRoiPool", inputs=arrays(call), attributes=attributes)
    assert_same(*call.native(), *same.native())


@given(roi_calls(LARGE), generators())
def test_permuting_rois_permutes_outputs(call: Call, rng: np.random.Generator) -> None:
    x, rois = arrays(call)
    order = rng.permutation(len(rois))
    assert_same(pool(call, x, rois[order]), call.native()[0][order])


@given(roi_calls(LARGE), generators())
def test_permuting_channels_permutes_outputs(call: Call, rng: np.random.Generator) -> None:
    x, rois = arrays(call)
    order = rng.permutation(x.shape[1])
    assert_same(pool(call, x[:, order], rois), call.native()[0][:, order])


@on_large
def test_splitting_a_batch_splits_the_output(call: Call) -> None:
    """An image gives alone what it gives among others; so do an image's ROIs."""
    x, rois = arrays(call)
    (y,) = call.native()
    images = rois[:, 0].astype(np.int64)
    for image in range(len(x)):
        own = rois[images == image]
        own[:, 0] = 0
        assert_same(pool(call, x[image : image + 1], own), y[images == image])


@given(roi_calls(LARGE, values=whole_values), SHIFTS)
def test_adding_a_constant_shifts_the_result(call: Call, shift: int) -> None:
    """But for empty bins, which stay 0 (M9)."""
    x, rois = arrays(call)
    (y,) = call.native()
    has_cells = pool(call, np.ones_like(x), rois) == 1
    shifted = pool(call, (x + x.dtype.type(shift)).astype(x.dtype), rois)
    assert_same(shifted, np.where(has_cells, y + x.dtype.type(shift), y).astype(x.dtype))
    assert not y[~has_cells].any()


@on_small
def test_a_windows_value_is_in_the_window(call: Call) -> None:
    """G2, G3, M9: it is a cell of it, no cell is greater, and NaN stands only where there is one."""
    x, rois = arrays(call)
    (y,) = call.native()
    values, cells = y.astype(np.float64), x.astype(np.float64)
    (tops, bottoms), (lefts, rights) = windows(call, x.shape)
    for r, channel, i, j in np.ndindex(y.shape):
        window = cells[int(rois[r, 0]), channel, tops[r, i] : bottoms[r, i], lefts[r, j] : rights[r, j]]
        value = values[r, channel, i, j]
        if not window.size:
            assert value == 0
        elif np.isnan(value):
            assert np.isnan(window).any()
        else:
            assert value in window
            assert (window <= value).all()


@given(roi_calls(LARGE), st.integers(0, 9), st.integers(0, 40), st.data())
def test_enlarging_a_map_outside_all_windows_changes_nothing(
    call: Call, below: int, beside: int, data: st.DataObject
) -> None:
    """G1, M8: rows and columns behind all windows are never read."""
    x, rois = arrays(call)
    (_, bottoms), (_, rights) = windows(call, (0, 0, 2**40, 2**40))
    inside = (bottoms.max(axis=1) <= x.shape[2]) & (rights.max(axis=1) <= x.shape[3])
    n, c, height, width = x.shape
    larger = data.draw(spread(any_values(x.dtype), (n, c, height + below, width + beside), x.dtype), label="larger")
    larger[:, :, :height, :width] = x
    assert_same(pool(call, larger, rois[inside]), pool(call, x, rois[inside]))


@given(st.sampled_from(NEWEST["MaxRoiPool"].types["T"]), maps(LARGE, 2, least=1), st.data())
def test_the_whole_map_is_adaptive_max_pool(element_type: str, shape: tuple[int, ...], data: st.DataObject) -> None:
    """M7 and A2 cut alike: one ROI of all of an image's cells, with as many bins as outputs."""
    dtype = dtype_of(element_type)
    x = data.draw(spread(any_values(dtype), shape, dtype), label="x")
    sides = data.draw(st.tuples(*[st.integers(1, LARGE.outputs)] * 2), label="sides")
    rois = np.array([[image, 0, 0, shape[3] - 1, shape[2] - 1] for image in range(shape[0])], dtype).reshape(-1, 5)
    assert_same(onnx_maxpool.max_roi_pool(x, rois, sides), onnx_maxpool.adaptive_max_pool(x, sides))


@given(max_roi_pool_calls)
def test_transposing_the_map_and_the_rois_transposes_the_outputs(call: Call) -> None:
    x, rois = arrays(call)
    (y,) = call.native()
    turned = replace(call, attributes={**call.attributes, "pooled_shape": pooled_sides(call)[::-1]})
    swapped = rois[:, [0, 2, 1, 4, 3]]
    assert_same(pool(turned, np.swapaxes(x, 2, 3), swapped), np.swapaxes(y, 2, 3))
