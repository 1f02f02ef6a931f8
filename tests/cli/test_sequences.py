"""`run`, `compare` and `convert --check` on models whose outputs are sequences, and on those with texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from onnx_maxpool.cli.comparison import paired, tensor_difference
from onnx_maxpool.cli.main import main

SEQUENCE = """<ir_version: 8, opset_import: ["": 17]>
    g (float[1,2,6,6] X, float[3,5] rois) => (seq(float[n,2,2,2]) S, float[3,2,2,2] Y) {
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        sizes = Constant <value = int64[2] {1, 2}> ()
        S = SplitToSequence <axis = 0> (Y, sizes)
    }"""
"""Its tensors have several shapes."""

TEXTS = """<ir_version: 8, opset_import: ["": 17]>
    g (float[1,2,6,6] X, float[3,5] rois, string[2] labels) => (float[3,2,2,2] Y, string[2] names) {
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        names = Identity (labels)
    }"""


@pytest.fixture(params=[SEQUENCE, TEXTS])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    onnx.save_model(parser.parse_model(request.param), tmp_path / "model.onnx")
    return tmp_path / "model.onnx"


@pytest.fixture
def inputs(model: Path) -> list[str]:
    """What gives the model's texts; other inputs are random."""
    labels = model.with_name("labels.npy")
    np.save(labels, np.array(["a", "longer"]))
    has_texts = len(onnx.load(model).graph.input) == 3
    return ["--input", f"labels={labels}"] if has_texts else []


def called(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """What the command prints, if it succeeds."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert (ended.value.code or 0, err) == (0, ""), out
    return out


@pytest.mark.parametrize("command", ["run", "compare"])
def test_outputs_are_listed(command: str, model: Path, inputs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    out = called(capsys, command, model, *inputs)
    for name in ("names",) if inputs else ("S[0]", "S[1]"):
        assert any(line.split()[:1] == [name] for line in out.splitlines()), out


def test_outputs_are_saved(model: Path, inputs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    called(capsys, "run", model, *inputs, "--out", model.with_name("out.npz"))
    with np.load(model.with_name("out.npz")) as saved:
        if inputs:
            assert saved["names"].tolist() == ["a", "longer"]
        else:
            np.testing.assert_array_equal(np.concatenate([saved["S[0]"], saved["S[1]"]]), saved["Y"])


def test_outputs_take_the_place_of_earlier_ones(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A sequence has as many tensors as it has in the run."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N] X) => (seq(float[1]) S, float[N] Y) { S = SplitToSequence <axis = 0> (X)  Y = Identity (X) }""")
    onnx.save_model(model, tmp_path / "model.onnx")
    run = ("run", tmp_path / "model.onnx", "--out", tmp_path / "out")
    for count in (2, 4, 1, 2):
        called(capsys, *run, "--dim", f"N={count}")
        files = [onnx.load_tensor(tmp_path / "out" / f"output_{i}.pb") for i in range(count + 1)]
        assert [file.name for file in files] == [*(f"S[{i}]" for i in range(count)), "Y"]
        assert len(list((tmp_path / "out").iterdir())) == len(files)
    other = tmp_path / "out" / "output_3.pb"
    for content in (onnx.numpy_helper.from_array(np.zeros(1), "T[0]").SerializeToString(), b"no tensor"):
        other.write_bytes(content)
        with pytest.raises(SystemExit) as ended:
            main([*map(str, run), "--dim", "N=3"])
        said = f"{tmp_path}/out has output_3.pb, expected only outputs of this model: give another folder\n"
        assert (ended.value.code, capsys.readouterr().err) == (2, said)
        assert other.read_bytes() == content


def test_a_conversion_is_checked(model: Path, inputs: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    text = called(capsys, "convert", model, model.with_name("out.onnx"), "--check", *inputs)
    assert text.splitlines()[-1] == "equal in every cell"


def test_a_sequence_that_is_longer_differs() -> None:
    one, nothing = np.ones(1, np.float32), np.empty(0, np.float32)
    for wanted, found in (([one], [one, nothing]), ([one, nothing], [one])):
        pairs = paired(["S"], [wanted], [found])
        assert list(pairs) == ["S[0]", "S[1]"]
        assert tensor_difference(*pairs["S[0]"]) is None
        said = "tensor is one, expected none" if len(found) > len(wanted) else "tensor is none, expected one"
        assert str(tensor_difference(*pairs["S[1]"])) == said


def test_an_empty_sequence_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[2] X) => (seq(float[n]) S, float[2] Y) { S = SequenceEmpty <dtype = 1> () Y = Identity (X) }""")
    onnx.save_model(model, tmp_path / "model.onnx")
    assert "S is a sequence without a tensor" in called(capsys, "run", tmp_path / "model.onnx").splitlines()


@pytest.mark.parametrize("place", ["out.npz", "out"])
def test_a_map_goes_to_no_file(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "ai.onnx.ml": 3]>
        g (float[1,2] X) => (seq(map(int64, float)) Z) { Z = ai.onnx.ml.ZipMap <classlabels_int64s = [3, 4]> (X) }""")
    onnx.save_model(model, tmp_path / "model.onnx")
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "model.onnx"), "--out", str(tmp_path / place)])
    said = f"--out {tmp_path / place}: output 'Z' is seq(map(int64,tensor(float))), expected tensors\n"
    assert (ended.value.code, capsys.readouterr().err) == (2, said)
    assert not (tmp_path / place).exists()
