"""A function of the caller's in an operator's place: what it is given, and what becomes of all that it may do."""

from __future__ import annotations

import functools
import gc
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from builders import MODELS
from onnx import helper, parser
from support.one_node import Array, assert_same, roi_model
from support.processes import run_python
from support.python_operators import ROI_FEEDS, ROIS, X, outputs

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.adapters.python import calls as python_functions
from onnx_maxpool.types import dtype_of

pytestmark = pytest.mark.slow("runs operators in Python, which onnxruntime-extensions starts slowly")

InvalidArgument = ort.capi.onnxruntime_pybind11_state.InvalidArgument


def test_a_function_in_the_place_of_one_operator() -> None:
    calls: list[dict[str, Any]] = []

    def lowest_first(x: Array, rois: Array, **attributes: Any) -> Array:
        calls.append(attributes)
        return np.full((len(rois), x.shape[1], *attributes["pooled_shape"]), x[0, 0, 0, 0], x.dtype)

    (y,) = outputs(roi_model("bfloat16"), {k: v.astype(dtype_of("bfloat16")) for k, v in ROI_FEEDS.items()},
                   {"MaxRoiPool": lowest_first}, bin_edges="double")  # fmt: skip
    assert calls == [{"pooled_shape": [2, 3], "spatial_scale": 1.0, "bin_edges": "double"}]
    assert y.dtype == dtype_of("bfloat16")
    assert (y == X[0, 0, 0, 0].astype(y.dtype)).all()


def test_the_other_operators_stay_native() -> None:
    def wrong(*_: Array, **__: Any) -> Array:
        raise AssertionError

    model = MODELS["roi_in_if"]
    others = {row.name: wrong for row in onnx_maxpool.operators.registry.newest_versions() if row.name != "MaxRoiPool"}
    expected = outputs(model.builder(), model.inputs(), "native")
    for actual, native in zip(outputs(model.builder(), model.inputs(), others), expected, strict=True):
        assert_same(actual, native)


def raises(*_: Array, **__: Any) -> Array:
    raise ArithmeticError("é")


def runs_out_of_memory(*_: Array, **__: Any) -> Array:
    raise MemoryError("no more")


def refuses_without_a_word(*_: Array, **__: Any) -> Array:
    raise OperatorError


def raises_what_is_no_text(*_: Array, **__: Any) -> Array:
    raise ValueError("\udc80")


OTHER = "big" if sys.byteorder == "little" else "little"
SWAPPED = np.dtype(np.float32).newbyteorder()

BAD_FUNCTIONS: dict[str, tuple[Any, str]] = {
    "raises": (raises, "onnx_maxpool: a Python function failed\nTraceback (most recent call last):"),
    "raises, to its last line": (raises, "ArithmeticError: é"),
    "runs out of memory": (runs_out_of_memory, "onnx_maxpool: a Python function failed\nTraceback"),
    "runs out of memory, to its last line": (runs_out_of_memory, "MemoryError: no more"),
    "rejects without a word": (refuses_without_a_word, "onnx_maxpool.errors.OperatorError"),
    "raises what is no text": (raises_what_is_no_text, "\\udc80"),
    "no array": (lambda *_, **__: 3, "MaxRoiPool: the Python function gave int, expected 1 NumPy array"),
    "two arrays": (lambda x, r, **_: (x, r), "the Python function gave ndarray, ndarray, expected 1 NumPy array"),
    "another type": (lambda x, *_, **__: x.astype("d"), "the Python function gave Y as double, expected float"),
    "another byte order": (lambda x, *_, **__: x.astype(SWAPPED), f"gave Y as {OTHER}-endian float, expected float"),
    "objects": (lambda x, *_, **__: x.astype("O"), "the Python function gave Y as object, expected float"),
    "texts": (lambda x, *_, **__: x.astype("U"), "the Python function gave Y as string, expected float"),
    "another shape": (
        lambda x, *_, **__: np.zeros((20, 6, 3, 2), x.dtype),
        "MaxRoiPool: the Python function gave Y of shape [20,6,3,2], expected [20,6,2,3]",
    ),
    "another rank": (lambda x, *_, **__: x.ravel(), "gave Y of shape [2016], expected [20,6,2,3]"),
    "a number in an array": (lambda x, *_, **__: np.array(1, x.dtype), "gave Y of shape [], expected [20,6,2,3]"),
}


@pytest.mark.parametrize("bad", BAD_FUNCTIONS.values(), ids=BAD_FUNCTIONS)
def test_functions_that_fail(bad: tuple[Any, str]) -> None:
    function, words = bad
    session = onnx_maxpool.load(roi_model(), implementation={"MaxRoiPool": function})
    with pytest.raises(InvalidArgument) as error:
        session.run(None, ROI_FEEDS)
    assert words in str(error.value)


def with_index(x: Array, output_size: Array, *, index_type: Any, index_shape: tuple[int, ...]) -> tuple[Array, Array]:
    return np.zeros((*x.shape[:2], *output_size), x.dtype), np.zeros(index_shape, index_type)


