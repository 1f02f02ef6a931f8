"""The operators as functions of NumPy arrays."""

from __future__ import annotations

import os
import threading

import numpy as np
import pytest
from builders import MODELS, Model
from onnx import helper
from support.one_node import assert_same, random_rois, reference_rois, roi_model
from support.processes import run_python
from support.strategies import FUNCTIONS

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.adapters import sessions as one_node
from onnx_maxpool.difference import first_difference
from onnx_maxpool.operators.registry import OPERATORS, newest_versions
from onnx_maxpool.types import dtype_of

X, ROIS = random_rois(np.random.default_rng(0), np.dtype(np.float32), (2, 6, 12, 14), 20, 1.0)

INDEX_DTYPES = {"i32": "int32", "i64": "int64", "u32": "uint32", "u64": "uint64"}
ONE_NODE = [model for model in MODELS.values() if {n.op_type for n in model.builder().graph.node} <= set(FUNCTIONS)]


def test_every_operator_has_a_function() -> None:
    assert set(FUNCTIONS) == {row.name for row in OPERATORS}
    assert {model.builder().graph.node[0].op_type for model in ONE_NODE} == set(FUNCTIONS)


@pytest.mark.parametrize("model", ONE_NODE, ids=lambda model: model.name)
def test_the_functions_give_what_the_models_give(model: Model) -> None:
    """In every type."""
    proto = model.builder()
    (node,) = proto.graph.node
    attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
    expected = onnx_maxpool.run(onnx_maxpool.load(proto), model.inputs())
    if len(expected) == 2:
        attributes["return_indices"] = True
        spelling = attributes.pop("index_element_type", None)
        attributes |= {"index_dtype": INDEX_DTYPES[spelling.decode()]} if spelling else {}
    actual = FUNCTIONS[node.op_type](*model.inputs().values(), **attributes)
    actual = actual if isinstance(actual, tuple) else (actual,)
    assert [first_difference(*pair) for pair in zip(expected, actual, strict=True)] == [None] * len(expected)
    if len(expected) == 2:
        values = FUNCTIONS[node.op_type](*model.inputs().values(), **{**attributes, "return_indices": False})
        assert first_difference(expected[0], values) is None


def test_bin_edges() -> None:
    x, rois = np.arange(60, dtype=np.float32).reshape(1, 1, 1, 60), np.array([[0, 0, 0, 56, 0]], np.float32)
    results = [onnx_maxpool.max_roi_pool(x, rois, (1, 7), bin_edges=edges) for edges in ("onnx", "exact", "double")]
    for result, edges in zip(results, ("onnx", "exact", "double"), strict=True):
        assert_same(result, reference_rois(roi_model(pooled_shape=(1, 7)), x, rois, bin_edges=edges))
    assert (results[0] != results[1]).any()  # (57, 7) is a pair at which they differ (M7)
    assert_same(onnx_maxpool.max_roi_pool(x, rois, (1, 7)), results[0])
    assert_same(onnx_maxpool.roi_pooling(x, rois[None, None], (1, 7)), results[1])


def test_arrays_of_any_layout() -> None:
    expected = onnx_maxpool.max_roi_pool(X, ROIS, (2, 3), 0.5)
    swapped = X.astype(X.dtype.newbyteorder()), ROIS.astype(ROIS.dtype.newbyteorder())
    reversed_twice = np.ascontiguousarray(X[..., ::-1])[..., ::-1], np.asfortranarray(ROIS)
    read_only = X.copy(), ROIS.copy()
    for array in read_only:
        array.flags.writeable = False
    for x, rois in (swapped, reversed_twice, read_only):
        assert_same(onnx_maxpool.max_roi_pool(x, rois, (2, 3), 0.5), expected)
    half = dtype_of("bfloat16")
    narrow = onnx_maxpool.max_roi_pool(X[..., ::2].astype(half), ROIS.astype(half), [2, 3], 0.5)
    assert_same(onnx_maxpool.max_roi_pool(X.astype(half)[..., ::2], ROIS.astype(half), np.array([2, 3]), 0.5), narrow)


@pytest.mark.parametrize("element_type", ["float", "bfloat16"])
def test_an_output_is_its_own(element_type: str) -> None:
    """Later calls with the same session do not write over it."""
    x, rois = X.astype(dtype_of(element_type)), ROIS.astype(dtype_of(element_type))
    first = onnx_maxpool.max_roi_pool(x, rois, (2, 3))
    kept = first.copy()
    assert first.flags.writeable
    for _ in range(5):
        onnx_maxpool.max_roi_pool(-x, rois, (2, 3))
    assert_same(first, kept)


