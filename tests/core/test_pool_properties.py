"""What holds for every call of MaxPooling1 and AdaptiveMaxPool, in sessions of ONNX Runtime."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from support.one_node import Array, assert_same
from support.strategies import (
    LARGE,
    LAYOUTS,
    NEWEST,
    SHIFTS,
    Call,
    adaptive_calls,
    any_values,
    dtype_of,
    generators,
    images_and_channels,
    sliding_calls,
    spread,
    whole_values,
)

import onnx_maxpool
from onnx_maxpool.windows import Windows, adaptive_windows, sliding_windows

pytestmark = pytest.mark.slow("draws hundreds of models")

on_small = given(adaptive_calls() | sliding_calls())
on_large = given(adaptive_calls(LARGE) | sliding_calls(LARGE))


def outputs_on(call: Call, x: Array) -> tuple[Array, ...]:
    """The call of another map."""
    return call.on(x, *call.inputs[1:]).native()


def assert_all_same(actual: tuple[Array, ...], expected: tuple[Array, ...]) -> None:
    for one, other in zip(actual, expected, strict=True):
        assert_same(one, other)


def windows(call: Call) -> list[Windows]:
    """Per spatial axis."""
    x, *sizes = call.inputs
    if NEWEST[call.operator].plan == "adaptive":
        return [adaptive_windows(side, int(size)) for side, size in zip(x.shape[2:], sizes[0], strict=True)]
    return [sliding_windows(*axis) for axis in zip(x.shape[2:], *call.attributes.values(), strict=True)]


def channel_starts(call: Call) -> Array:
    """What an index counts from, (N, C): 0, or the number of the channel's first cell in the tensor (A3, P5)."""
    n, c, *spatial = call.inputs[0].shape
    first = np.arange(n * c).reshape(n, c) * math.prod(spatial)
    return first if NEWEST[call.operator].index_scope == "tensor" else np.zeros_like(first)


@on_small
def test_native_reference_and_brute_force_are_equal(call: Call) -> None:
    """G1 to G7, P2 to P6, A1 to A4."""
    expected = call.brute_force() if call.inputs[0].size else call.reference()
    assert_all_same(call.native(), expected)
    assert_all_same(call.reference(), expected)


@on_large
def test_native_and_reference_are_equal(call: Call) -> None:
    """In what brute force would take too long for: every kernel, and vectors of every length."""
    assert_all_same(call.native(), call.reference())


@given(adaptive_calls(LARGE) | sliding_calls(LARGE), st.sampled_from([*LAYOUTS]))
def test_how_an_array_lies_in_memory_changes_nothing(call: Call, layout: str) -> None:
    x = LAYOUTS[layout](call.inputs[0])
    expected = outputs_on(call, np.array(x, call.inputs[0].dtype, order="C"))
    assert_all_same(outputs_on(call, x), expected)


@on_large
def test_the_index_changes_no_value(call: Call) -> None:
    alone = replace(call, index_type=None)
    assert_same(alone.native()[0], call.native()[0])


@given(adaptive_calls(LARGE) | sliding_calls(LARGE), generators())
def test_permuting_channels_and_splitting_a_batch(call: Call, rng: np.random.Generator) -> None:
    """Every channel of every image gives alone, and elsewhere, what it gives here."""
    x = call.inputs[0]
    y, *index = call.native()
    order = rng.permutation(x.shape[1])
    part = slice(*sorted(rng.integers(0, len(x) + 1, 2)))
    chosen = replace(call, inputs=(x[part][:, order], *call.inputs[1:]))
    other_y, *other_index = chosen.native()
    assert_same(other_y, y[part][:, order])
    for here, there in zip(index, other_index, strict=True):
        spatial = (1,) * (x.ndim - 2)
        within = here.astype(np.int64) - channel_starts(call).reshape(*x.shape[:2], *spatial)
        starts = channel_starts(chosen).reshape(*chosen.inputs[0].shape[:2], *spatial)
        assert_same(there, (within[part][:, order] + starts).astype(there.dtype))


@given(adaptive_calls(LARGE, values=whole_values) | sliding_calls(LARGE, values=whole_values), SHIFTS)
def test_adding_a_constant_shifts_the_result(call: Call, shift: int) -> None:
    """And no index."""
    x = call.inputs[0]

    def shifted(array: Array) -> Array:
        return (array + np.array(shift).astype(x.dtype)).astype(x.dtype)  # an unsigned type wraps around, and back

    y, *index = call.native()
    assert_all_same(outputs_on(call, shifted(x)), (shifted(y), *index))


