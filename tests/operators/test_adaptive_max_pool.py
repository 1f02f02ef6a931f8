"""AdaptiveMaxPool in ONNX Runtime and in the reference: rules A1 to A5, against OpenVINO and by brute force."""

from __future__ import annotations

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import onnx
import onnx.parser
import openvino as ov
import pytest
from openvino import opset14
from support.older_runtimes import runtime_is_before
from support.one_node import Array, Run, assert_same, both, mixed, model, native, reference, version_of

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.operators import operator
from onnx_maxpool.types import dtype_of

NAME, OPSET = "AdaptiveMaxPool", 8
TYPES = version_of(NAME, OPSET).types["T"]


def feeds(x: Array, output_size: tuple[int, ...], kind: type = np.int64) -> dict[str, Array]:
    return {"X": x, "output_size": np.array(output_size, kind)}


def openvino_outputs(x: Array, output_size: tuple[int, ...]) -> tuple[Array, Array]:
    """Values, and indices as int32, which is all that its CPU plugin has."""
    parameter = opset14.parameter(x.shape, x.dtype)
    node = opset14.adaptive_max_pool(parameter, np.array(output_size, np.int64), "i32")
    compiled = ov.Core().compile_model(
        ov.Model(node.outputs(), [parameter]), "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1"}
    )
    values, indices = compiled([x]).values()
    return values, indices


def random_sizes(rng: np.random.Generator, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """A shape (N, C, spatial...) and an output size."""
    spatial = rng.integers(1, {1: 60, 2: 20, 3: 9}[rank], rank)
    shape = tuple(int(dim) for dim in (*rng.integers(1, 4, 2), *spatial))
    return shape, tuple(int(size) for size in rng.integers(1, {1: 30, 2: 9, 3: 5}[rank], rank))


@both
@pytest.mark.parametrize("rank", [1, 2, 3])
def test_equals_openvino(run: Run, rank: int) -> None:
    """A2 and A3, ties included. It keeps a NaN only where it comes first, so there is none here."""
    rng = np.random.default_rng(rank)
    for _ in range(8):
        shape, sizes = random_sizes(rng, rank)
        given = feeds(mixed(rng, shape, np.dtype(np.float32), nan=False), sizes)
        proto = model(NAME, OPSET, given, with_index=True, index_element_type="i32")
        for actual, expected in zip(run(proto, given), openvino_outputs(given["X"], sizes), strict=True):
            assert_same(actual, expected)


@both
@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize("shape", [(3, 5, 7, 7), (2, 3, 1, 1), (5, 2, 9), (3, 4, 101, 83), (1, 2, 9, 60, 140)])
def test_a_map_that_has_the_size_already(run: Run, element_type: str, shape: tuple[int, ...]) -> None:
    """A1 to A3: each cell is a window, and its index its place, also where one unit of work ends within a plane."""
    x = mixed(np.random.default_rng(7), shape, dtype_of(element_type))
    cells = int(np.prod(shape[2:]))
    for spelling in ("i64", "i32"):
        proto = model(NAME, OPSET, feeds(x, shape[2:]), with_index=True, index_element_type=spelling)
        y, index = run(proto, feeds(x, shape[2:]))
        assert_same(y, x)
        assert_same(index, np.broadcast_to(np.arange(cells, dtype=index.dtype).reshape(shape[2:]), shape))
    (alone,) = run(model(NAME, OPSET, feeds(x, shape[2:])), feeds(x, shape[2:]))
    assert_same(alone, x)


def test_one_session_takes_many_shapes_on_many_threads() -> None:
    """A node keeps what it found out about its first shapes. Others, and other sizes for them, must not get that."""
    rng = np.random.default_rng(5)
    shapes = [random_sizes(rng, rank) for rank in (1, 2, 3, 2) for _ in range(2)]
    shapes += [(shapes[2][0], (9, 8)), (shapes[2][0], (8, 9)), ((0, 3, 4, 4), (2, 2))]
    given = [feeds(mixed(rng, shape, np.dtype(np.float32)), sizes) for shape, sizes in shapes]
    proto = model(NAME, OPSET, given[0], with_index=True)
    session = onnx_maxpool.load(proto)
    expected = [reference(proto, each) for each in given]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda each: onnx_maxpool.run(session, each), given * 20))
    for actual, wanted in zip(found, expected * 20, strict=True):
        for output, other in zip(actual, wanted, strict=True):
            assert_same(output, other)


