"""MaxPooling1 in ONNX Runtime and in the reference: rules P1 to P6, against MaxPool and by brute force."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper
from support.older_runtimes import runtime_is_before
from support.one_node import Array, Run, assert_same, both, mixed, model, native, reference, version_of

import onnx_maxpool
from onnx_maxpool.conformance.oracle import maximum as oracle
from onnx_maxpool.graph.building import Declared, one_node
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.registry import versions_of
from onnx_maxpool.types import dtype_of, element_type

NAME = "MaxPooling1"
VERSIONS = [
    (row.since_version, element_type) for row in versions_of("directml", NAME) for element_type in row.types["T"]
]
LARGEST = 2**31 - 1


def random_case(
    rng: np.random.Generator, rank: int, dtype: np.dtype[Any], *, special: bool
) -> tuple[Array, dict[str, tuple[int, ...]]]:
    """An input with `rank` spatial dimensions, and attributes with which every one of them has an output."""
    window = rng.integers(1, 5, rank)
    attributes = {
        "window_size": window,
        "strides": rng.integers(1, 4, rank),
        "start_padding": rng.integers(0, window),
        "end_padding": rng.integers(0, window),
    }
    shape = (*rng.integers(1, 4, 2), *(window + rng.integers(0, {2: 9, 3: 4}[rank], rank)))
    x = mixed(rng, tuple(int(dim) for dim in shape), dtype, special=special)
    return x, {name: tuple(int(value) for value in values) for name, values in attributes.items()}


def onnx_max_pool(x: Array, attributes: dict[str, tuple[int, ...]]) -> list[Array]:
    """ONNX Runtime's MaxPool; its Indices number the whole tensor, as P5 has it, but are int64."""
    node = helper.make_node(
        "MaxPool",
        ["X"],
        ["Y", "Indices"],
        kernel_shape=attributes["window_size"],
        strides=attributes["strides"],
        pads=attributes["start_padding"] + attributes["end_padding"],
    )
    declared = Declared(element_type(x))
    proto = one_node(node, {"X": declared, "Y": declared, "Indices": Declared("int64")}, {"": 12})
    outputs: list[Array] = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, {"X": x}
    )
    return outputs


@both
@pytest.mark.parametrize("element_type", ["float", "int8", "uint8"])
@pytest.mark.parametrize("rank", [2, 3])
def test_equals_onnx_runtimes_max_pool(run: Run, element_type: str, rank: int) -> None:
    """P2 to P5, ties included. MaxPool leaves NaN and -inf to its loop's order, so there are none here.

    Before 1.29, where all cells of a window are the type's lowest integer, its index is wrong: there is none here then.
    """
    rng = np.random.default_rng(rank)
    for _ in range(12):
        x, attributes = random_case(rng, rank, dtype_of(element_type), special=element_type != "float")
        if x.dtype.kind in "iu" and runtime_is_before(1, 29):
            x = np.maximum(x, np.iinfo(x.dtype).min + 1).astype(x.dtype)
        y, index = run(model(NAME, 3, {"X": x}, with_index=True, **attributes), {"X": x})
        expected, expected_index = onnx_max_pool(x, attributes)
        assert_same(y, expected)
        assert_same(index, expected_index.astype(np.uint32))


@both
@pytest.mark.parametrize(("opset", "element_type"), VERSIONS)
def test_equals_the_brute_force_oracle(run: Run, opset: int, element_type: str) -> None:
    """G2 to G5, P2 to P6."""
    rng = np.random.default_rng(opset)
    for rank in (2, 3, 2):
        x, attributes = random_case(rng, rank, dtype_of(element_type), special=True)
        y, index = run(model(NAME, opset, {"X": x}, with_index=True, **attributes), {"X": x})
        expected, expected_index = oracle.evaluate(NAME, [x], attributes, outputs=2)
        assert_same(y, expected)
        assert_same(index, expected_index)
        (alone,) = run(model(NAME, opset, {"X": x}, **attributes), {"X": x})
        assert_same(alone, expected)


@both
@pytest.mark.parametrize(("spelling", "index_type"), [("u32", np.uint32), ("u64", np.uint64)])
def test_index_types_since_version_5(run: Run, spelling: str, index_type: type) -> None:
    """P5."""
    x, attributes = random_case(np.random.default_rng(1), 2, np.dtype(np.int16), special=True)
    given = {**attributes, "index_element_type": spelling}
    proto = model(NAME, 5, {"X": x}, with_index=True, **given)
    _, index = run(proto, {"X": x})
    assert_same(index, oracle.evaluate(NAME, [x], given, outputs=2)[1])


