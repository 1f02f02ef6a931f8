"""to_portable without control flow, on one operator: what it gives in three runtimes, what it writes, what it rejects.

`scripts/try_runtimes.py --beside`, a step of scripts/check, runs such models in the runtimes of the extra `runtimes`.
"""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, parser, shape_inference
from support import one_node
from support.older_runtimes import runtime_is_before
from support.portable_runtimes import Run, assert_equal, everywhere, in_onnxruntime, in_openvino, in_reference
from support.static_cases import FLOAT_CASES, TYPED_CASES, StaticCase

from onnx_maxpool import OperatorError, to_portable
from onnx_maxpool.types import Array

pytestmark = pytest.mark.slow("compiles a converted model for each case in three runtimes")

KINDS = {
    *("Abs", "Add", "Cast", "Concat", "Constant", "Expand", "Floor", "Gather", "Identity", "Less"),
    *("Max", "Min", "Mul", "ReduceSum", "Reshape", "Sign", "Slice", "Sub", "Transpose", "Where"),
}
"""All that is written."""


def without_control_flow(case: StaticCase) -> onnx.ModelProto:
    """The case converted, and looked at: few kinds of nodes, and every shape is known."""
    model = case.converted()
    assert {node.op_type for node in model.graph.node} <= KINDS
    onnx.checker.check_model(model, full_check=True)
    inferred = shape_inference.infer_shapes(model, strict_mode=True)
    known = {value.name: value.type.tensor_type for value in (*inferred.graph.value_info, *inferred.graph.output)}
    for node in model.graph.node:
        for name in node.output:
            assert all(dim.HasField("dim_value") for dim in known[name].shape.dim), name
    assert all(value.type.tensor_type.HasField("shape") for value in model.graph.output)
    return model


@everywhere
@pytest.mark.parametrize("name", FLOAT_CASES)
def test_random_floats(run: Run, name: str) -> None:
    rng = np.random.default_rng(0)
    for _ in range(6 if run is in_onnxruntime else 2):
        case = FLOAT_CASES[name](rng)
        assert_equal(run(without_control_flow(case), case.inputs), case.expected())


@pytest.mark.parametrize("run", [in_onnxruntime, in_reference])
@pytest.mark.parametrize("name", TYPED_CASES)
def test_random_cases_of_other_types(run: Run, name: str) -> None:
    if run is in_onnxruntime and "int8" in name and runtime_is_before(1, 24):
        pytest.xfail("ONNX Runtime before 1.24 has no Max for integers of 8 bits")
    rng = np.random.default_rng(1)
    for _ in range(2):
        case = TYPED_CASES[name](rng)
        assert_equal(run(without_control_flow(case), case.inputs), case.expected())


SIX_VALUES = np.array(list(product([-np.inf, 1, np.inf, np.nan], repeat=6)), np.float32)
"""Six of them, in each order."""

WINDOWS_OF_SIX: dict[str, tuple[dict[str, Array], dict[str, Any]]] = {
    "AdaptiveMaxPool": ({"output_size": np.array([1, 1])}, {}),
    "MaxPooling1": ({}, {"window_size": [2, 3]}),
    "MaxPool": ({}, {"kernel_shape": [2, 3]}),
}


@everywhere
@pytest.mark.parametrize("operator", WINDOWS_OF_SIX)
@pytest.mark.parametrize("shape", [(2, 3), (6, 1), (1, 6)])
def test_the_first_nan_in_every_window(run: Run, operator: str, shape: tuple[int, int]) -> None:
    """G3, G5, as in NumPy: also in a runtime whose Max drops NaN, and beside infinities."""
    constants, attributes = WINDOWS_OF_SIX[operator]
    attributes = {name: list(shape) for name in attributes}
    cells, count = SIX_VALUES, len(SIX_VALUES)
    index_type = "int64" if operator != "MaxPooling1" else "uint64"
    x = cells.reshape(1, count, *shape)
    case = StaticCase(operator, "", {"X": x}, constants, attributes, index_type)
    index = cells.argmax(axis=1) + (0 if operator == "AdaptiveMaxPool" else 6 * np.arange(count))
    expected = [cells.max(axis=1), index.astype(index_type)]
    assert_equal(run(without_control_flow(case), case.inputs), [array.reshape(1, count, 1, 1) for array in expected])


