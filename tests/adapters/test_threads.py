"""Many threads and many sessions in one process: what they give, what they leave behind, and what stops a run."""

from __future__ import annotations

import signal
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from builders import MODELS
from support import one_node
from support.known_sessions import EXPECTED, FEEDS, PROTO, ROIS, X, at_once, one_thread, run, session
from support.older_runtimes import fails_before
from support.one_node import Array, assert_same, random_rois, reference_rois, roi_model
from support.processes import run_python

import onnx_maxpool

THREADS = 16


@pytest.mark.parametrize("implementation", ["native", "python"])
def test_many_threads_on_one_session(implementation: Any) -> None:
    """Each with inputs of its own, of its own shapes."""
    shared = onnx_maxpool.load(PROTO, implementation=implementation)

    def work(number: int) -> None:
        x, rois = random_rois(np.random.default_rng(number), np.dtype(np.float32), (1, number + 1, 20, 22), 9, 0.5)
        expected = reference_rois(PROTO, x, rois)
        for _ in range(20):
            assert_same(shared.run(None, {"X": x, "rois": rois})[0], expected)

    at_once(*(partial(work, number) for number in range(THREADS)))


@pytest.mark.parametrize("implementation", ["native", "python"])
def test_many_sessions_at_once(implementation: Any) -> None:
    """Made, run and let go by many threads, each with session options of its own."""

    def work() -> None:
        for _ in range(5):
            assert_same(run(session(implementation=implementation)), EXPECTED)

    at_once(*[work] * THREADS)


def test_threads_that_run_while_others_make_sessions() -> None:
    """Of all kinds: native and Python, and the functions with more settings than are kept."""
    native, in_python = session(), session(implementation="python")
    sides = range(1, onnx_maxpool.adapters.sessions.CACHE_SIZE + 9)
    pooled = {side: reference_rois(roi_model(pooled_shape=(side, 1)), X[:, :2], ROIS) for side in sides}

    def running(of: ort.InferenceSession) -> None:
        for _ in range(20):
            assert_same(run(of), EXPECTED)

    def making(implementation: Any) -> None:
        for _ in range(5):
            assert_same(run(session(implementation=implementation)), EXPECTED)

    def calling() -> None:
        for side in sides:
            assert_same(onnx_maxpool.max_roi_pool(X[:, :2], ROIS, (side, 1)), pooled[side])

    runs = [partial(running, each) for each in (native, in_python)]
    makes = [partial(making, implementation) for implementation in ("native", "python")]
    at_once(*([*runs, *makes, calling] * 4)[:THREADS])


def test_two_session_options_at_once() -> None:
    """Of one library: one session cuts bins in float32, the other exactly (M7); 57 cells in 7 bins show it."""
    proto = roi_model(pooled_shape=(1, 7))
    feeds = {"X": np.arange(60, dtype=np.float32).reshape(1, 1, 1, 60), "rois": np.array([[0, 0, 0, 56, 0]], "f")}
    edges: tuple[Any, Any] = (None, "exact")
    expected = [reference_rois(proto, *feeds.values(), bin_edges=each) for each in edges]
    sessions = [onnx_maxpool.load(proto, ort.SessionOptions(), bin_edges=each) for each in edges]
    assert (expected[0] != expected[1]).any()
    for _ in range(3):
        for each, y in zip(sessions, expected, strict=True):
            assert_same(each.run(None, feeds)[0], y)


SMALL_STACK = """
import sys, threading
from support.known_sessions import one_thread
from support.one_node import assert_same, np, random_rois, reference_rois, roi_model
import onnx_maxpool

model = roi_model(pooled_shape=(7, 7))
x, rois = random_rois(np.random.default_rng(0), np.dtype(np.float32), (1, 64, 38, 50), 24, 1)
session, found = onnx_maxpool.load(model, one_thread()), []
threading.stack_size(int(sys.argv[1]))
# Several runs, as a node tries ways to pool that take more and less memory.
thread = threading.Thread(target=lambda: found.extend(session.run(None, {"X": x, "rois": rois}) for _ in range(40)))
thread.start()
thread.join()
for (y,) in found:
    assert_same(y, reference_rois(model, x, rois))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Python's own frames may take more there")
@fails_before(1, 24, "takes more of the stack itself")
@pytest.mark.parametrize("kibibytes", [64, 144])
def test_thread_with_a_small_stack(kibibytes: int) -> None:
    """Which ends in a process of its own, as a stack that is too small ends the process."""
    done = run_python("-c", SMALL_STACK, str(kibibytes << 10))
    assert done.returncode == 0, done.stderr


MEMORY = """
import ctypes, gc, sys
import onnxruntime as ort
from onnx import TensorProto, helper
from support.one_node import roi_model, np, random_rois
import onnx_maxpool

def resident():
    gc.collect()
    if hasattr(ctypes.CDLL(None), "malloc_trim"):
        ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

x, rois = random_rois(np.random.default_rng(0), np.dtype(np.float32), (1, 8, 20, 20), 20, 0.5, special=False)
proto = roi_model(opset=11, pooled_shape=(3, 3), spatial_scale=0.5)

