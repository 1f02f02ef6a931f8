"""to_portable: what it gives in ONNX Runtime without our library, in OpenVINO and in onnx.reference; what it keeps."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import parser
from support import one_node
from support.portable_runtimes import Run, assert_equal, in_onnxruntime, in_openvino, in_reference, set_rank
from words.bad_inputs import BAD_INPUTS
from words.bad_nodes import BadInput

import onnx_maxpool
from onnx_maxpool import OperatorError, to_portable
from onnx_maxpool.adapters.portable.library import OLDEST_OPSET
from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.types import dtype_of

pytestmark = pytest.mark.slow("compiles a converted model for each case in three runtimes")

NEWEST_OPSET = onnx.defs.onnx_opset_version()
NEWEST_OPSET_OF_ONNXRUNTIME = 23  # that the oldest supported one, 1.23, takes

everywhere = pytest.mark.parametrize("run", [in_onnxruntime, in_reference, in_openvino])


@pytest.mark.parametrize("opset", range(OLDEST_OPSET, NEWEST_OPSET + 1))
@pytest.mark.parametrize("element_type", ["float", "double"])
def test_every_opset(opset: int, element_type: str) -> None:
    rng = np.random.default_rng(opset)
    proto = one_node.roi_model(element_type, opset, pooled_shape=(3, 2), spatial_scale=0.5)
    x, rois = one_node.random_rois(rng, dtype_of(element_type), (2, 5, 9, 11), 12, 0.5)
    portable = to_portable(proto)
    assert portable.opset_import == proto.opset_import
    feeds = {"X": x, "rois": rois}
    expected = [one_node.reference_rois(proto, x, rois)]
    assert_equal(in_reference(portable, feeds), expected)
    if opset <= NEWEST_OPSET_OF_ONNXRUNTIME:
        assert_equal(in_onnxruntime(portable, feeds), expected)


def roi_model(**attributes: object) -> tuple[onnx.ModelProto, onnx.ModelProto]:
    """A model of one MaxRoiPool of floats, and its portable form."""
    proto = one_node.roi_model(**attributes)
    return proto, to_portable(proto)


@everywhere
def test_random_rois(run: Run) -> None:
    rng = np.random.default_rng(7)
    for _ in range(3):
        sides = tuple(int(side) for side in rng.integers(1, 10, 2))
        scale = float(rng.choice([1, 0.5, 0.0625, 0.7]))
        shape = tuple(int(dim) for dim in rng.integers(1, (4, 20, 40, 40)))
        x, rois = one_node.random_rois(rng, np.dtype(np.float32), shape, int(rng.integers(1, 30)), scale)
        proto, portable = roi_model(pooled_shape=sides, spatial_scale=scale)
        assert_equal(run(portable, {"X": x, "rois": rois}), [one_node.reference_rois(proto, x, rois)])


@everywhere
def test_coordinates_round_half_away_from_zero(run: Run) -> None:
    """M5: an ROI of one cell shows which cell it is; negative ones by the bins above the map."""
    x = np.arange(64, dtype=np.float32).reshape(1, 1, 1, 64)
    cells = [(0.5, 1), (0.49999997, 0), (1.5, 2), (2.5, 3), (4.4999995, 4), (-0.5, 0), (-0.49999997, 0)]
    rois = np.array([[0, value, 0, value, 0] for value, _ in cells], np.float32)
    _, portable = roi_model(pooled_shape=(1, 1))
    assert run(portable, {"X": x, "rois": rois})[0].ravel().tolist() == [cell for _, cell in cells]
    _, scaled = roi_model(pooled_shape=(1, 1), spatial_scale=0.7)
    assert run(scaled, {"X": x, "rois": np.array([[0, 45, 0, 45, 0]], np.float32)})[0].item() == 32


@pytest.mark.parametrize("bin_edges", ["onnx", "exact"])
@everywhere
def test_bin_edges(run: Run, bin_edges: Any) -> None:
    check_bin_edges(run, bin_edges)


@pytest.mark.parametrize("run", [in_onnxruntime, in_reference])
def test_double_bin_edges(run: Run) -> None:
    """Not in OpenVINO, which computes doubles in float32."""
    check_bin_edges(run, "double")


def check_bin_edges(run: Run, bin_edges: Any) -> None:
    """M7: over cells that rise a bin's maximum is its last cell, over cells that fall its first."""
    cells = np.arange(600, dtype=np.float32)
    x = np.stack([cells, -cells]).reshape(1, 2, 1, 600)
    extents = np.arange(1, 513, 11 if run is in_reference else 1)  # it takes long for a Loop over many ROIs
    rois = np.zeros((len(extents), 5), np.float32)
    rois[:, 1] = -extents % 5
    rois[:, 3] = rois[:, 1] + extents - 1
    for count in (1, 7, 13, 21, 58):
        proto = one_node.roi_model(pooled_shape=(1, count))
        portable = to_portable(proto, bin_edges=bin_edges)
        assert_equal(
            run(portable, {"X": x, "rois": rois}), [one_node.reference_rois(proto, x, rois, bin_edges=bin_edges)]
        )