@pytest.mark.parametrize("run", [in_onnxruntime, in_openvino])
@pytest.mark.parametrize("width", [3, 4, 7, 16])
def test_the_first_nan_in_blocks(run: Run, width: int) -> None:
    """Windows that are made of blocks, which overlap, with NaN on both sides of their edges."""
    rng = np.random.default_rng(width)
    x = np.where(rng.random((1, 50, 30, 30)) < 0.02, np.nan, rng.integers(0, 3, (1, 50, 30, 30))).astype(np.float32)
    attributes = {"window_size": [width, width], "start_padding": [width - 1, 1], "end_padding": [0, width - 2]}
    case = StaticCase("MaxPooling1", "", {"X": x}, {}, attributes, "uint32")
    assert_equal(run(without_control_flow(case), case.inputs), case.expected())


@everywhere
@pytest.mark.parametrize("index_type", ["uint32", "uint64"])
def test_windows_of_one_cell(run: Run, index_type: str) -> None:
    """No index depends on a value then."""
    x = np.random.default_rng(3).standard_normal((2, 3, 4, 5)).astype(np.float32)
    x[0, 0] = np.nan
    case = StaticCase("MaxPooling1", "", {"X": x}, {}, {"window_size": [1, 1], "strides": [2, 3]}, index_type)
    assert_equal(run(without_control_flow(case), case.inputs), case.expected())


@pytest.mark.parametrize("opset", range(13, 24))
def test_every_opset(opset: int) -> None:
    proto = sized(
        one_node.roi_model("float", opset, pooled_shape=(3, 2), spatial_scale=0.5), X=(2, 3, 9, 11), rois=(6, 5)
    )
    x, rois = one_node.random_rois(np.random.default_rng(opset), np.dtype("f"), (2, 3, 9, 11), 6, 0.5, special=False)
    feeds = {"X": x, "rois": rois}
    expected = [one_node.reference_rois(proto, x, rois)]
    for run in (in_onnxruntime, in_reference):
        assert_equal(run(to_portable(proto, control_flow=False), feeds), expected)


def sized(model: onnx.ModelProto, **shapes: tuple[int | str, ...]) -> onnx.ModelProto:
    """The model with its inputs' shapes declared."""
    for value in model.graph.input:
        data_type = value.type.tensor_type.elem_type
        value.CopyFrom(helper.make_tensor_value_info(value.name, data_type, shapes[value.name]))
    return model


EDGES = [
    *((run, bin_edges) for run in (in_onnxruntime, in_openvino) for bin_edges in ("onnx", "exact")),
    (in_onnxruntime, "double"),  # OpenVINO computes double in float32
]


@pytest.mark.parametrize(("run", "bin_edges"), EDGES)
@pytest.mark.parametrize("count", [1, 7, 13, 21, 58])
def test_bin_edges(run: Run, bin_edges: Any, count: int) -> None:
    """M7: over cells that rise a bin's maximum is its last cell, over cells that fall its first."""
    cells = np.arange(600, dtype=np.float32)
    x = np.stack([cells, -cells]).reshape(1, 2, 1, 600)
    rois = np.zeros((512, 5), np.float32)
    rois[:, 3] = np.arange(512)
    proto = sized(one_node.roi_model(pooled_shape=(1, count)), X=x.shape, rois=rois.shape)
    expected = one_node.reference_rois(proto, x, rois, bin_edges=bin_edges)
    model = to_portable(proto, control_flow=False, bin_edges=bin_edges)
    assert_equal(run(model, {"X": x, "rois": rois}), [expected])


@pytest.mark.parametrize(("run", "bin_edges"), [*EDGES, (in_reference, "onnx")])
def test_huge_and_infinite_coordinates(run: Run, bin_edges: Any) -> None:
    """M11, and that no sum on the way to an edge is rounded."""
    huge = float(np.finfo(np.float32).max)
    edges = [-np.inf, -huge, -(2.0**31), -(2.0**24) - 2, -1e9, -1e5, 0.0, 2.0**24 + 2, 1e5, 1e9, 2.0**31, np.inf]
    along = np.array(list(product(edges, edges)))
    (x1, x2), (y1, y2) = along.T, np.random.default_rng(0).permutation(along).T
    rois = np.stack([np.zeros(len(along)), x1, y1, x2, y2], axis=1).astype(np.float32)
    x = np.arange(20, dtype=np.float32).reshape(1, 1, 4, 5)
    proto = sized(one_node.roi_model(pooled_shape=(7, 11)), X=x.shape, rois=rois.shape)
    model = to_portable(proto, control_flow=False, bin_edges=bin_edges)
    expected = one_node.reference_rois(proto, x, rois, bin_edges=bin_edges)
    assert_equal(run(model, {"X": x, "rois": rois}), [expected])


