"""What a converted model says of bad inputs that only a run shows: which operator, which input, what was required."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, parser
from support.portable_runtimes import in_onnxruntime, in_openvino

from onnx_maxpool import Predictor, RowError, to_portable
from onnx_maxpool.adapters.portable import arithmetic, library, roi, windows
from onnx_maxpool.adapters.portable.guards import GUARDS, name_guards, said_by_guard
from onnx_maxpool.cli.main import main
from onnx_maxpool.types import Array

HEADER = '<ir_version: 8, opset_import: ["": 18, "directml": 5, "org.openvinotoolkit": 8]>'
MAX_ROI_POOL = "g (float[] X, float[] rois) => (float[] Y) { Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois) }"
ROI_POOLING = "g (float[] X, float[] rois) => (float[] Y) { Y = directml.RoiPooling <pooled_size = [2, 2]> (X, rois) }"
MAX_POOLING = "g (float[1,1,h,w] X) => (float[] Y) { Y = directml.MaxPooling1 <window_size = [3, 3]> (X) }"
ADAPTIVE = """g (float[1,1,h,w] X, int64[2] output_size) => (float[1,1,a,b] Y) {
    Y, = org.openvinotoolkit.AdaptiveMaxPool (X, output_size)
}"""
X = np.zeros((2, 1, 4, 4), np.float32)
BOX = np.array([[0, 0, 0, 1, 1]], np.float32)


class Bad(NamedTuple):
    guard: str
    model: str
    inputs: Mapping[str, Array]
    said: str
    openvino_reads_it: bool = True
    """Or it rejects the rank of X before the run."""


def rois(*row: float) -> dict[str, Array]:
    return {"X": X, "rois": np.array([BOX[0], row], np.float32)}


RANKS = "MaxRoiPool (Y): X or rois has another shape, expected X [N,C,H,W] and rois [R,5]"
NO_IMAGE = "MaxRoiPool (Y): rois has a batch number that no image has, expected one of an image in X, from 0 on"
NO_NUMBER = "MaxRoiPool (Y): rois has a coordinate that is NaN, expected a number"
LEADS = "RoiPooling (Y): rois has another shape, expected [1,1,R,5]"
SMALL = "MaxPooling1 (Y): X is too small for a window along dimension {}, expected room for one, padding included"
SIZES = (
    "AdaptiveMaxPool (Y): output_size has a size out of range or too many or too few sizes, "
    "expected one from 1 to 2147483647 for each spatial dimension of X"
)
NO_CELLS = "AdaptiveMaxPool (Y): X has a spatial dimension of size 0, expected at least 1"

BAD = [
    Bad("x_has_4_dimensions_and_rois_are_r_by_5", MAX_ROI_POOL, {"X": X, "rois": BOX[:, :4]}, RANKS),
    Bad("x_has_4_dimensions_and_rois_are_r_by_5", MAX_ROI_POOL, {"X": X[..., None], "rois": BOX}, RANKS, False),
    Bad("every_batch_is_in_range", MAX_ROI_POOL, rois(2, 0, 0, 1, 1), NO_IMAGE),
    Bad("every_batch_is_in_range", MAX_ROI_POOL, rois(-1, 0, 0, 1, 1), NO_IMAGE),
    Bad("no_coordinate_is_nan", MAX_ROI_POOL, rois(1, 0, np.nan, 1, 1), NO_NUMBER),
    Bad(
        "rois_begin_with_two_dimensions_of_1", ROI_POOLING, {"X": X, "rois": np.zeros((1, 2, 1, 5), np.float32)}, LEADS
    ),
    Bad("every_axis_has_a_window", MAX_POOLING, {"X": X[:1, :, :2]}, SMALL.format(2)),
    Bad("every_axis_has_a_window", MAX_POOLING, {"X": X[:1, :, :, :2]}, SMALL.format(3)),
    Bad("every_size_is_in_range", ADAPTIVE, {"X": X[:1], "output_size": np.array([2, 0])}, SIZES),
    Bad("every_size_is_in_range", ADAPTIVE, {"X": X[:1], "output_size": np.array([2, 2**31])}, SIZES),
    Bad("x_has_cells", ADAPTIVE, {"X": X[:1, :, :0], "output_size": np.array([2, 2])}, NO_CELLS),
]
each = pytest.mark.parametrize("bad", BAD, ids=[f"{i} {bad.guard}" for i, bad in enumerate(BAD)])


def converted(bad: Bad) -> onnx.ModelProto:
    return to_portable(parser.parse_model(HEADER + bad.model))


def test_every_guard_has_a_sentence_and_is_asked() -> None:
    texts = [*arithmetic.FOR_ANY, *windows.FOR_ANY, *roi.TEXTS, *windows.window_texts(2)]
    guards = {name for text in texts for name in re.findall(r"(\w+) = portable\.Require\(", text)}
    assert guards == set(GUARDS) == {bad.guard for bad in BAD}


@each
def test_the_runtimes_message_has_the_sentence(bad: Bad) -> None:
    model = converted(bad)
    with pytest.raises(Exception, match="Concat") as error:
        in_onnxruntime(model, dict(bad.inputs))
    assert said_by_guard(str(error.value)) == bad.said
    with pytest.raises(Exception, match=re.escape(bad.said) if bad.openvino_reads_it else "Transpose"):
        in_openvino(model, dict(bad.inputs))


@each
def test_the_command_says_only_the_sentence(bad: Bad, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save_model(converted(bad), tmp_path / "model.onnx")
    np.savez(tmp_path / "inputs.npz", **bad.inputs)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "model.onnx"), "--input", str(tmp_path / "inputs.npz")])
    assert (ended.value.code, *capsys.readouterr()) == (1, "", f"{bad.said}\n")


def test_a_predictor_says_only_the_sentence() -> None:
    text = """g (float[N,1,H,W] X, float[R,5] rois) => (float[R,1,2,2] Y) {
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    }"""
    predictor = Predictor(to_portable(parser.parse_model(HEADER + text)), rois="rois")
    boxes = [BOX[:, 1:], np.array([[0, 0, np.nan, 1]], np.float32)]
    with pytest.raises(RowError) as error:
        predictor({"X": list(X), "rois": boxes})
    assert str(error.value) == f"row 1: {NO_NUMBER}"


def test_in_a_function_it_is_the_same() -> None:
    """As the translation of a torch model has it."""
    call = helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], library.DOMAIN, pooled_shape=[2, 2])
    function = library.whole_function(call, [], "pool", "float", 18, "onnx")
    name_guards(function.node, "MaxRoiPool", "pool")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("X", "rois", "Y")]
    node = helper.make_node("pool", ["X", "rois"], ["Y"], domain=library.PUBLIC_DOMAIN)
    graph = helper.make_graph([node], "g", values[:2], values[2:])
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(library.PUBLIC_DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    with pytest.raises(Exception, match="Concat") as error:
        session.run(None, rois(2, 0, 0, 1, 1))
    assert said_by_guard(str(error.value)) == NO_IMAGE.replace("(Y)", "(pool)")


def test_other_messages_are_not_a_guards() -> None:
    assert said_by_guard("while running Concat node. Name:'joined' Status Message: MaxRoiPool (Y): no") is None