@everywhere
def test_huge_and_infinite_coordinates_saturate(run: Run) -> None:
    """M11: the extents reach 2^31 + 1, which no runtime may overflow."""
    huge = float(np.finfo(np.float32).max)
    edges = [-np.inf, -huge, -(2.0**31), -1e9, 0.0, 1e9, 2.0**31, huge, np.inf]
    along = np.array([(first, last) for first in edges for last in edges])
    (x1, x2), (y1, y2) = along.T, np.random.default_rng(0).permutation(along).T
    rois = np.stack([np.zeros(len(along)), x1, y1, x2, y2], axis=1).astype(np.float32)
    x = np.arange(20, dtype=np.float32).reshape(1, 1, 4, 5)
    for scale in (1.0, float(np.finfo(np.float32).tiny)):
        proto, portable = roi_model(pooled_shape=(3, 2), spatial_scale=scale)
        assert_equal(run(portable, {"X": x, "rois": rois}), [one_node.reference_rois(proto, x, rois)])


@everywhere
@pytest.mark.parametrize(
    "row", [[-1, 0, 0, 1, 1], [2, 0, 0, 1, 1], [np.nan, 0, 0, 1, 1], [np.inf, 0, 0, 1, 1], [0, 0, 0, 0, np.nan]]
)
def test_a_batch_out_of_range_and_a_nan_fail(run: Run, row: list[float]) -> None:
    """M10, M11. The message has the name of the node, which says what is wrong and what is required."""
    _, portable = roi_model(pooled_shape=(2, 2))
    x = np.ones((2, 3, 4, 4), np.float32)
    good = [1, 0, 0, 1, 1]
    run(portable, {"X": x, "rois": np.array([good, good], np.float32)})
    with pytest.raises(Exception) as error:  # noqa: PT011 each has its own
        run(portable, {"X": x, "rois": np.array([good, row], np.float32)})
    wrong = "a coordinate that is NaN, expected a number" if np.isnan(row[4]) else "a batch number that no image has"
    assert run is in_reference or f"'MaxRoiPool (Y): rois has {wrong}" in str(error.value)


@everywhere
@pytest.mark.parametrize("value", [-np.inf, np.finfo(np.float32).min, 0.0, np.inf, np.nan])
def test_a_map_of_one_value_gives_that_value_and_empty_bins_give_0(run: Run, value: float) -> None:
    """G2, G3 and M9."""
    x = np.full((1, 3, 4, 4), value, np.float32)
    rois = np.array([[0, 0, 0, 3, 3], [0, 4, 4, 9, 9], [0, -9, -9, -5, -5]], np.float32)
    _, portable = roi_model(pooled_shape=(2, 2))
    expected = np.zeros((3, 3, 2, 2), np.float32)
    expected[0] = value
    assert_equal(run(portable, {"X": x, "rois": rois}), [expected])


@everywhere
@pytest.mark.parametrize(
    ("shape", "roi_count"),
    [((1, 3, 4, 5), 0), ((0, 3, 4, 5), 0), ((2, 0, 4, 5), 2), ((1, 3, 0, 5), 2), ((1, 3, 4, 0), 2)],
)
def test_empty_tensors(run: Run, shape: tuple[int, int, int, int], roi_count: int) -> None:
    """G7; a map without cells gives 0 (M9)."""
    _, portable = roi_model(pooled_shape=(2, 2))
    feeds = {"X": np.ones(shape, np.float32), "rois": np.zeros((roi_count, 5), np.float32)}
    assert_equal(run(portable, feeds), [np.full((roi_count, shape[1], 2, 2), float(0 not in shape), np.float32)])