IMAGE = np.zeros((1, 2, 6, 6), np.float32)


def test_an_index_type_that_an_older_runtime_cannot_infer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxruntime.__version__", "1.27.0")
    one_node.start_anew()
    with pytest.raises(
        OperatorError, match='index_element_type is "i32", expected "i64", as another needs ONNX Runtime'
    ):
        onnx_maxpool.adaptive_max_pool(IMAGE, (2, 2), return_indices=True, index_dtype=np.int32)
    onnx_maxpool.adaptive_max_pool(IMAGE, (2, 2), return_indices=True)


def test_an_output_beyond_memory_is_onnx_runtimes_error() -> None:
    with pytest.raises(Exception, match="allocate") as error:
        onnx_maxpool.max_roi_pool(X[:, :1], ROIS[:1], (2**28, 2**28))
    assert not isinstance(error.value, OperatorError)


def test_the_cache_is_bounded() -> None:
    one_node.start_anew()
    for side in range(1, one_node.CACHE_SIZE + 4):
        onnx_maxpool.max_roi_pool(X, ROIS, (side, 1))
        onnx_maxpool.max_roi_pool(X, ROIS, (side, 1), 1)
    info = one_node.sessions.cache_info()
    assert (info.currsize, info.hits, info.misses) == (one_node.CACHE_SIZE, side, side)


GLOBAL_THREADS = """
import numpy as np, onnxruntime as ort
from adapters.test_functions import ROIS, X, assert_same, roi_model, reference_rois
import onnx_maxpool

ort.set_global_thread_pool_sizes(2, 1)
model = roi_model()
expected = reference_rois(model, X, ROIS)
for _ in range(2):
    assert_same(onnx_maxpool.max_roi_pool(X, ROIS, (2, 3)), expected)
for implementation in ("native", "python"):
    session = onnx_maxpool.load(model, implementation=implementation)
    assert_same(session.run(None, {"X": X, "rois": ROIS})[0], expected)
print("equal")
onnx_maxpool.load(model, ort.SessionOptions())
"""


def test_after_onnx_runtime_was_given_threads_for_all_sessions() -> None:
    """Nothing is printed on the way. Options of the caller's own stay as they are: ONNX Runtime says what they need."""
    done = run_python("-c", GLOBAL_THREADS)
    assert (done.returncode, done.stdout) == (1, "equal\n"), done.stderr
    assert "use_per_session_threads must be false" in done.stderr


def test_threads() -> None:
    """Each setting's first call may come from several threads at once."""
    one_node.start_anew()
    sides = range(1, 9)
    expected = {side: onnx_maxpool.max_roi_pool(X, ROIS, (side, 2)) for side in sides}
    one_node.start_anew()
    start = threading.Barrier(4)
    wrong: list[int] = []
    done: list[int] = []

    def work() -> None:
        start.wait()
        for side in (*sides, *sides):
            if first_difference(onnx_maxpool.max_roi_pool(X, ROIS, (side, 2)), expected[side]) is not None:
                wrong.append(side)
            done.append(side)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(done) == 4 * 2 * len(sides)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on Windows")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_fork() -> None:
    """A child makes its own sessions: a parent's have lost their threads, and would crash it if they were freed."""
    expected = onnx_maxpool.max_roi_pool(X, ROIS, (2, 3))
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert one_node.sessions.cache_info().currsize == 0
            for side in range(1, one_node.CACHE_SIZE + 2):
                onnx_maxpool.max_roi_pool(X, ROIS, (side, 3))
            assert first_difference(onnx_maxpool.max_roi_pool(X, ROIS, (2, 3)), expected) is None
            status = 0
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert_same(onnx_maxpool.max_roi_pool(X, ROIS, (2, 3)), expected)


def test_the_newest_version_takes_every_type() -> None:
    """The functions have no version: what an older one takes, the newest must take too."""
    newest = {row.name: row for row in newest_versions()}
    for row in OPERATORS:
        for variable, types in row.types.items():
            assert set(types) <= set(newest[row.name].types[variable])
        assert set(row.index_types) <= set(newest[row.name].index_types)