@both
def test_the_default_index_is_int64(run: Run) -> None:
    given = feeds(np.zeros((1, 1, 4), np.float32), (2,))
    assert run(model(NAME, OPSET, given, with_index=True), given)[1].dtype == np.int64


@both
def test_ties_nan_and_zeros(run: Run) -> None:
    """G3, G4, G5: the first of equals, -0 before +0 included, and the first NaN whatever follows."""
    rows = [[1, 5, 5, 0], [-0.0, 0.0, -1, -1], [np.inf, np.nan, 2, np.nan], [-np.inf] * 4]
    given = feeds(np.array(rows, np.float32)[None], (1,))
    y, index = run(model(NAME, OPSET, given, with_index=True), given)
    np.testing.assert_array_equal(y, np.array([5, 0, np.nan, -np.inf], np.float32).reshape(1, 4, 1))
    assert index.ravel().tolist() == [1, 0, 1, 0]


@pytest.mark.parametrize("element_type", ["float16", "bfloat16", "float"])
@pytest.mark.parametrize("sizes", [(1, 1, 1), (3, 1, 1)])
def test_ties_nan_and_zeros_in_a_large_map(element_type: str, sizes: tuple[int, ...]) -> None:
    """As NumPy's argmax has them: the first NaN wins, of either sign, and the first zero (G3 to G5)."""
    x = np.full((1, 4, 3, 181, 64), -1, dtype_of(element_type))
    cells = x.reshape(4, -1)
    cells[0, [20_000, 20_500]] = 0.0, -0.0
    cells[1, [20_000, 20_500]] = -0.0, 0.0
    cells[2, [9_000, 30_001, 34_751]] = np.inf, -np.nan, np.nan
    cells[3, [0, 11_583, 34_751]] = -np.inf
    given = feeds(x, sizes)
    y, indices = native(model(NAME, OPSET, given, with_index=True), given)
    parts = x.astype(np.float32).reshape(4, sizes[0], -1)
    expected = parts.argmax(-1) + np.arange(sizes[0]) * parts.shape[-1]
    assert indices.reshape(4, -1).tolist() == expected.tolist()
    assert_same(y.reshape(4, -1), np.take_along_axis(cells, expected, -1))


@pytest.mark.parametrize("element_type", ["float16", "bfloat16", "float"])
def test_a_row_that_several_rows_of_windows_share(element_type: str) -> None:
    """A1: an axis of one cell has as many windows as its size says, however large the windows are."""
    x = np.random.default_rng(8).integers(-100, 100, (2, 2, 1, 1, 40_000)).astype(dtype_of(element_type))
    given = feeds(x, (2, 3, 2))
    proto = model(NAME, OPSET, given, with_index=True)
    for actual, expected in zip(native(proto, given), reference(proto, given), strict=True):
        assert_same(actual, expected)


@both
def test_the_first_cell_is_row_major(run: Run) -> None:
    """G5: a later row does not win by an earlier column."""
    x = np.zeros((1, 1, 2, 3), np.float32)
    x[0, 0, 0, 2] = x[0, 0, 1, 0] = 1
    given = feeds(x, (1, 1))
    assert run(model(NAME, OPSET, given, with_index=True), given)[1].item() == 2


@both
def test_an_unnamed_index_is_left_out(run: Run) -> None:
    given = feeds(np.arange(6, dtype=np.float32).reshape(1, 1, 6), (2,))
    proto = model(NAME, OPSET, given)
    proto.graph.node[0].output.append("")
    (y,) = run(proto, given)
    assert y.ravel().tolist() == [2, 5]


@both
@pytest.mark.parametrize("shape", [(0, 3, 4, 5), (2, 0, 4, 5)])
def test_no_batch_items_or_channels(run: Run, shape: tuple[int, ...]) -> None:
    """G7."""
    given = feeds(np.zeros(shape, np.float16), (2, 3))
    y, index = run(model(NAME, OPSET, given, with_index=True), given)
    assert_same(y, np.zeros((*shape[:2], 2, 3), np.float16))
    assert_same(index, np.zeros((*shape[:2], 2, 3), np.int64))