ADAPTIVE = """
<ir_version: 10, opset_import: ["" : 18, "org.openvinotoolkit" : 8]>
adaptive (float[n, c, h, w] X, int64[2] output_size) => (float[n, c, a, b] Y, int64[n, c, a, b] Indices)
{ Y, Indices = org.openvinotoolkit.AdaptiveMaxPool(X, output_size) }
"""


@everywhere
@pytest.mark.parametrize(
    "values", [(-np.inf, np.finfo(np.float32).min), (-np.inf, np.nan, 1.0), (0.0, -0.0), (2.0, np.inf)]
)
def test_first_indices_of_special_values(run: Run, values: tuple[float, ...]) -> None:
    """G3 to G5, where windows overlap, and where they are larger in number than the cells."""
    rng = np.random.default_rng(3)
    proto = parser.parse_model(ADAPTIVE)
    portable = to_portable(proto)
    for sizes in ((3, 4), (9, 1)):
        feeds = {"X": rng.choice(np.array(values, np.float32), (2, 3, 7, 10)), "output_size": np.array(sizes)}
        expected = one_node.reference(proto, feeds)
        assert_equal(run(portable, feeds), expected)


BAD_ROIS = {bad.name: bad for bad in BAD_INPUTS if ": rois row " in bad.said}


@everywhere
@pytest.mark.parametrize("bad", BAD_ROIS.values(), ids=BAD_ROIS)
def test_bad_batch_numbers_and_coordinates_fail(run: Run, bad: BadInput) -> None:
    """M10, M11; where there are no images, a batch number from -1 to 0 is none of one either."""
    portable = to_portable(one_node.model(bad.operator, bad.opset, bad.inputs, **bad.attributes))
    with pytest.raises(Exception):  # noqa: B017, PT011 each has its own
        run(portable, bad.inputs)


@everywhere
@pytest.mark.parametrize("sizes", [(0, 3), (3, -1), (2, 2**31)])
def test_an_output_size_out_of_range_fails(run: Run, sizes: tuple[int, int]) -> None:
    """A1."""
    portable = to_portable(parser.parse_model(ADAPTIVE))
    with pytest.raises(Exception):  # noqa: B017, PT011 each has its own
        run(portable, {"X": np.ones((1, 1, 4, 4), np.float32), "output_size": np.array(sizes)})


def test_memory_stays_bounded() -> None:
    """1,000 ROIs, each the whole map. All their cells at once would take 1.5 GB, one ROI's take 1.5 MB."""
    program = """
import re, sys
import numpy as np, onnxruntime as ort
session = ort.InferenceSession(sys.stdin.buffer.read(), providers=["CPUExecutionProvider"])
x = np.random.default_rng(0).standard_normal((1, 64, 64, 64), np.float32)
rois = np.tile(np.array([0, 0, 0, 63, 63], np.float32), (1000, 1))
peak = lambda: int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
before = peak()
(y,) = session.run(None, {"X": x, "rois": rois})
assert y.shape == (1000, 64, 7, 7)
print(peak() - before)
"""
    _, portable = roi_model(pooled_shape=(7, 7))
    done = subprocess.run(
        [sys.executable, "-c", program], input=portable.SerializeToString(), capture_output=True, check=True
    )
    assert 0 < int(done.stdout) < 150_000_000


NESTED = """
<ir_version: 10, opset_import: ["" : 18, "directml" : 5, "local" : 1]>
nested (float[n, c, h, w] X, float[1, 1, r, 5] rois, bool flag) => (float[r, c, a, b] Y, float[n, c, d, e] Z)
{
    Y = If (flag) <
        then_branch = yes () => (float[r, c, a, b] yes_Y) {
            yes_Y = directml.RoiPooling <pooled_size = [2, 2], spatial_scale = 1.0> (X, rois)
        },
        else_branch = no () => (float[r, c, a, b] no_Y) {
            no_Y = local.Outer <side: ints = [2, 2]> (X, rois)
        }
    >
    Z = local.Halved (X)
}
<domain: "local", opset_import: ["" : 18, "directml" : 5, "local" : 1]>
Outer <side> (x, r) => (y) { y = local.Inner <side: ints = @side> (x, r) }
<domain: "local", opset_import: ["" : 18, "directml" : 5]>
Inner <side> (x, r) => (y)
{ z = directml.RoiPooling <pooled_size: ints = @side, spatial_scale = 1.0> (x, r) y = Neg(z) }
<domain: "local", opset_import: ["" : 18]>
Halved (x) => (y) { half = Constant <value = float {0.5}> () y = Mul(x, half) }
"""