@everywhere
def test_a_roi_that_is_refused_elsewhere_gives_nan(run: Run) -> None:
    """M10, M11: nothing is read for it, and other ROIs are as they are."""
    nan, inf = np.nan, np.inf
    good = [1, 0, 0, 3, 3]
    bad = [[-1, *good[1:]], [2, *good[1:]], [nan, *good[1:]], [inf, *good[1:]], [-inf, *good[1:]], [0, nan, 0, 1, 1]]
    rois = np.array([good, *bad, [0, 0, 0, 1, nan], [-0.5, 9, 9, 9, 9], [1.9, 0, 0, 3, 3]], np.float32)
    x = np.arange(2 * 3 * 4 * 4, dtype=np.float32).reshape(2, 3, 4, 4)
    proto = sized(one_node.roi_model(pooled_shape=(2, 2)), X=x.shape, rois=rois.shape)
    (y,) = run(to_portable(proto, control_flow=False), {"X": x, "rois": rois})
    is_good = [0, 8, 9]
    assert np.isnan(np.delete(y, is_good, axis=0)).all()
    np.testing.assert_array_equal(y[is_good], one_node.reference_rois(proto, x, rois[is_good]))


@pytest.mark.parametrize("run", [in_onnxruntime, in_reference])
@pytest.mark.parametrize("few", [False, True])
def test_many_and_few_rois_on_several_images(run: Run, few: bool) -> None:
    """There are two plans: with few ROIs rows are pooled first."""
    rng = np.random.default_rng(few)
    count, sides = (1, (1, 1)) if few else (200, (5, 4))
    x, rois = one_node.random_rois(rng, np.dtype("f"), (3, 40, 33, 29), count, 1.0, special=False)
    proto = sized(one_node.roi_model(pooled_shape=sides), X=x.shape, rois=rois.shape)
    expected = [one_node.reference_rois(proto, x, rois)]
    assert_equal(run(to_portable(proto, control_flow=False), {"X": x, "rois": rois}), expected)


@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (2, 0, 4, 5), (2, 3, 0, 5), (2, 3, 4, 0)])
@pytest.mark.parametrize("roi_count", [0, 2])
def test_empty_tensors(shape: tuple[int, ...], roi_count: int) -> None:
    """G7; a map without cells gives 0 (M9)."""
    proto = sized(one_node.roi_model(pooled_shape=(2, 2)), X=shape, rois=(roi_count, 5))
    feeds = {"X": np.ones(shape, np.float32), "rois": np.zeros((roi_count, 5), np.float32)}
    expected = np.full((roi_count, shape[1], 2, 2), float(0 not in shape), np.float32)
    assert_equal(in_onnxruntime(to_portable(proto, control_flow=False), feeds), [expected])


POOL = """
<ir_version: 8, opset_import: ["" : 17]>
pool (float[{shape}] X) => (float[a, b, c, d] Y, int64[e, f, g, h] Indices)
{{ Y, Indices = MaxPool <kernel_shape = [{kernel}], {more}> (X) }}
"""


@everywhere
@pytest.mark.parametrize(
    ("shape", "kernel", "more"),
    [
        ("2, 3, 9, 7", "3, 2", "strides = [2, 2], pads = [1, 0, 2, 1]"),
        ("1, 2, 8, 9", "3, 3", "storage_order = 1"),
        ("2, 2, 8, 9", "3, 3", 'strides = [2, 3], auto_pad = "SAME_UPPER"'),
        ("2, 2, 8, 9", "2, 3", 'strides = [2, 2], auto_pad = "SAME_LOWER"'),
        ("2, 2, 8, 9", "2, 3", 'strides = [2, 2], auto_pad = "VALID"'),
        ("1, 2, 9, 11", "2, 3", "dilations = [3, 2], pads = [1, 2, 1, 2]"),
        ("1, 2, 10, 11", "3, 3", "strides = [2, 2], ceil_mode = 1"),
        ("1, 2, 10, 11", "2, 2", "strides = [3, 3], pads = [1, 1, 1, 1], ceil_mode = 1"),
        ("1, 1, 30, 1", "13, 1", "pads = [6, 0, 6, 0]"),
    ],
)
def test_max_pool_with_indices(run: Run, shape: str, kernel: str, more: str) -> None:
    """Against ONNX Runtime's own MaxPool."""
    proto = parser.parse_model(POOL.format(shape=shape, kernel=kernel, more=more))
    dims = [int(dim) for dim in shape.split(",")]
    feeds = {"X": np.random.default_rng(8).integers(-5, 5, dims).astype(np.float32)}
    model = to_portable(proto, max_pool_indices=True)
    assert not any(node.op_type == "MaxPool" for node in model.graph.node)
    assert_equal(run(model, feeds), in_onnxruntime(proto, feeds))