def test_outputs_of_the_shape_that_an_input_gives() -> None:
    """AdaptiveMaxPool's output size is a tensor; both outputs are looked at."""
    model = MODELS["adaptive_max_pool_8_float_int64"]
    feeds = model.inputs()
    dims = (*feeds["X"].shape[:2], *(int(size) for size in feeds["output_size"]))
    good = functools.partial(with_index, index_shape=dims)
    assert not any(y.any() for y in outputs(model.builder(), feeds, {"AdaptiveMaxPool": good}))
    bad = functools.partial(with_index, index_shape=dims[1:])
    given, wanted = (re.escape(str(list(shape)).replace(" ", "")) for shape in (dims[1:], dims))
    with pytest.raises(InvalidArgument, match=f"the Python function gave Indices of shape {given}, expected {wanted}"):
        outputs(model.builder(), feeds, {"AdaptiveMaxPool": bad})


def test_inputs_of_a_bad_shape_do_not_reach_the_function() -> None:
    session = onnx_maxpool.load(roi_model(), implementation={"MaxRoiPool": raises})
    words = r"MaxRoiPool: rois has shape \[20,4\], expected \(R, 5\) with columns batch, x1, y1, x2, y2$"
    with pytest.raises(InvalidArgument, match=words):
        session.run(None, {"X": X, "rois": ROIS[:, :4]})


class Stop(KeyboardInterrupt):
    pass


def interrupted(*_: Array, **__: Any) -> Array:
    raise Stop("by a user")


RUNS: dict[str, Callable[[ort.InferenceSession], object]] = {
    "run": lambda session: session.run(None, ROI_FEEDS),
    "run of ours": lambda session: onnx_maxpool.run(session, ROI_FEEDS),
    "run_with_iobinding": lambda session: session.run_with_iobinding(bound(session)),
}


def bound(session: ort.InferenceSession) -> ort.IOBinding:
    binding = session.io_binding()
    for name, array in ROI_FEEDS.items():
        binding.bind_cpu_input(name, array)
    binding.bind_output("Y")
    return binding


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_an_interrupt_in_a_function_comes_out_of_the_run(run: Callable[[ort.InferenceSession], object]) -> None:
    """With its own traceback, once; the session runs on."""
    functions = [interrupted]
    session = onnx_maxpool.load(roi_model(), implementation={"MaxRoiPool": lambda *a, **k: functions[0](*a, **k)})
    with pytest.raises(Stop, match="by a user") as stopped:
        run(session)
    assert stopped.traceback[-1].name == "interrupted"
    functions[0] = raises
    with pytest.raises((InvalidArgument, RuntimeError), match="ArithmeticError") as failed:
        run(session)
    assert not isinstance(failed.value, KeyboardInterrupt)
    functions[0] = lambda x, rois, **_: np.ones((20, 6, 2, 3), x.dtype)
    run(session)


SIGNAL = """
import signal, sys
import numpy as np
from support.one_node import roi_model
import onnx_maxpool

def slow(x, rois, **_):
    signal.raise_signal(signal.SIGINT)
    raise AssertionError

session = onnx_maxpool.load(roi_model(), implementation={"MaxRoiPool": slow})
session.run(None, {"X": np.ones((1, 1, 4, 4), "f"), "rois": np.zeros((1, 5), "f")})
"""


def test_ctrl_c_ends_a_program() -> None:
    done = run_python("-c", SIGNAL)
    assert done.stderr.rstrip().endswith("KeyboardInterrupt"), done.stderr
    assert done.returncode


def test_an_index_of_another_type() -> None:
    proto = MODELS["adaptive_max_pool_8_float_int64"].builder()
    feeds = MODELS["adaptive_max_pool_8_float_int64"].inputs()
    seen: list[Any] = []

    def narrow(x: Array, output_size: Array, *, index_type: np.dtype[Any] | None) -> Any:
        seen.append(index_type)
        y = np.zeros((*x.shape[:2], *output_size), x.dtype)
        return (y, y.astype(np.uint8)) if index_type else y

    with pytest.raises(InvalidArgument, match="the Python function gave Indices as uint8, expected int"):
        outputs(proto, feeds, {"AdaptiveMaxPool": narrow})
    assert any(seen)


def test_only_what_stays_native_is_held_to_what_an_older_runtime_infers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnxruntime.__version__", "1.27.0")
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["": 22, "org.openvinotoolkit": 8]>
g (float[N,C,H,W] X, int64[2] size) => (float[N,C,h,w] Y, int32[N,C,h,w] Indices) {
    Y, Indices = org.openvinotoolkit.AdaptiveMaxPool <index_element_type = "i32"> (X, size)
}""")
    with pytest.raises(OperatorError, match='index_element_type is "i32"'):
        onnx_maxpool.load(proto, implementation={"MaxRoiPool": raises})
    session = onnx_maxpool.load(proto, implementation="python")
    assert session.run(["Indices"], {"X": X, "size": np.array([2, 2])})[0].dtype == np.int32


def test_functions_are_kept_as_long_as_their_session() -> None:
    gc.collect()
    before = dict(python_functions.functions)
    session = onnx_maxpool.load(roi_model(), implementation={"MaxRoiPool": raises})
    assert len(python_functions.functions) == len(before) + 1
    del session
    gc.collect()
    assert python_functions.functions == before
    unknown = helper.make_node("NoSuchOperator", ["Y"], ["Z"])
    proto = roi_model()
    proto.graph.node.append(unknown)
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidGraph, match="NoSuchOperator"):
        onnx_maxpool.load(proto, implementation={"MaxRoiPool": raises})
    assert python_functions.functions == before