@pytest.mark.parametrize("run", [in_onnxruntime, in_reference])
def test_subgraphs_and_functions(run: Run) -> None:
    """Functions that hold one of our operators, or call one that does, are inlined; OpenVINO reads no others."""
    proto = parser.parse_model(NESTED)
    portable = to_portable(proto)
    onnx.checker.check_model(portable, full_check=True)
    assert [function.name for function in portable.functions] == ["Halved"]
    assert {entry.domain for entry in portable.opset_import} == {"", "local"}
    assert portable.graph.input == proto.graph.input
    assert portable.graph.output == proto.graph.output
    rng = np.random.default_rng(5)
    x, rois = one_node.random_rois(rng, np.dtype(np.float32), (2, 3, 8, 8), 4, 1.0)
    for flag in (True, False):
        feeds = {"X": x, "rois": rois[None, None], "flag": np.array(flag)}
        expected = reference_evaluator(proto).run(None, dict(feeds))
        assert_equal(run(portable, feeds), expected)


OTHER_OPSETS = """
<ir_version: 10, opset_import: ["" : 22, "directml" : 2, "local" : 1]>
other (float[n, c, h, w] X, float[r, 5] rois) => (float[r, c, 2, 2] Y, float[n, c, d, e] Z)
{
    Y = local.Outer (X, rois)
    plain = directml.MaxPooling1 <window_size = [1, 1]> (X)
    Z = local.Pooled (plain)
}
<domain: "local", opset_import: ["" : 20, "local" : 1]>
Outer (x, r) => (y) { z = local.Positive (x) y = MaxRoiPool <pooled_shape = [2, 2]> (z, r) }
<domain: "local", opset_import: ["" : 18]>
Positive (x) => (y) { y = Relu(x) }
<domain: "local", opset_import: ["" : 22, "directml" : 5]>
Pooled (x) => (y) { y = directml.MaxPooling1 <window_size = [2, 2]> (x) }
"""


@pytest.mark.parametrize("only", [None, "MaxRoiPool", "MaxPooling1"])
def test_functions_that_import_other_opsets(only: str | None) -> None:
    """Those that hold our operators are converted to the model's opset, others stay."""
    proto = parser.parse_model(OTHER_OPSETS)
    portable = to_portable(proto, only=only)
    kept = {"MaxRoiPool": ["Positive", "Pooled"], "MaxPooling1": ["Outer", "Positive"], None: ["Positive"]}
    assert [function.name for function in portable.functions] == kept[only]
    x, rois = one_node.random_rois(np.random.default_rng(2), np.dtype(np.float32), (2, 3, 8, 8), 4, 1.0)
    feeds = {"X": x, "rois": rois}
    for model in (proto, portable):
        session = onnx_maxpool.load(model)
        assert_equal(session.run(None, feeds), reference_evaluator(proto).run(None, dict(feeds)))
    if only is None:
        assert_equal(in_onnxruntime(portable, feeds), session.run(None, feeds))


DOMAIN_OF_A_FUNCTION = """
<ir_version: 10, opset_import: ["" : 22, "local" : 1]>
lacking (float[n, c, h, w] X, int64[2] sizes) => (float[n, c, a, b] Y) { Y = local.Pooled (X, sizes) }
<domain: "local", opset_import: ["org.openvinotoolkit" : 8]>
Pooled (x, s) => (y) { y = org.openvinotoolkit.AdaptiveMaxPool (x, s) }
"""


def test_a_domain_that_a_function_alone_imports() -> None:
    """ONNX asks no more of a model."""
    proto = parser.parse_model(DOMAIN_OF_A_FUNCTION)
    feeds = {"X": np.random.default_rng(4).standard_normal((1, 2, 5, 7), np.float32), "sizes": np.array([2, 3])}
    expected = reference_evaluator(proto).run(None, dict(feeds))
    for session in (onnx_maxpool.load(proto), onnx_maxpool.load(proto, implementation="python")):
        assert_equal(session.run(None, feeds), expected)
    assert_equal(in_onnxruntime(to_portable(proto), feeds), expected)


