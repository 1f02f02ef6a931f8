"""What to_portable rejects, and what a model of it fails on in a run: bad ROIs, sizes, shapes and models."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import onnx
import pytest
from onnx import parser
from support import one_node
from support.one_node import ADAPTIVE
from support.portable_runtimes import Run, assert_equal, everywhere, in_onnxruntime, in_reference, set_rank
from words.bad_inputs import BAD_INPUTS
from words.bad_nodes import BadInput

import onnx_maxpool
from onnx_maxpool import OperatorError, to_portable

pytestmark = pytest.mark.slow("compiles a converted model for each case in three runtimes")


@everywhere
@pytest.mark.parametrize(
    "row", [[-1, 0, 0, 1, 1], [2, 0, 0, 1, 1], [np.nan, 0, 0, 1, 1], [np.inf, 0, 0, 1, 1], [0, 0, 0, 0, np.nan]]
)
def test_a_batch_out_of_range_and_a_nan_fail(run: Run, row: list[float]) -> None:
    """M10, M11. The message has the name of the node, which says what is wrong and what is required."""
    portable = to_portable(one_node.roi_model(pooled_shape=(2, 2)))
    x = np.ones((2, 3, 4, 4), np.float32)
    good = [1, 0, 0, 1, 1]
    run(portable, {"X": x, "rois": np.array([good, good], np.float32)})
    with pytest.raises(Exception) as error:  # noqa: PT011 each has its own
        run(portable, {"X": x, "rois": np.array([good, row], np.float32)})
    wrong = "a coordinate that is NaN, expected a number" if np.isnan(row[4]) else "a batch number that no image has"
    assert run is in_reference or f"'MaxRoiPool (Y): rois has {wrong}" in str(error.value)


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


@pytest.mark.parametrize(
    ("text", "only", "words"),
    [
        (
            '<ir_version: 8, opset_import: ["" : 10]> g (float[n,c,h,w] X, float[r,5] R) => (float[r,c,a,b] Y) '
            "{ Y = MaxRoiPool <pooled_shape = [2, 2]> (X, R) }",
            None,
            "node 'Y' in graph: to_portable: opset of ai.onnx is 10, expected 11 or newer: "
            "onnx.version_converter.convert_version(model, 13) raises it",
        ),
        (
            ADAPTIVE.replace('"" : 18', '"" : 12').replace("float[n, c", "bfloat16[n, c"),
            None,
            "node 'Y' in graph: to_portable: opset of ai.onnx is 12, expected 13 or newer for bfloat16: "
            "onnx.version_converter.convert_version(model, 13) raises it",
        ),
        (
            '<ir_version: 8, opset_import: ["" : 18, "alien" : 1]> g (float[n] A) => (float[r,c,a,b] Y) '
            "{ X, R = alien.Op(A) Y_1 = MaxRoiPool <pooled_shape = [2, 2]> (X, R) Y = Cast <to = 1> (Y_1) }",
            None,
            "node 'Y_1' in graph: MaxRoiPool-1: the type of X is not known, "
            "expected one that ONNX infers or value_info declares",
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


OLD = """<ir_version: 7, opset_import: ["": 9, "directml": 1]>
g (float[1,2,8,8] X, float[1,1,3,5] rois) => (float[3,2,2,2] Y) {
    more = Unsqueeze <axes = [0]> (X)
    same = Squeeze <axes = [0]> (more)
    Y = directml.RoiPooling <pooled_size = [2, 2], spatial_scale = 1.0> (same, rois)
}"""


@pytest.mark.parametrize("control_flow", [True, False])
def test_what_the_refusal_of_an_old_opset_names_works(control_flow: bool) -> None:
    """For a model with other operators, too, of which opset 13 has other versions."""
    proto = parser.parse_model(OLD)
    with pytest.raises(OperatorError, match=r"onnx\.version_converter\.convert_version\(model, 13\) raises it"):
        to_portable(proto, control_flow=control_flow)
    portable = to_portable(onnx.version_converter.convert_version(proto, 13), control_flow=control_flow)
    x, rois = one_node.random_rois(np.random.default_rng(5), np.dtype(np.float32), (1, 2, 8, 8), 3, 1.0)
    feeds = {"X": x, "rois": rois[None, None]}
    assert_equal(in_onnxruntime(portable, feeds), onnx_maxpool.load(proto).run(None, feeds))


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


@pytest.mark.parametrize("field", ["algorithm", "initialization"])
def test_an_operator_that_trains(field: str) -> None:
    """It would stay, and the model would run in no other runtime."""
    model = one_node.roi_model(pooled_shape=(2, 2))
    plain = parser.parse_model('<ir_version: 8, opset_import: ["": 17]> g (float[n] X) => (float[n] Y) { Y = Neg (X) }')
    getattr(plain.training_info.add(), field).CopyFrom(model.graph)
    with pytest.raises(OperatorError, match="MaxRoiPool: node 'pool' stands in training_info, which is not converted"):
        to_portable(plain)
    assert to_portable(plain, only="RoiPooling") == plain


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
@pytest.mark.parametrize("call", [to_portable, onnx_maxpool.load])
def test_shapes_that_are_bad_and_known(call: Callable[..., object], bad: BadInput) -> None:
    with pytest.raises(OperatorError) as error:
        call(shaped_model(bad, with_sizes=True))
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