@on_small
def test_a_windows_value_is_in_the_window(call: Call) -> None:
    """G2, G3, G5: it is a cell of it, the first of the greatest or the first NaN, and the index is that cell's."""
    x = call.inputs[0]
    y, *index = call.native()
    kind = np.dtype(object) if x.dtype.kind in "iu" else np.dtype(np.float64)
    cells, values = x.astype(kind), y.astype(kind)
    numbers = np.arange(math.prod(x.shape[2:])).reshape(x.shape[2:])
    axes = [[slice(*window) for window in zip(*axis, strict=True)] for axis in windows(call)]
    for n, c, *place in np.ndindex(y.shape):
        cut = tuple(axis[i] for axis, i in zip(axes, place, strict=True))
        window, value = cells[(n, c, *cut)].ravel(), values[(n, c, *place)]
        winners = window != window if value != value else window == value
        assert winners.any()
        assert value != value or all(window <= value)
        for array in index:
            first = numbers[cut].ravel()[int(winners.argmax())]
            assert array[(n, c, *place)] == channel_starts(call)[n, c] + first


@given(sliding_calls(LARGE), st.data())
def test_cells_outside_all_windows_change_nothing(call: Call, data: st.DataObject) -> None:
    """P3, P4: neither those between windows nor those behind the last one."""
    x = call.inputs[0]
    covered = np.zeros(x.shape[2:], bool)
    for cut in itertools.product(*([slice(*window) for window in zip(*axis, strict=True)] for axis in windows(call))):
        covered[cut] = True
    other = data.draw(spread(any_values(x.dtype), x.shape, x.dtype), label="other")
    assert_all_same(outputs_on(call, np.where(covered, x, other)), call.native())


@given(sliding_calls(LARGE), st.data())
def test_enlarging_a_map_outside_all_windows_changes_nothing(call: Call, data: st.DataObject) -> None:
    """P3: by fewer cells than another window needs."""
    x = call.inputs[0]
    sides = x.shape[2:]
    window_size, strides, before, _ = map(np.array, call.attributes.values())
    room = sides + before - window_size
    assume((room >= 0).all() and (strides <= LARGE.sides[0]).all())
    padless = replace(call, attributes={**call.attributes, "end_padding": (0,) * len(sides)})
    shape = (*x.shape[:2], *(sides + strides - 1 - room % strides).tolist())
    larger = data.draw(spread(any_values(x.dtype), shape, x.dtype), label="larger")
    larger[(..., *map(slice, sides))] = x
    assert_same(outputs_on(padless, larger)[0], padless.native()[0])


@on_large
def test_transposing_the_map_transposes_the_outputs(call: Call) -> None:
    x, *sizes = call.inputs
    (y, *_) = call.native()
    back = (0, 1, *reversed(range(2, x.ndim)))
    attributes = {name: values[::-1] for name, values in call.attributes.items()}
    turned = replace(call, inputs=(x.transpose(back), *(size[::-1] for size in sizes)), attributes=attributes)
    assert_same(turned.native()[0], y.transpose(back))


SHARED_TYPES = sorted(set(NEWEST["AdaptiveMaxPool"].types["T"]) & set(NEWEST["MaxPooling1"].types["T"]))


@given(st.sampled_from(SHARED_TYPES), st.sampled_from([2, 3]), st.data())
def test_adaptive_max_pool_with_dividing_sizes_is_max_pooling1(
    element_type: str, spatial: int, data: st.DataObject
) -> None:
    """A2, P4: values, and indices but for where they count from."""
    dtype = dtype_of(element_type)
    windows_ = data.draw(st.tuples(*[st.integers(1, 6)] * spatial), label="window_size")
    sizes = data.draw(st.tuples(*[st.integers(1, 7)] * spatial), label="output_size")
    shape: Any = (*data.draw(images_and_channels(LARGE)), *np.multiply(windows_, sizes).tolist())
    x = data.draw(spread(any_values(dtype), shape, dtype), label="x")
    y, index = onnx_maxpool.adaptive_max_pool(x, sizes, return_indices=True)
    other_y, other_index = onnx_maxpool.max_pooling(x, windows_, windows_, return_indices=True)
    assert_same(y, other_y)
    starts = np.arange(shape[0] * shape[1]).reshape(*shape[:2], *(1,) * spatial) * math.prod(shape[2:])
    np.testing.assert_array_equal(index + starts, other_index)