def test_the_given_model_stays_and_the_weights_go_along(tmp_path: Path) -> None:
    weights = np.random.default_rng(1).standard_normal((1, 8, 40, 40)).astype(np.float32)
    proto = one_node.roi_model("float", pooled_shape=(2, 2))
    del proto.graph.input[0]
    proto.graph.initializer.append(onnx.numpy_helper.from_array(weights, "X"))
    before = proto.SerializeToString()
    rois = np.array([[0, 0, 0, 30, 30]], np.float32)
    expected = [one_node.reference_rois(one_node.roi_model("float", pooled_shape=(2, 2)), weights, rois)]
    path = tmp_path / "external.onnx"
    copy = onnx.ModelProto.FromString(before)
    onnx.save_model(copy, path, save_as_external_data=True, location="weights", size_threshold=0)
    for given in (proto, before, path):
        assert_equal(in_onnxruntime(to_portable(given), {"rois": rois}), expected)
    assert proto.SerializeToString() == before


def test_only_the_named_operators() -> None:
    text = """
    <ir_version: 10, opset_import: ["" : 18, "directml" : 5]>
    two (float[n, c, h, w] X, float[r, 5] rois) => (float[r, c, a, b] Y, float[n, c, d, e] Z)
    {
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        Z = directml.MaxPooling1 <window_size = [2, 2]> (X)
    }
    """
    proto = parser.parse_model(text)
    kept = to_portable(proto, only=["MaxRoiPool"])
    assert [node.op_type for node in kept.graph.node if node.domain == "directml"] == ["MaxPooling1"]
    assert not any(node.op_type == "MaxRoiPool" for node in kept.graph.node)
    assert to_portable(proto, only=[]) == proto
    for given in ("MaxRoiPool", iter(["MaxRoiPool"])):
        assert to_portable(proto, only=given) == kept


@pytest.mark.parametrize(
    ("text", "only", "words"),
    [
        (
            '<ir_version: 8, opset_import: ["" : 10]> g (float[n,c,h,w] X, float[r,5] R) => (float[r,c,a,b] Y) '
            "{ Y = MaxRoiPool <pooled_shape = [2, 2]> (X, R) }",
            None,
            "node 'Y' in graph: to_portable: opset of ai.onnx is 10, expected 11 or newer, "
            "to which onnx.version_converter can raise it",
        ),
        (
            '<ir_version: 8, opset_import: ["" : 18, "alien" : 1]> g (float[n,c,h,w] X, float[r,5] R) => '
            "(float[r,c,a,b] Y) "
            "{ Z = alien.Op(X) Y_1 = MaxRoiPool <pooled_shape = [2, 2]> (Z, R) Y = Cast <to = 1> (Y_1) }",
            None,
            "node 'Y_1' in graph: MaxRoiPool-1: the type of X is not known, expected one that ONNX infers",
        ),
        *(
            (
                ADAPTIVE,
                only,
                "to_portable: operator Maxpool, expected MaxRoiPool, RoiPooling, MaxPooling1 or AdaptiveMaxPool",
            )
            for only in (["Maxpool"], "Maxpool")
        ),
        (
            ADAPTIVE.replace(', "org.openvinotoolkit" : 8', ""),
            None,
            "node 'Y' in graph: AdaptiveMaxPool: no opset of org.openvinotoolkit is imported, expected 8 or newer",
        ),
        (
            ADAPTIVE.replace("float[n, c, a, b] Y,", "float[n, c, a, b, d, e] Y,").replace("[n, c, h, w] X", "[] X"),
            None,
            "node 'Y' in graph: AdaptiveMaxPool: X has shape [?,?,?,?,?,?], "
            "expected 3 to 5 dimensions (N, C and 1 to 3 spatial ones)",
        ),
        (
            '<ir_version: 8, opset_import: ["" : 18]> g (float[n,c,h,w] X, float[r,5] R) => (float[r,c,a,b] Y) '
            "{ Y = MaxRoiPool <pooled_shape = [2, 0]> (X, R) }",
            None,
            "node 'Y' in graph: MaxRoiPool: pooled_shape is [2,0], expected two integers from 1 to 2147483647",
        ),
    ],
)
def test_refusals(text: str, only: str | list[str] | None, words: str) -> None:
    with pytest.raises(OperatorError) as error:
        to_portable(parser.parse_model(text), only=only)
    assert str(error.value) == words


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        (["", ""], "node '' in graph: AdaptiveMaxPool-8: the output Y is left out, expected a value"),
        (["", "Indices"], "node '' in graph: AdaptiveMaxPool-8: the output Y is left out, expected a value"),
    ],
)
@pytest.mark.parametrize("call", [to_portable, onnx_maxpool.load])
def test_an_output_that_is_left_out(call: Callable[..., object], outputs: list[str], words: str) -> None:
    proto = parser.parse_model(ADAPTIVE)
    proto.graph.node[0].output[:] = outputs
    with pytest.raises(OperatorError) as error:
        call(proto)
    assert str(error.value) == words


