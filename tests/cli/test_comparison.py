"""Exact comparison: what counts as equal, what does not, and what is said of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from builders import MODELS
from onnx.reference.op_run import OpRun

import onnx_maxpool
from onnx_maxpool import reference_evaluator
from onnx_maxpool.cli.comparison import compare
from onnx_maxpool.difference import first_difference
from onnx_maxpool.graph.building import Declared, one_node
from onnx_maxpool.samples.fast_rcnn import HeadSize, fast_rcnn_head, fast_rcnn_head_inputs, write_weights
from onnx_maxpool.types import Array

FLOATS = [np.dtype(name) for name in ("float16", "float32", "float64")] + [np.dtype(ml_dtypes.bfloat16)]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nan_equals_nan_and_zeros_are_equal(dtype: np.dtype[np.generic]) -> None:
    expected = np.array([np.nan, 0.0, -np.inf, 1.0]).astype(dtype)
    actual = np.array([-np.nan, -0.0, -np.inf, 1.0]).astype(dtype)
    assert first_difference(expected, actual) is None  # G3, G4


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_the_smallest_step_is_a_difference(dtype: np.dtype[np.generic]) -> None:
    expected = np.ones((2, 3), dtype)
    actual = expected.copy()
    bits = actual.view(f"u{dtype.itemsize}")
    bits[1, 1:] += 1
    difference = first_difference(expected, actual)
    assert difference is not None  # G6
    assert (difference.index, difference.count, difference.size) == ((1, 1), 2, 6)


@pytest.mark.parametrize(
    ("expected", "actual", "message"),
    [
        ([1.0, 2.0, np.nan], [1.0, np.nan, 3.0], "2 of 3 cells differ, first at [1]: nan, expected 2.0"),
        ([[1, 2], [3, 4]], [[1, 2], [9, 4]], "1 of 4 cells differ, first at [1,0]: 9, expected 3"),
        (5, 6, "1 of 1 cells differ, first at []: 6, expected 5"),
        ([1, 2], [[1, 2]], "shape is [1,2], expected [2]"),
        ([], [[]], "shape is [1,0], expected [0]"),
        ([True], [1.0], "element type is double, expected bool"),
        (["a", "b"], ["a", "c"], "1 of 2 cells differ, first at [1]: c, expected b"),
    ],
)
def test_difference_says_what_and_where(expected: object, actual: object, message: str) -> None:
    assert str(first_difference(np.array(expected), np.array(actual))) == message


def test_empty_tensors_are_equal() -> None:
    assert first_difference(np.zeros((0, 3)), np.zeros((0, 3))) is None


@pytest.mark.parametrize("name", ["max_roi_pool_22_bfloat16", "roi_in_function", "roi_in_if"])
def test_runtime_and_reference_agree(name: str) -> None:
    model = MODELS[name]
    result = compare(onnx_maxpool.load(model.builder()), reference_evaluator(model.builder()), model.inputs())
    assert result.equal
    assert all(array.size for array in result.actual.values())


def test_compare_finds_a_difference() -> None:
    # (extent, bins) = (57, 7): one of the pairs for which float32 bin edges differ (M7).
    node = onnx.helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], pooled_shape=[7, 7])
    model = one_node_model(node)
    inputs: dict[str, Array] = {
        "X": np.arange(64 * 64, dtype=np.float32).reshape(1, 1, 64, 64),
        "rois": np.array([[0, 0, 0, 56, 56]], np.float32),
    }
    session = onnx_maxpool.load(model)
    assert compare(session, reference_evaluator(model), inputs).equal
    result = compare(session, reference_evaluator(model, bin_edges="exact"), inputs)
    assert not result.equal
    assert result.differences["Y"] == first_difference(result.expected["Y"], result.actual["Y"])


def test_reference_evaluator_reads_external_data(tmp_path: Path) -> None:
    size = HeadSize(channels=2, hidden=8, classes=3, name="head")
    write_weights(tmp_path, size)
    onnx.save_model(fast_rcnn_head(size), tmp_path / "head.onnx")
    path = tmp_path / "head.onnx"
    assert compare(onnx_maxpool.load(path), reference_evaluator(path), fast_rcnn_head_inputs(size)).equal


def test_reference_evaluator_takes_either_name_of_the_onnx_domain() -> None:
    model = one_node_model(
        onnx.helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], domain="ai.onnx", pooled_shape=[1, 1])
    )
    inputs = {"X": np.full((1, 1, 2, 2), 3, np.float32), "rois": np.zeros((1, 5), np.float32)}
    (y,) = reference_evaluator(model).run(None, inputs)
    assert y.tolist() == [[[[3.0]]]]
    assert model.graph.node[0].domain == "ai.onnx"


def test_reference_evaluator_orders_nested_functions() -> None:
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 22, "f": 1]>
        g (float[1,1,2,2] X, float[R,5] rois) => (float[R,1,1,1] Y) { Y = f.outer (X, rois) }
        <domain: "f", opset_import: ["": 22, "f": 1]> outer (a, b) => (c) { c = f.inner (a, b) }
        <domain: "f", opset_import: ["": 22]> inner (a, b) => (c) { c = MaxRoiPool <pooled_shape = [1, 1]> (a, b) }"""
    )
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    (y,) = reference_evaluator(model).run(None, {"X": x, "rois": np.array([[0, 0, 0, 1, 1]], np.float32)})
    assert y.tolist() == [[[[3.0]]]]


