"""Windows without indices in float and double, which are pooled as the numbers that they are: rules G3, G4 and G6.

Of MaxPooling1 and AdaptiveMaxPool. A node's first runs try the plans that should be about the fastest: each case runs
often enough for all of these. The native fuzzer asks every plan, of each instruction set.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from support.one_node import assert_same, model, reference
from support.processes import run_python
from support.subnormals import run_without_subnormals

import onnx_maxpool
from onnx_maxpool.types import Array

RUNS = 24
"""Until a node's trials are over."""

CASES = {
    "one column apart": ((2, 20, 30, 37), (3, 3), (1, 1), (1, 1)),
    "that fill vectors": ((2, 9, 14, 32), (3, 3), (1, 1), (1, 1)),
    "two columns apart": ((1, 12, 41, 60), (2, 3), (2, 2), (0, 1)),
    "three columns apart": ((1, 9, 31, 71), (3, 3), (3, 3), (0, 0)),
    "far apart": ((1, 11, 45, 62), (12, 5), (9, 7), (2, 2)),
    "large": ((1, 5, 40, 90), (20, 33), (5, 9), (0, 0)),
    "small maps": ((1, 70, 7, 7), (3, 3), (2, 2), (1, 1)),
    "of one row": ((1, 17, 1, 300), (1, 40), (1, 13), (0, 0)),
    "tall on short rows": ((1, 6, 60, 20), (30, 10), (30, 10), (0, 0)),
    "of volumes": ((1, 9, 8, 20, 21), (3, 3, 3), (1, 1, 1), (1, 1, 1)),
    "of volumes, two apart": ((1, 18, 6, 15, 22), (2, 3, 2), (2, 2, 2), (0, 1, 0)),
}
"""Shapes, windows, strides and paddings."""


def of_windows(case: str, x: Array) -> onnx.ModelProto:
    """A case as MaxPooling1."""
    _, window, strides, padding = CASES[case]
    attributes = {"window_size": window, "strides": strides, "start_padding": padding, "end_padding": padding}
    return model("MaxPooling1", 5, {"X": x}, **attributes)


def same_in_all_runs(proto: onnx.ModelProto, given: dict[str, Array]) -> Array:
    """The output, which is the reference's in each run, with the same bits in all."""
    session = onnx_maxpool.load(proto)
    outputs = [onnx_maxpool.run(session, given)[0] for _ in range(RUNS)]
    assert_same(outputs[0], reference(proto, given)[0])
    assert {output.tobytes() for output in outputs} == {outputs[0].tobytes()}
    return outputs[0]


def numbers(case: str, seed: int) -> Array:
    """An input without any NaN."""
    shape = CASES[case][0]
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape).astype(np.float32)
    x[rng.random(shape) < 0.1] = -np.inf
    x[rng.random(shape) < 0.01] = np.inf
    return x


@pytest.mark.parametrize("case", CASES)
def test_numbers(case: str) -> None:
    """G2: infinities are numbers too."""
    x = numbers(case, 3)
    same_in_all_runs(of_windows(case, x), {"X": x})


@pytest.mark.parametrize("place", ["first", "last", "anywhere"])
@pytest.mark.parametrize("nan", [np.nan, -np.nan])
@pytest.mark.parametrize("case", CASES)
def test_a_single_nan(case: str, nan: float, place: str) -> None:
    """G3: in its windows, and in no other."""
    x = numbers(case, 5)
    at = {"first": 0, "last": x.size - 1, "anywhere": np.random.default_rng(7).integers(x.size)}[place]
    x.ravel()[at] = nan
    same_in_all_runs(of_windows(case, x), {"X": x})


@pytest.mark.parametrize("case", CASES)
def test_zeros_have_one_sign(case: str) -> None:
    """G4 leaves it open, but a node's runs must not differ, nor may a NaN elsewhere decide."""
    x = np.random.default_rng(11).choice(np.array([-1, -0.0, 0], np.float32), CASES[case][0])
    proto = of_windows(case, x)
    y = same_in_all_runs(proto, {"X": x})
    x.ravel()[0] = np.nan
    with_nan = same_in_all_runs(proto, {"X": x})
    others = ~np.isnan(with_nan)
    assert not others.all()
    assert with_nan[others].tobytes() == y[others].tobytes()


@pytest.mark.parametrize("sizes", [(7, 5), (1, 1), (31, 20), (16, 50), (11, 13)])
@pytest.mark.parametrize("nans", [0, 1, 40])
def test_adaptive_sizes_in_double(sizes: tuple[int, ...], nans: int) -> None:
    """A2, G3."""
    rng = np.random.default_rng(13)
    x = rng.standard_normal((1, 19, 31, 40))
    x.ravel()[rng.choice(x.size, nans, replace=False)] = np.nan
    given = {"X": x, "output_size": np.array(sizes)}
    same_in_all_runs(model("AdaptiveMaxPool", 8, given), given)


ZEROS = """
import sys
import numpy as np, onnx, onnxruntime as ort
import onnx_maxpool

proto = onnx.load(sys.argv[1])
first = onnx_maxpool.load(proto)
options = ort.SessionOptions()
options.intra_op_num_threads = 2
options.add_session_config_entry("session.set_denormal_as_zero", "1")
session = onnx_maxpool.load(proto, options)
x = np.full((2, 17, 300, 300), -0.0, np.float32)
for _ in range(60):
    (y,) = session.run(None, {"X": x, "output_size": np.array([100, 77])})
    assert not y.tobytes().strip(b"\\0"), "some zeros are -0"
"""
"""Only threads that the second session makes take small numbers for 0."""


def test_zeros_are_the_same_from_every_thread(tmp_path: Path) -> None:
    """+0, whether a thread compares numbers or keys."""
    given = {"X": np.zeros((2, 17, 300, 300), np.float32), "output_size": np.array([100, 77])}
    onnx.save(model("AdaptiveMaxPool", 8, given), tmp_path / "model.onnx")
    done = run_python("-c", ZEROS, tmp_path / "model.onnx")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("case", ["one column apart", "small maps"])
def test_subnormal_numbers_where_the_runtime_takes_them_for_0(case: str, tmp_path: Path) -> None:
    """G6: a maximum selects, whatever a processor would make of numbers."""
    x = np.random.default_rng(17).integers(1, 1000, CASES[case][0], np.int32).view(np.float32)
    proto = of_windows(case, x)
    run_without_subnormals(proto, {"X": x}, reference(proto, {"X": x})[0], tmp_path)