@both
@pytest.mark.parametrize("shape", [(2, 3, 5, 6), (2, 3, 4, 5, 6)])
def test_defaults(run: Run, shape: tuple[int, ...]) -> None:
    """P2: strides of 1, no padding."""
    x = mixed(np.random.default_rng(2), shape, np.dtype(np.float32))
    rank = len(shape) - 2
    y, index = run(model(NAME, 2, {"X": x}, with_index=True, window_size=[2] * rank), {"X": x})
    expected, expected_index = oracle.evaluate(NAME, [x], {"window_size": (2,) * rank}, outputs=2)
    assert_same(y, expected)
    assert_same(index, expected_index)


@both
@pytest.mark.parametrize("element_type", ["float", "float16", "uint8"])
@pytest.mark.parametrize(("window_size", "strides"), [((1, 3, 2), (1, 2, 2)), ((1, 2, 2), (2, 1, 1))])
def test_windows_of_one_slice(
    run: Run, window_size: tuple[int, ...], strides: tuple[int, ...], element_type: str
) -> None:
    """P3, P5: with a stride of 1 the slices of a volume are pooled as planes, whose indices go on from each other's."""
    x = mixed(np.random.default_rng(4), (2, 3, 5, 9, 8), dtype_of(element_type))
    attributes = {"window_size": window_size, "strides": strides, "start_padding": (0, 1, 1), "end_padding": (0, 0, 1)}
    y, index = run(model(NAME, 3, {"X": x}, with_index=True, **attributes), {"X": x})
    expected, expected_index = oracle.evaluate(NAME, [x], attributes, outputs=2)
    assert_same(y, expected)
    assert_same(index, expected_index)
    (alone,) = run(model(NAME, 3, {"X": x}, **attributes), {"X": x})
    assert_same(alone, expected)


@both
@pytest.mark.parametrize("element_type", ["int8", "float"])
def test_padding_never_wins(run: Run, element_type: str) -> None:
    """P4: not where every cell is the type's least."""
    least = -128 if element_type == "int8" else -np.inf
    x = np.full((1, 1, 3, 3), least, dtype_of(element_type))
    proto = model(NAME, 3, {"X": x}, with_index=True, window_size=[3, 3], start_padding=[2, 2], end_padding=[2, 2])
    y, index = run(proto, {"X": x})
    assert (y == least).all()
    assert index[0, 0].tolist() == [[0, 0, 0, 1, 2]] * 3 + [[3, 3, 3, 4, 5], [6, 6, 6, 7, 8]]


@both
@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5)])
def test_no_batch_items_or_channels(run: Run, shape: tuple[int, ...]) -> None:
    """G7."""
    x = np.zeros(shape, np.float16)
    y, index = run(model(NAME, 2, {"X": x}, with_index=True, window_size=[2, 2]), {"X": x})
    assert_same(y, np.zeros((*shape[:2], 3, 4), np.float16))
    assert_same(index, np.zeros((*shape[:2], 3, 4), np.uint32))


@pytest.mark.parametrize("element_type", ["int8", "uint8", "int16", "uint16", "float16", "float"])
def test_the_first_maximum_of_a_large_map(element_type: str) -> None:
    """As NumPy's argmax has it, in maps of more cells than 16 bits can number. The last is in a block by itself."""
    places = [(0, -1), (-1,), (-2, -1), (-65, -1), (4095, 4096), (4096, 20_000), (512, 36_000), range(36_865)]
    x = np.random.default_rng(5).integers(0, 100, (2, 4, 5, 7373)).astype(dtype_of(element_type))
    cells = x.reshape(len(places), -1)
    for plane, largest in enumerate(places):
        cells[plane, list(largest)] = 101
    feeds = {"X": x}
    y, indices = native(model(NAME, 5, feeds, with_index=True, window_size=x.shape[2:]), feeds)
    assert (y == 101).all()
    assert indices.ravel().tolist() == [plane * 36_865 + int(cells[plane].argmax()) for plane in range(len(places))]


@pytest.mark.parametrize("element_type", ["int8", "float16", "float"])
def test_a_row_that_several_rows_of_large_windows_share(element_type: str) -> None:
    """P4: windows that reach beyond an axis of one cell are windows of that cell."""
    x = np.random.default_rng(8).integers(0, 100, (2, 2, 1, 40_000)).astype(dtype_of(element_type))
    axes = {"window_size": [2, 20_000], "strides": [1, 20_000], "start_padding": [1, 0], "end_padding": [1, 0]}
    proto = model(NAME, 5, {"X": x}, with_index=True, **axes)
    for actual, expected in zip(native(proto, {"X": x}), reference(proto, {"X": x}), strict=True):
        assert_same(actual, expected)