def without_indices():
    nodes = []
    for i in range(0, 200, 2):
        nodes.append(helper.make_node("MaxPooling1", [f"{i}"], [f"{i + 1}"], domain="directml", window_size=[1, 1]))
        nodes.append(
            helper.make_node("AdaptiveMaxPool", [f"{i + 1}", "size"], [f"{i + 2}"], domain="org.openvinotoolkit")
        )
    graph = helper.make_graph(
        nodes,
        "two_hundred_nodes",
        [helper.make_tensor_value_info("0", TensorProto.FLOAT, [1, 1, 2, 2])],
        [helper.make_tensor_value_info("200", TensorProto.FLOAT, None)],
        [helper.make_tensor("size", TensorProto.INT64, [2], [2, 2])],
    )
    opsets = [helper.make_opsetid(*domain) for domain in (("", 22), ("directml", 5), ("org.openvinotoolkit", 8))]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)

pools = without_indices()

def one(kind):
    options = ort.SessionOptions()
    options.intra_op_num_threads = 2
    if kind == "without indices":
        onnx_maxpool.load(pools, options, check=False).run(None, {"0": x[:, :1, :2, :2]})
        return
    if kind == "stock":
        session = ort.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
    else:
        session = onnx_maxpool.load(proto, options, implementation=kind)
    session.run(None, {"X": x, "rois": rois})

for _ in range(100):
    one(sys.argv[1])
before = resident()
for _ in range(int(sys.argv[2])):
    one(sys.argv[1])
print(resident() - before)
"""


@pytest.mark.slow("makes a thousand sessions, to see what each leaves")
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the resident memory is read from Linux's /proc")
@pytest.mark.parametrize(
    ("kind", "sessions", "bytes_each"),
    [("native", 1000, 2000), ("without indices", 180, 12_000), ("stock", 1000, 2000), ("python", 150, 15_000)],
)
def test_sessions_leave_no_memory_behind(kind: str, sessions: int, bytes_each: int) -> None:
    """`stock` is the control: ONNX Runtime without our library. onnxruntime-extensions by itself leaves 2 to 5 KB.

    An output that is left out, which inference cannot tell, must not cost a node some 100 bytes that nobody frees.
    """
    done = run_python("-c", MEMORY, kind, str(sessions), seconds=300)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < sessions * bytes_each


def test_sessions_outlive_their_options_and_their_model() -> None:
    """All of a thread's own, which has ended too."""
    kept: list[ort.InferenceSession] = []

    def work() -> None:
        options = ort.SessionOptions()
        kept.append(onnx_maxpool.load(roi_model(pooled_shape=(7, 7), spatial_scale=0.5), options))

    at_once(*[work] * 4)
    for each in kept:
        assert_same(run(each), EXPECTED)


def test_a_run_is_terminated_between_two_nodes() -> None:
    """The node that is running ends as ever; those behind it do not begin."""
    options, steps = ort.RunOptions(), []

    def pool(x: Array, rois: Array, **_: Any) -> Array:
        options.terminate = True
        steps.append("terminated")
        y = np.zeros((len(rois), x.shape[1], 7, 7), x.dtype)
        steps.append("pooled")
        return y

    interrupted = onnx_maxpool.load(PROTO, implementation={"MaxRoiPool": pool})
    with pytest.raises(Exception, match="terminate flag"):
        interrupted.run(None, FEEDS, options)
    assert steps == ["terminated", "pooled"]


class AlarmError(Exception):
    pass


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there is no interval timer on Windows")
def test_a_signal_waits_for_the_end_of_a_run() -> None:
    """As Ctrl-C does: the output is whole when Python hears of it."""

    def ring(*_: object) -> None:
        raise AlarmError

    x = np.random.default_rng(0).random((1, 16, 48, 48, 48), np.float32)
    proto = one_node.model("MaxPooling1", 5, {"X": x}, window_size=(15, 15, 15))
    of = onnx_maxpool.load(proto, one_thread())
    (expected,) = of.run(None, {"X": x})
    y = np.full_like(expected, -1)
    binding = of.io_binding()
    binding.bind_cpu_input("X", x)
    binding.bind_output("Y", element_type=y.dtype, shape=y.shape, buffer_ptr=y.ctypes.data)

    def run_and_wait() -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.01)
        of.run_with_iobinding(binding)
        time.sleep(10)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with pytest.raises(AlarmError):
            run_and_wait()
    finally:
        signal.signal(signal.SIGALRM, before)
    assert_same(y, expected)


@pytest.mark.parametrize("name", ["roi_in_loop", "roi_in_if", "roi_in_function"])
def test_many_threads_in_subgraphs(name: str) -> None:
    proto, feeds = MODELS[name].builder(), MODELS[name].inputs()
    shared = onnx_maxpool.load(proto)
    expected = shared.run(None, dict(feeds))

    def work() -> None:
        for _ in range(10):
            for actual, wanted in zip(shared.run(None, dict(feeds)), expected, strict=True):
                assert_same(actual, wanted)

    at_once(*[work] * THREADS)
