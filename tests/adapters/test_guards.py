"""What a converted model says of bad inputs that only a run shows: which operator, which input, what was required."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, parser
from support.portable_runtimes import in_onnxruntime, in_openvino
from words.bad_converted import BAD_CONVERTED, BOX, HEADER, NO_IMAGE, NO_NUMBER, Bad, X, rois

from onnx_maxpool import Predictor, RowError, to_portable
from onnx_maxpool.adapters.portable import arithmetic, library, roi, windows
from onnx_maxpool.adapters.portable.guards import GUARDS, name_guards, said_by_guard
from onnx_maxpool.cli.main import main

each = pytest.mark.parametrize("bad", BAD_CONVERTED, ids=[f"{i} {bad.guard}" for i, bad in enumerate(BAD_CONVERTED)])


def converted(bad: Bad) -> onnx.ModelProto:
    return to_portable(parser.parse_model(HEADER + bad.model))


def test_every_guard_has_a_sentence_and_is_asked() -> None:
    texts = [*arithmetic.FOR_ANY, *windows.FOR_ANY, *roi.TEXTS, *windows.window_texts(2)]
    guards = {name for text in texts for name in re.findall(r"(\w+) = portable\.Require\(", text)}
    assert guards == set(GUARDS) == {bad.guard for bad in BAD_CONVERTED}


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