def test_max_pool_without_indices_stays() -> None:
    text = '<ir_version: 8, opset_import: ["" : 17]> g (float[1,1,4,4] X) => (float[a,b,c,d] Y) { Y = MaxPool <kernel_shape = [2, 2]> (X) }'  # noqa: E501
    proto = parser.parse_model(text)
    assert [node.op_type for node in to_portable(proto, max_pool_indices=True).graph.node] == ["MaxPool"]


@pytest.mark.parametrize(
    ("attributes", "said"),
    [
        ("strides = [2]", "strides is [2], expected 2 integers"),
        ("dilations = [1, 1, 1]", "dilations is [1,1,1], expected 2 integers"),
        ("pads = [1, 1]", "pads is [1,1], expected 4 integers"),
    ],
)
def test_a_malformed_max_pool(attributes: str, said: str) -> None:
    proto = parser.parse_model(POOL.format(shape="1, 1, 9, 9", kernel="3, 3", more=attributes))
    with pytest.raises(OperatorError, match=re.escape(f"MaxPool: {said}")):
        to_portable(proto, max_pool_indices=True)


def test_a_max_pool_without_a_window() -> None:
    proto = parser.parse_model(POOL.format(shape="1, 1, 9, 9", kernel="3, 3", more="strides = [1, 1]"))
    proto.graph.node[0].ClearField("attribute")
    with pytest.raises(OperatorError, match=re.escape("MaxPool: X has shape [1,1,9,9] and kernel_shape is []")):
        to_portable(proto, max_pool_indices=True)


OF_ROIS = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[{x}] X, float[{rois}] rois) => (float[r, c, a, b] Y) {{ Y = MaxRoiPool <pooled_shape = [{sides}]> (X, rois) }}
"""


def of_rois(x: str, sides: str = "2, 2") -> str:
    return OF_ROIS.format(x=x, rois="3, 5", sides=sides)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (
            of_rois(x="N, 2, H, W"),
            {"dims": {"N": 1}},
            "node 'Y' in graph: MaxRoiPool-1: X has shape [1,2,H,W], "
            "expected a known shape without control flow: give H, W in dims",
        ),
        (
            of_rois(x="1, 1, 2000, 1", sides="2000, 1"),
            {"bin_edges": "exact"},
            "node 'Y' in graph: to_portable: 2000 bins along 2000 cells, "
            "expected a product of at most 2097152, as exact edges are computed in float32",
        ),
        (
            POOL.format(shape="1, 1, 4, 4", kernel="2, 2", more="dilations = [5, 1], pads = [1, 0, 1, 0]"),
            {"max_pool_indices": True},
            "node 'Y' in graph: MaxPool: X has shape [1,1,4,4], expected a cell in each window: kernel_shape is [2,2], "
            "pads [1,0,1,0]",
        ),
    ],
)
def test_more_refusals(text: str, options: dict[str, Any], words: str) -> None:
    """Besides those in docs/errors.md."""
    with pytest.raises(OperatorError) as error:
        to_portable(parser.parse_model(text), control_flow=False, **options)
    assert str(error.value) == words


def test_constant_rois_that_are_bad_are_refused() -> None:
    case = StaticCase(
        "MaxRoiPool",
        "",
        {"X": np.zeros((1, 1, 4, 4), np.float32)},
        {"rois": np.array([[3, 0, 0, 1, 1]], np.float32)},
        {"pooled_shape": [1, 1]},
    )
    with pytest.raises(OperatorError, match=re.escape("rois row 0 has batch 3, expected a batch number from 0 to 0")):
        case.converted()


def test_memory_is_that_of_a_part_of_the_channels() -> None:
    """All maps of a sparse table of 512x38x50 take 280 MB with its parts; the outputs take 30 MB, twice."""
    program = """
import re, sys
import numpy as np, onnxruntime as ort
session = ort.InferenceSession(sys.stdin.buffer.read(), providers=["CPUExecutionProvider"])
rois = np.tile(np.array([0, 0, 0, 40, 30], np.float32), (300, 1))
peak = lambda: int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
before = peak()
(y,) = session.run(None, {"X": np.zeros((1, 512, 38, 50), np.float32), "rois": rois})
assert y.shape == (300, 512, 7, 7)
print(peak() - before)
"""
    proto = sized(one_node.roi_model(pooled_shape=(7, 7)), X=(1, 512, 38, 50), rois=(300, 5))
    model = to_portable(proto, control_flow=False)
    done = subprocess.run(
        [sys.executable, "-c", program], input=model.SerializeToString(), capture_output=True, check=True
    )
    assert 0 < int(done.stdout) < 160_000_000