def test_nan_is_no_warning() -> None:
    given = feeds(np.full((1, 1, 5), np.nan, np.float16), (2,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for with_index in (False, True):
            reference(model(NAME, OPSET, given, with_index=with_index), given)


def test_no_channel_has_more_cells_than_indices_where_there_is_none() -> None:
    """G7: what is rejected for one image is an empty output for none."""
    none = np.broadcast_to(np.float32(0), (0, 1, 2**16, 2**15 + 1))
    definition = operator(NAME)
    _, index = definition.compute(
        version_of(NAME, OPSET), none, np.array([1, 1]), with_index=True, index_element_type="i32"
    )
    assert index.shape == (0, 1, 1, 1)


@pytest.mark.skipif(runtime_is_before(1, 28), reason="only from ONNX Runtime 1.28 on is the index's type inferred")
def test_an_index_of_unknown_shape_has_sizes_of_its_own() -> None:
    """ONNX Runtime shares a buffer between values whose sizes it takes for equal."""
    proto = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 13, "org.openvinotoolkit": 8]>
        g (float X, int64[s] output_size) => (float Y, int32 Q) {
            Y, I = org.openvinotoolkit.AdaptiveMaxPool <index_element_type = "i32"> (X, output_size)
            A = ReduceMax <axes = [0], keepdims = 0> (I)
            A2 = Neg (A)
            P = ReduceMax <keepdims = 0> (A2)
            I2 = Add (I, P)
            B = ReduceMax <axes = [3], keepdims = 0> (I2)
            B2 = Neg (B)
            Q = Neg (B2)
        }""")
    for value in (proto.graph.input[0], *proto.graph.output):
        value.type.tensor_type.ClearField("shape")
    given = feeds(np.random.default_rng(0).random((64, 3, 8, 8), np.float32), (4, 2))
    for actual, expected in zip(native(proto, given), reference(proto, given), strict=True):
        assert_same(actual, expected)


def test_an_index_type_that_an_older_runtime_cannot_infer(monkeypatch: pytest.MonkeyPatch) -> None:
    """`load` says so before the runtime complains of a type that does not match."""
    x, output_size = np.zeros((1, 1, 6), np.float32), np.array([2])
    proto = model(NAME, 8, {"X": x, "output_size": output_size}, with_index=True, index_element_type="i32")
    monkeypatch.setattr("onnxruntime.__version__", "1.27.0")
    with pytest.raises(OperatorError, match=r'"i32", expected "i64", as another needs ONNX Runtime 1\.28 or newer'):
        onnx_maxpool.load(proto)


@pytest.mark.parametrize("with_index", [False, True])
def test_a_rank_that_is_not_known_stays_unknown(with_index: bool) -> None:
    """Neither X's shape nor the number of sizes says that the outputs have five axes: only the Transpose does."""
    index = ", indices" if with_index else ""
    text = f"""<ir_version: 8, opset_import: ["": 17, "org.openvinotoolkit": 8]>
    pool (float[1, 2, 4, 6, 5] X, int64[dims] shape, int64[3] output_size, int64[axes] count)
        => (float[a, b, c, d, e] Y{", int64[a, b, c, d, e] Z" if with_index else ""}) {{
        reshaped = Reshape (X, shape)
        sizes = Reshape (output_size, count)
        pooled{index} = org.openvinotoolkit.AdaptiveMaxPool (reshaped, sizes)
        Y = Transpose <perm = [0, 1, 4, 3, 2]> (pooled)
        {"Z = Transpose <perm = [0, 1, 4, 3, 2]> (indices)" if with_index else ""}
    }}"""
    x = np.random.default_rng(5).standard_normal((1, 2, 4, 6, 5)).astype(np.float32)
    given = {"X": x, "shape": np.array(x.shape), "output_size": np.array([2, 3, 4]), "count": np.array([3])}
    outputs = onnx_maxpool.load(onnx.parser.parse_model(text)).run(None, given)
    expected = onnx_maxpool.adaptive_max_pool(x, (2, 3, 4), return_indices=with_index)
    for output, untransposed in zip(outputs, expected if with_index else (expected,), strict=True):
        assert_same(output, np.transpose(untransposed, (0, 1, 4, 3, 2)))