def test_nan_is_no_warning() -> None:
    x = np.full((1, 1, 5, 5), np.nan, np.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for with_index in (False, True):
            reference(model(NAME, 2, {"X": x}, with_index=with_index, window_size=[2, 2]), {"X": x})


def test_indices_beyond_32_bits() -> None:
    """P5: uint64 numbers what uint32 cannot. One cell that stands for all of three large images."""
    x = np.broadcast_to(np.int8(0), (3, 1, 2**16, 2**15 + 1))
    y, index = operator(NAME).compute(
        version_of(NAME, 5), x, with_index=True, window_size=[1, 1], strides=[2**16, 2**16], index_element_type="u64"
    )
    assert y.shape == (3, 1, 1, 1)
    assert index.dtype == np.uint64
    assert index.ravel().tolist() == [0, 2**31 + 2**16, 2**32 + 2**17]


@pytest.mark.parametrize("with_index", [False, True])
@pytest.mark.parametrize("element_type", ["float", "float16", "uint8", "int64"])
@pytest.mark.parametrize(
    ("shape", "strides"),
    [
        ((1, 256, 25, 34), (2, 2)),
        ((2, 33, 61, 47), (2, 1)),
        ((1, 12, 19, 103), (1, 3)),
        ((1, 3, 9, 16, 40), (3, 2, 5)),
        ((1, 24, 257, 260), (2, 2)),  # leaves the caches
    ],
)
def test_windows_of_one_cell(
    element_type: str, shape: tuple[int, ...], strides: tuple[int, ...], with_index: bool
) -> None:
    """P2: outputs are every second or third cell, as in the coarsest level of a feature pyramid, against slices."""
    x = mixed(np.random.default_rng(11), shape, dtype_of(element_type))
    sample = (..., *(slice(None, None, step) for step in strides))
    session = onnx_maxpool.load(
        model(NAME, 5, {"X": x}, with_index=with_index, window_size=(1,) * len(strides), strides=strides)
    )
    y, *index = onnx_maxpool.run(session, {"X": x})
    assert_same(y, x[sample])
    if with_index:
        assert_same(index[0], np.arange(x.size, dtype=np.uint32).reshape(shape)[sample])


@pytest.mark.parametrize("element_type", ["float", "float16", "uint8", "int64"])
@pytest.mark.parametrize(
    ("shape", "window", "strides"),
    [
        ((1, 40, 32, 32), (3, 3), (1, 1)),
        ((2, 9, 40, 70), (3, 4), (2, 3)),
        ((1, 33, 5, 16, 16), (2, 3, 3), (1, 2, 1)),
        ((1, 17, 1, 300), (1, 9), (1, 4)),
        ((3, 9, 31, 71), (3, 3), (3, 3)),
        ((1, 5, 30, 61), (2, 7), (1, 3)),
        ((2, 9, 45, 31), (12, 5), (9, 5)),
        ((1, 5, 13, 31, 29), (6, 5, 4), (3, 4, 5)),
        ((3, 20, 61, 47), (1, 1), (1, 1)),
    ],
)
def test_first_runs_try_plans(
    element_type: str, shape: tuple[int, ...], window: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    """Whichever of them a run takes, the outputs are the reference's."""
    rng = np.random.default_rng(43)
    given = {"X": mixed(rng, shape, dtype_of(element_type))}
    proto = model(NAME, 5, given, with_index=True, window_size=window, strides=strides)
    session = onnx_maxpool.load(proto)
    expected = reference(proto, given)
    for _ in range(14):
        for output, wanted in zip(onnx_maxpool.run(session, given), expected, strict=True):
            assert_same(output, wanted)


@pytest.mark.parametrize("with_index", [False, True])
@pytest.mark.parametrize(
    ("element_type", "shape", "window", "strides"),
    [
        ("float", (1, 300, 62, 62), (3, 3), (1, 1)),
        ("float", (1, 20, 15, 70, 40), (2, 3, 3), (1, 1, 1)),
        ("float", (2, 45, 130, 117), (4, 5), (3, 5)),
        ("int8", (1, 250, 97, 103), (2, 3), (1, 1)),
        ("uint8", (1, 250, 97, 101), (5, 5), (1, 1)),
    ],
)
def test_tensors_that_leave_the_caches(
    element_type: str, shape: tuple[int, ...], window: tuple[int, ...], strides: tuple[int, ...], with_index: bool
) -> None:
    """What comes next is fetched there. By all plans that first runs try, against ONNX Runtime's MaxPool."""
    x = np.random.default_rng(31).integers(0, 120, shape).astype(dtype_of(element_type))
    padding = (1,) * len(window)
    attributes = {"window_size": window, "strides": strides, "start_padding": padding, "end_padding": padding}
    expected = onnx_max_pool(x, attributes)[: 1 + with_index]
    session = onnx_maxpool.load(model(NAME, 5, {"X": x}, with_index=with_index, **attributes))
    for _ in range(25):
        for output, wanted in zip(onnx_maxpool.run(session, {"X": x}), expected, strict=True):
            assert_same(output, wanted.astype(output.dtype))