class Halved(OpRun):
    """An operator of somebody else."""

    op_domain = "elsewhere"

    def _run(self, x: Array) -> tuple[Array]:
        return (x / 2,)


class MaxRoiPool(OpRun):
    """One in the place of ours."""

    op_domain = ""

    def _run(self, x: Array, rois: Array, **_: object) -> tuple[Array]:
        return (np.full((len(rois), x.shape[1], 1, 1), 7, x.dtype),)


@pytest.mark.parametrize(("new_ops", "expected"), [([Halved], 1.5), ([MaxRoiPool, Halved], 7.0)])
def test_reference_evaluator_takes_operators_of_others(new_ops: list[type[OpRun]], expected: float) -> None:
    """In functions too, and before ours."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 22, "f": 1, "elsewhere": 1]>
        g (float[1,1,2,2] X, float[R,5] rois) => (float[R,1,1,1] Y) { Y = f.pool (X, rois) }
        <domain: "f", opset_import: ["": 22, "elsewhere": 1]>
        pool (a, b) => (c) { h = elsewhere.Halved (a) c = MaxRoiPool <pooled_shape = [1, 1]> (h, b) }"""
    )
    x = np.arange(4, dtype=np.float32).reshape(1, 1, 2, 2)
    inputs = {"X": x, "rois": np.array([[0, 0, 0, 1, 1]], np.float32)}
    (y,) = reference_evaluator(model, new_ops=new_ops).run(None, inputs)
    assert y.tolist() == [[[[expected]]]]


def test_reference_evaluator_is_onnxs_own() -> None:
    """It is imported when it is asked for: onnx.reference takes long."""
    model = one_node_model(onnx.helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], pooled_shape=[1, 1]))
    assert isinstance(onnx_maxpool.reference_evaluator(model), onnx.reference.ReferenceEvaluator)
    command = "import sys, onnx_maxpool; assert 'onnx.reference' not in sys.modules"
    path = str(Path(onnx_maxpool.__file__).parent.parent)
    subprocess.run([sys.executable, "-c", command], env={**os.environ, "PYTHONPATH": path}, check=True)


def one_node_model(node: onnx.NodeProto) -> onnx.ModelProto:
    """A float model at opset 22 with inputs X and rois and output Y."""
    return one_node(node, dict.fromkeys(("X", "rois", "Y"), Declared("float")), {"": 22})