BAD_SHAPES = {bad.name: bad for bad in BAD_INPUTS if " has shape [" in bad.said and " cells" not in bad.said}
each_bad_shape = pytest.mark.parametrize("bad", BAD_SHAPES.values(), ids=BAD_SHAPES)
SHAPES_THAT_NO_FORM_COMPUTES = {name: bad for name, bad in BAD_SHAPES.items() if "a height and a width" not in bad.said}
"""A portable model has windows of any size: a map too large for the others is rejected where its shape is declared."""


def shaped_model(bad: BadInput, *, with_sizes: bool) -> onnx.ModelProto:
    """The row's model, whose inputs have the rank of the bad ones, or their shape."""
    proto = one_node.model(bad.operator, bad.opset, bad.inputs, with_index=bad.with_index, **bad.attributes)
    for value in proto.graph.input:
        array = bad.inputs[value.name]
        set_rank(value, array.ndim)
        for size, dim in zip(array.shape, value.type.tensor_type.shape.dim if with_sizes else (), strict=False):
            dim.dim_value = size
    return proto


@each_bad_shape
def test_shapes_that_are_bad_and_known(bad: BadInput) -> None:
    with pytest.raises(OperatorError) as error:
        to_portable(shaped_model(bad, with_sizes=True))
    assert str(error.value) == f"node 'pool' in graph: {bad.said}"


@everywhere
@pytest.mark.parametrize("bad", SHAPES_THAT_NO_FORM_COMPUTES.values(), ids=SHAPES_THAT_NO_FORM_COMPUTES)
def test_shapes_of_which_the_rank_is_known(run: Run, bad: BadInput) -> None:
    """A bad rank is rejected; the run fails on any other bad shape."""
    try:
        portable = to_portable(shaped_model(bad, with_sizes=False))
    except OperatorError as error:
        assert " dimensions (" in str(error) or re.search(r"rois has shape|output_size has shape", str(error))  # noqa: PT017 whichever
        return
    with pytest.raises(Exception):  # noqa: B017, PT011 each has its own
        run(portable, bad.inputs)


@pytest.mark.parametrize(
    "bad", [bad for bad in SHAPES_THAT_NO_FORM_COMPUTES.values() if bad.operator != "AdaptiveMaxPool"]
)
def test_shapes_of_which_nothing_is_known(bad: BadInput) -> None:
    portable = to_portable(one_node.model(bad.operator, bad.opset, bad.inputs, **bad.attributes))
    for run in (in_onnxruntime, in_reference):
        with pytest.raises(Exception):  # noqa: B017, PT011 each has its own
            run(portable, bad.inputs)


def test_a_branch_of_a_constant_if() -> None:
    """In ONNX Runtime without graph optimizations: docs/troubleshooting.md says what they do to it."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[1,1,4,4] X, float[2,5] rois) => (float[2,1,1,1] Y) {
            yes = Constant <value = bool {1}> ()
            Y = If (yes) <
                then_branch = a () => (float[2,1,1,1] b) { b = MaxRoiPool <pooled_shape = [1, 1]> (X, rois) },
                else_branch = c () => (float[2,1,1,1] d) {
                    d = MaxRoiPool <pooled_shape = [1, 1], spatial_scale = 0.5> (X, rois)
                }
            >
        }""")
    inputs = {"X": np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4), "rois": np.array([[0, 0, 0, 2, 1]] * 2, "f4")}
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(to_portable(model).SerializeToString(), options)
    (y,) = session.run(None, inputs)
    assert y.ravel().tolist() == [6, 6]
