"""MaxPooling1 in ONNX Runtime and in the reference: rules P1 to P6, against MaxPool and by brute force."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import onnxruntime as ort
import oracle
import pytest
from older_runtimes import runtime_is_before
from onnx import TensorProto, helper
from pool_cases import (
    Array,
    Refusal,
    Run,
    assert_same,
    both,
    check_attribute_refusal,
    check_refusal,
    check_type_refusal,
    data_type_of,
    dtype_of,
    mixed,
    model,
    reference,
    version_of,
)

from onnx_maxpool import OperatorError
from onnx_maxpool.operators import operator
from onnx_maxpool.registry import versions_of

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
    data_type = data_type_of(x)
    graph = helper.make_graph(
        [node],
        "max_pool",
        [helper.make_tensor_value_info("X", data_type, None)],
        [
            helper.make_tensor_value_info("Y", data_type, None),
            helper.make_tensor_value_info("Indices", TensorProto.INT64, None),
        ],
    )
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)
    outputs: list[Array] = ort.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"]).run(
        None, {"X": x}
    )
    return outputs


@both
@pytest.mark.parametrize("element_type", ["float", "int8", "uint8"])
@pytest.mark.parametrize("rank", [2, 3])
def test_equals_onnx_runtimes_max_pool(run: Run, element_type: str, rank: int) -> None:
    """P2 to P5, ties included. MaxPool leaves NaN and -inf to its loop's order, so there are none here.

    Before 1.28, where all cells of a window are the type's lowest integer, its index is wrong: there is none here then.
    """
    rng = np.random.default_rng(rank)
    for _ in range(12):
        x, attributes = random_case(rng, rank, dtype_of(element_type), special=element_type != "float")
        if x.dtype.kind in "iu" and runtime_is_before(1, 28):
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
        expected, expected_index = oracle.max_pooling1(x, **attributes)
        assert_same(y, expected)
        assert_same(index, expected_index.astype(np.uint32))
        (alone,) = run(model(NAME, opset, {"X": x}, **attributes), {"X": x})
        assert_same(alone, expected)


@both
@pytest.mark.parametrize(("spelling", "index_type"), [("u32", np.uint32), ("u64", np.uint64)])
def test_index_types_since_version_5(run: Run, spelling: str, index_type: type) -> None:
    """P5."""
    x, attributes = random_case(np.random.default_rng(1), 2, np.dtype(np.int16), special=True)
    proto = model(NAME, 5, {"X": x}, with_index=True, index_element_type=spelling, **attributes)
    _, index = run(proto, {"X": x})
    assert_same(index, oracle.max_pooling1(x, **attributes)[1].astype(index_type))


@both
@pytest.mark.parametrize("shape", [(2, 3, 5, 6), (2, 3, 4, 5, 6)])
def test_defaults(run: Run, shape: tuple[int, ...]) -> None:
    """P2: strides of 1, no padding."""
    x = mixed(np.random.default_rng(2), shape, np.dtype(np.float32))
    rank = len(shape) - 2
    y, index = run(model(NAME, 2, {"X": x}, with_index=True, window_size=[2] * rank), {"X": x})
    expected, expected_index = oracle.max_pooling1(x, (2,) * rank, (1,) * rank, (0,) * rank, (0,) * rank)
    assert_same(y, expected)
    assert_same(index, expected_index.astype(np.uint32))


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


def test_nan_is_no_warning() -> None:
    x = np.full((1, 1, 5, 5), np.nan, np.float16)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for with_index in (False, True):
            reference(model(NAME, 2, {"X": x}, with_index=with_index, window_size=[2, 2]), {"X": x})


X = np.zeros((1, 1, 2, 9), np.float32)
VOLUME = X[:, :, None]
WIDE = "window_size is [3,3], start_padding [0,0] and end_padding [0,0]"
BAD: dict[str, tuple[Array, str, dict[str, Any]]] = {
    "rank 3": (X[0], "X has shape [1,2,9], expected 4 dimensions (N, C, H, W)", {"window_size": [2, 2]}),
    "rank 5 for 2": (VOLUME, "X has shape [1,1,1,2,9], expected 4 dimensions (N, C, H, W)", {"window_size": [2, 2]}),
    "rank 4 for 3": (X, "X has shape [1,1,2,9], expected 5 dimensions (N, C, D, H, W)", {"window_size": [2, 2, 2]}),
    "window too high": (X, f"X has shape [1,1,2,9], expected H of at least 3, as {WIDE}", {"window_size": [3, 3]}),
    "no rows, no images": (
        np.zeros((0, 1, 0, 2), np.float32),
        "X has shape [0,1,0,2], expected H of at least 1, as window_size is [1,1], start_padding [0,0] "
        "and end_padding [0,0]",
        {"window_size": [1, 1]},
    ),
    "window too deep": (
        VOLUME,
        "X has shape [1,1,1,2,9], expected D of at least 2, as window_size is [4,1,1], start_padding [1,0,0] "
        "and end_padding [1,0,0]",
        {"window_size": [4, 1, 1], "start_padding": [1, 0, 0], "end_padding": [1, 0, 0]},
    ),
    "window too wide": (
        X,
        "X has shape [1,1,2,9], expected W of at least 10, as window_size is [1,11], start_padding [0,1] "
        "and end_padding [0,0]",
        {"window_size": [1, 11], "start_padding": [0, 1]},
    ),
    "padding alone": (
        X[:, :, :, :0],
        "X has shape [1,1,2,0], expected W of at least 1, as window_size is [1,3], start_padding [0,2] "
        "and end_padding [0,2]",
        {"window_size": [1, 3], "start_padding": [0, 2], "end_padding": [0, 2]},
    ),
    "too large": (
        VOLUME[:, :, :, :1, :1],
        f"Y would have shape [1,1,{LARGEST},{LARGEST},{LARGEST}], expected fewer than 2^63 bytes",
        {"window_size": [LARGEST] * 3, "start_padding": [LARGEST - 1] * 3, "end_padding": [LARGEST - 1] * 3},
    ),
}


@pytest.mark.parametrize("bad", BAD.values(), ids=BAD)
def test_refusals(bad: tuple[Array, str, dict[str, Any]]) -> None:
    """P1 to P3."""
    x, words, attributes = bad
    check_refusal(NAME, 2, Refusal({"X": x}, words, attributes))


SIDES = f"integers from 1 to {LARGEST}"
PADDING = "integers from 0, each smaller than window_size"
BAD_ATTRIBUTES: dict[str, tuple[str, dict[str, Any]]] = {
    "window 0": (f"window_size is [0,3], expected 2 or 3 {SIDES}", {"window_size": [0, 3]}),
    "window too large": (f"window_size is [1,{2**31}], expected 2 or 3 {SIDES}", {"window_size": [1, 2**31]}),
    "one window": (f"window_size is [3], expected 2 or 3 {SIDES}", {"window_size": [3]}),
    "four windows": (f"window_size is [3,3,3,3], expected 2 or 3 {SIDES}", {"window_size": [3] * 4}),
    "stride 0": (f"strides is [0,1], expected 2 {SIDES}", {"window_size": [3, 3], "strides": [0, 1]}),
    "one stride": (f"strides is [1], expected 3 {SIDES}", {"window_size": [3, 3, 3], "strides": [1]}),
    "padding of a window": (
        f"start_padding is [3,0], expected 2 {PADDING} [3,3]",
        {"window_size": [3, 3], "start_padding": [3, 0]},
    ),
    "padding below 0": (
        f"end_padding is [0,-1], expected 2 {PADDING} [3,3]",
        {"window_size": [3, 3], "end_padding": [0, -1]},
    ),
    "one padding": (f"end_padding is [0], expected 2 {PADDING} [3,3]", {"window_size": [3, 3], "end_padding": [0]}),
    "index type": (
        'index_element_type is "i64", expected "u32" or "u64"',
        {"window_size": [3, 3], "index_element_type": "i64"},
    ),
}


@pytest.mark.parametrize("bad", BAD_ATTRIBUTES.values(), ids=BAD_ATTRIBUTES)
def test_bad_attributes(bad: tuple[str, dict[str, Any]]) -> None:
    """P2, P5."""
    words, attributes = bad
    check_attribute_refusal(NAME, 5, {"X": np.zeros((1, 1, 9, 9), np.float32)}, words, **attributes)


@pytest.mark.parametrize("opset", [2, 3, 4])
def test_the_index_type_is_not_chosen_before_version_5(opset: int) -> None:
    """P5."""
    proto = model(NAME, opset, {"X": X}, window_size=[1, 1], index_element_type="u32")
    words = "attribute index_element_type, expected end_padding, start_padding, strides or window_size"
    with pytest.raises(OperatorError) as refused:
        reference(proto, {"X": X})
    assert str(refused.value) == f"MaxPooling1-{min(opset, 3)}: {words}"


def test_types_are_the_versions() -> None:
    """P6."""
    for opset, dtype, words in [
        (2, np.int8, "MaxPooling1-2: X is int8, expected float16 or float"),
        (4, np.int16, "MaxPooling1-3: X is int16, expected float16, float, int8 or uint8"),
        (
            6,
            np.float64,
            "MaxPooling1-5: X is double, expected float16, float, int8, uint8, int16, int32, int64, uint16, uint32 "
            "or uint64",
        ),
    ]:
        check_type_refusal(NAME, opset, {"X": np.zeros((1, 1, 2, 2), dtype)}, words, window_size=[1, 1])


def test_more_cells_than_indices() -> None:
    """P5. One cell that stands for all of a large input; the native library would need it whole."""
    large = np.broadcast_to(np.int8(0), (2, 2**15, 2**8, 2**8 + 1))
    definition, version = operator(NAME), version_of(NAME, 5)
    with pytest.raises(OperatorError) as refused:
        definition.run(version, large, with_index=True, window_size=[256, 257])
    assert str(refused.value) == (
        "MaxPooling1: X has shape [2,32768,256,257], expected at most 4294967296 cells, as many as u32 indices number"
    )


def test_indices_beyond_32_bits() -> None:
    """P5: uint64 numbers what uint32 cannot. One cell that stands for all of three large images."""
    x = np.broadcast_to(np.int8(0), (3, 1, 2**16, 2**15 + 1))
    y, index = operator(NAME).run(
        version_of(NAME, 5), x, with_index=True, window_size=[1, 1], strides=[2**16, 2**16], index_element_type="u64"
    )
    assert y.shape == (3, 1, 1, 1)
    assert index.dtype == np.uint64
    assert index.ravel().tolist() == [0, 2**31 + 2**16, 2**32 + 2**17]
