"""The command line, as its user meets it: output, files, exit codes and refusals."""

from __future__ import annotations

import json
import re
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from builders import MODELS
from onnx import numpy_helper
from onnxruntime_extensions import get_library_path

import onnx_maxpool
from onnx_maxpool.cli.main import main

pytestmark = pytest.mark.slow("converts and runs whole models")

DIMS = [argument for dim in ("N=2", "C=3", "H=20", "W=30", "R=6") for argument in ("--dim", dim)]


class Commands:
    """Runs `onnx-maxpool` in this process, on models written to a folder."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder = folder
        self.capsys = capsys

    def model(self, name: str) -> str:
        return str(MODELS[name].write(self.folder)[0])

    def __call__(self, *arguments: str | Path) -> tuple[int, str, str]:
        """Exit code, stdout and stderr."""
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = self.capsys.readouterr()
        code = stopped.value.code
        assert code is None or isinstance(code, int)
        return code or 0, out, err


@pytest.fixture
def command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Commands:
    monkeypatch.setenv("COLUMNS", "200")
    return Commands(tmp_path, capsys)


def refusal(result: tuple[int, str, str], code: int = 2) -> str:
    """The message of a command that failed as it should: on one line of stderr, with nothing else.

    Exit code 2 says that the command line is wrong, or a file that it names.
    """
    *found, err = result
    assert found == [code, ""]
    assert err.count("\n") == 1, err
    return err.strip()


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("max_roi_pool_")])
def test_run_prints_outputs_and_time(command: Commands, name: str) -> None:
    code, out, err = command("run", command.model(name), *DIMS, "--repeat", "3", "--threads", "1")
    assert (code, err) == (0, "")
    header, row, times = out.splitlines()
    assert header.split() == ["output", "type", "shape", "min", "max", "mean", "NaN"]
    assert row.split()[:3] == ["Y", name.split("_")[-1], "[6,3,7,7]"]
    assert "median of 3; first run" in times
    assert times.endswith("for a time to compare, --repeat 100")


def test_run_says_only_of_few_runs_that_they_are_no_time_to_compare(command: Commands, tmp_path: Path) -> None:
    _, out, _ = command("run", command.model("max_roi_pool_22_float"), *DIMS, "--repeat", "100")
    assert re.fullmatch(r"[0-9.]+ ms, median of 100; first run [0-9.]+ ms", out.splitlines()[-1])
    graph = "g (float[1] X) => (float[1] Y) { Y = Relu (X) }"
    onnx.save_model(onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 22]> {graph}'), tmp_path / "relu.onnx")
    _, out, _ = command("run", tmp_path / "relu.onnx")
    assert re.fullmatch(r"[0-9.]+ ms, median of 5; first run [0-9.]+ ms", out.splitlines()[-1])


def test_run_summarizes_values(command: Commands, tmp_path: Path) -> None:
    x = np.array([[[[1.0, np.nan], [-3.0, 8.0]]]], np.float32)
    rois = np.array([[0, 0, 0, 1, 1]], np.float32)
    np.savez(tmp_path / "inputs.npz", X=x, rois=rois)
    graph = "g (float[1,1,2,2] X, float[R,5] rois) => (float Y) { Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois) }"
    onnx.save_model(
        onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 22]> {graph}'), tmp_path / "small.onnx"
    )
    _, out, _ = command("run", tmp_path / "small.onnx", "--input", tmp_path / "inputs.npz")
    assert out.splitlines()[1].split() == ["Y", "float", "[1,1,2,2]", "-3", "8", "2", "1"]


OTHER_LIBRARY = """<ir_version: 10, opset_import: ["": 22, "ai.onnx.contrib": 1]>
    g (float[1,1,8,8] x, float[R,5] rois) => (float[R,1,2,2] y, float[1,1,8,8] below) {
        [split] below, above = ai.onnx.contrib.NegPos (x)
        y = MaxRoiPool <pooled_shape = [2, 2]> (x, rois)
    }"""
"""NegPos is of onnxruntime-extensions."""


def test_run_with_another_library(command: Commands, tmp_path: Path) -> None:
    onnx.save_model(onnx.parser.parse_model(OTHER_LIBRARY), tmp_path / "two.onnx")
    arguments = ["run", tmp_path / "two.onnx", "--dim", "R=3"]
    code, out, err = command(*arguments, "--library", get_library_path())
    assert (code, err) == (0, "")
    assert [line.split()[0] for line in out.splitlines()[1:3]] == ["y", "below"]
    assert "ai.onnx.contrib:NegPos(-1) is not a registered function/op" in refusal(command(*arguments), 1)


def test_a_file_that_is_no_library(command: Commands, tmp_path: Path) -> None:
    model = command.model("max_roi_pool_22_float")
    said = refusal(command("run", model, *DIMS, "--library", model))
    assert said.startswith(f"--library {model}: expected a library of custom operators: [ONNXRuntimeError] ")


def test_compare_with_another_library(command: Commands, tmp_path: Path) -> None:
    """Our nodes are compared with the reference, and the outputs with those of another model."""
    model, portable = tmp_path / "two.onnx", tmp_path / "portable.onnx"
    onnx.save_model(onnx.parser.parse_model(OTHER_LIBRARY), model)
    code, out, err = command("compare", model, "--dim", "R=3", "--library", get_library_path())
    assert (code, out.splitlines()[1].split()) == (1, ["MaxRoiPool-22", "'y'", "in", "graph", "1", "equal"])
    assert err == (
        "onnx's reference evaluator cannot run the model: node 'split' is NegPos of domain ai.onnx.contrib, expected "
        "an operator that onnx knows. The model's outputs are not compared: give another model to compare with, for "
        "example what onnx-maxpool convert writes\n"
    )
    assert command("convert", model, portable)[0] == 0
    code, out, err = command("compare", model, portable, "--dim", "R=3", "--library", get_library_path())
    assert (code, err) == (0, "")
    assert out.endswith("Our nodes: 1 equal. Outputs are equal.\n")


def test_run_saves_npz(command: Commands, tmp_path: Path) -> None:
    model = MODELS["max_roi_pool_22_float16"]
    np.savez(tmp_path / "inputs.npz", **model.inputs())
    arguments = ["--input", tmp_path / "inputs.npz", "--out", tmp_path / "out.npz"]
    code, _, _ = command("run", command.model("max_roi_pool_22_float16"), *arguments)
    (expected,) = onnx_maxpool.run(onnx_maxpool.load(model.builder()), model.inputs())
    saved = np.load(tmp_path / "out.npz")
    assert (code, saved.files, saved["Y"].dtype) == (0, ["Y"], np.float16)
    np.testing.assert_array_equal(saved["Y"], expected)


def test_run_saves_bfloat16_as_protobuf(command: Commands, tmp_path: Path) -> None:
    model = command.model("max_roi_pool_22_bfloat16")
    assert command("run", model, *DIMS, "--out", tmp_path / "data")[0] == 0
    tensor = onnx.load_tensor(tmp_path / "data" / "output_0.pb")
    array = numpy_helper.to_array(tensor)
    assert (tensor.name, array.dtype, array.shape) == ("Y", ml_dtypes.bfloat16, (6, 3, 7, 7))
    code, _, err = command("run", model, *DIMS, "--out", tmp_path / "data.npz")
    assert (code, "output 'Y' is bfloat16" in err) == (2, True)
    assert not (tmp_path / "data.npz").exists()


def test_results_go_to_new_folders(command: Commands, tmp_path: Path) -> None:
    """Which are made before the work, not missed after it."""
    out, html = tmp_path / "new" / "deep" / "out.npz", tmp_path / "other" / "report.html"
    assert command("run", command.model("max_roi_pool_22_float"), *DIMS, "--out", out)[0] == 0
    assert command("conformance", "--case", "max_roi_pool_22_scale$", "--html", html)[0] == 0
    assert np.load(out).files == ["Y"]
    assert html.read_text().startswith("<!DOCTYPE html>")


def test_places_that_no_result_can_have_are_refused_before_the_work(
    command: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def work(*_: object, **__: object) -> None:
        raise AssertionError("it was begun")

    (tmp_path / "file").touch()
    for place in (
        "onnx_maxpool.cli.conformance.run_backend",
        "onnx_maxpool.cli.bench.time_all",
        "onnx_maxpool.cli.bench_grid.race",
    ):
        monkeypatch.setattr(place, work)
    monkeypatch.setattr("onnxruntime.InferenceSession.run_with_ort_values", work)
    monkeypatch.setattr("onnx_maxpool.cli.commands.to_portable", work)
    monkeypatch.setattr("onnx_maxpool.demo.search.demo", work)
    monkeypatch.setattr("onnx_maxpool.cli.sample.replacing", work)
    for arguments in (
        ("conformance", "--junit", tmp_path / "file" / "x.xml"),
        ("bench", "--quick", "--markdown", tmp_path / "file" / "x.md"),
        ("bench", "--quick", "--json", tmp_path / "file" / "x.json"),
        ("bench", "--quick", "--plot", tmp_path / "file"),
        ("run", command.model("max_roi_pool_22_float"), *DIMS, "--out", tmp_path / "file" / "out.npz"),
        ("run", command.model("max_roi_pool_22_float"), *DIMS, "--out", tmp_path / "file"),
        ("run", command.model("max_roi_pool_22_float"), *DIMS, "--out", tmp_path / "file" / "folder"),
        ("convert", command.model("max_roi_pool_22_float"), tmp_path / "file" / "out.onnx"),
        ("sample", "inputs.npz", "--folder", tmp_path / "file"),
        ("demo", "--out", tmp_path / "file" / "demo.png"),
        ("bench", "--grid", "--plot", tmp_path / "file"),
    ):
        assert str(tmp_path / "file") in refusal(command(*arguments))


def test_run_cuts_bins_as_asked(command: Commands, tmp_path: Path) -> None:
    model = MODELS["max_roi_pool_22_float"].builder()
    del model.graph.node[0].attribute[:]
    model.graph.node[0].attribute.append(onnx.helper.make_attribute("pooled_shape", [7, 7]))
    onnx.save_model(model, tmp_path / "unscaled.onnx")
    x = np.arange(64 * 64, dtype=np.float32).reshape(1, 1, 64, 64)
    np.savez(tmp_path / "inputs.npz", X=x, rois=np.array([[0, 0, 0, 56, 56]], np.float32))
    saved = {}
    for edges in ("onnx", "exact", "double"):
        files = ["--input", tmp_path / "inputs.npz", "--out", tmp_path / f"{edges}.npz"]
        assert command("run", tmp_path / "unscaled.onnx", *files, "--bin-edges", edges)[0] == 0
        saved[edges] = np.load(tmp_path / f"{edges}.npz")["Y"]
    # (57, 7) is a pair that float32 cuts otherwise than exact integers and double (M7).
    assert not np.array_equal(saved["exact"], saved["onnx"])
    assert np.array_equal(saved["exact"], saved["double"])


@pytest.mark.parametrize("name", ["max_roi_pool_1_double", "max_roi_pool_22_bfloat16", "roi_in_if"])
def test_compare_says_equal(command: Commands, name: str) -> None:
    code, out, err = command("compare", command.model(name), *DIMS)
    assert (code, err) == (0, "")
    assert out.splitlines()[1].split()[-1] == "equal"
    assert re.search(r"^First run: reference [0-9.]+ ms; ONNX Runtime [0-9.]+ ms$", out, re.MULTILINE)


def test_compare_fails_on_a_difference(command: Commands, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnx_maxpool.operators.roi.window_max", lambda x, windows: x.max() + 1)
    code, out, _ = command("compare", command.model("max_roi_pool_22_float"), *DIMS)
    assert code == 1
    assert "882 of 882 cells differ, first at [0,0,0,0]: " in out


def test_inspect_prints_the_facts(command: Commands) -> None:
    code, out, _ = command("inspect", command.model("max_roi_pool_22_double"))
    assert code == 0
    assert "MaxRoiPool-22 in graph (ai.onnx opset 22)" in out
    assert "double[N,C,H,W] 'X'" in out
    assert "Could not find an implementation for MaxRoiPool(22)" in out
    assert "1 operator, accepted by the model check." in out


def test_inspect_json(command: Commands) -> None:
    code, out, _ = command("inspect", command.model("roi_in_loop"), "--json")
    facts = json.loads(out)
    (node,) = facts["nodes"]
    assert (code, facts["refusal"]) == (0, None)
    assert (node["operator"], node["since_version"], node["place"]) == ("MaxRoiPool", 22, "graph, 'Loop' body")
    assert node["inputs"][1]["shape"] == ["B", 5]


def test_inspect_fails_for_a_model_that_the_check_rejects(command: Commands, tmp_path: Path) -> None:
    model = MODELS["max_roi_pool_22_float"].builder()
    del model.graph.node[0].attribute[:]
    onnx.save_model(model, tmp_path / "rejected.onnx")
    with pytest.raises(onnx_maxpool.OperatorError) as refused:
        onnx_maxpool.load(model)
    said = str(refused.value)
    code, out, err = command("inspect", tmp_path / "rejected.onnx")
    assert (code, out.splitlines()[-1], err) == (1, f"Rejected by the model check: {said}", "")
    code, out, err = command("inspect", tmp_path / "rejected.onnx", "--json")
    assert (code, json.loads(out)["refusal"], err) == (1, said, "")


def test_inspect_writes_json_that_any_program_reads(command: Commands, tmp_path: Path) -> None:
    """NaN and infinity are no numbers of JSON."""

    def unknown(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    for scale in ("nan", "inf", "-inf"):
        model = MODELS["max_roi_pool_22_float"].builder()
        del model.graph.node[0].attribute[:]
        model.graph.node[0].attribute.append(onnx.helper.make_attribute("pooled_shape", [7, 7]))
        model.graph.node[0].attribute.append(onnx.helper.make_attribute("spatial_scale", float(scale)))
        onnx.save_model(model, tmp_path / "scaled.onnx")
        code, out, _ = command("inspect", tmp_path / "scaled.onnx", "--json")
        (node,) = json.loads(out, parse_constant=unknown)["nodes"]
        assert (code, node["attributes"]["spatial_scale"]) == (1, scale)  # the model check rejects it


def test_inspect_of_a_model_without_our_operators(command: Commands, tmp_path: Path) -> None:
    model = onnx.parser.parse_model(
        '<ir_version: 8, opset_import: ["": 22]> g (float[2] X) => (float[2] Y) { Y = Relu (X) }'
    )
    onnx.save_model(model, tmp_path / "relu.onnx")
    assert command("inspect", tmp_path / "relu.onnx") == (0, "The model has none of this package's operators.\n", "")


def test_refused_arguments(command: Commands) -> None:
    assert "No such command" in refusal(command("walk"))
    assert "Missing argument" in refusal(command("run"))
    assert "No such option" in refusal(command("run", "x.onnx", "--fast"))
    assert "--bin-edges" in refusal(command("run", "x.onnx", "--bin-edges", "rough"))
    assert "--threads" in refusal(command("run", "x.onnx", "--threads", str(10**11)))
    assert "--dim W=SIZE" in refusal(command("run", command.model("max_roi_pool_22_float"), *DIMS[:6]))


def test_an_operators_refusal_is_one_line(command: Commands, tmp_path: Path) -> None:
    np.save(tmp_path / "rois.npy", np.array([[7, 0, 0, 1, 1]], np.float32))
    given = ["--input", f"rois={tmp_path}/rois.npy"]
    model = command.model("max_roi_pool_22_float")
    message = refusal(command("compare", model, *DIMS[:8], *given), code=1)
    assert "rois row 0 has batch 7, expected a batch number from 0 to 1" in message


@pytest.mark.parametrize("name", ["run", "compare"])
def test_a_run_that_fails_on_random_inputs_says_how_to_give_others(
    command: Commands, tmp_path: Path, name: str
) -> None:
    """Where the model computes ROIs in a way that the command does not follow."""
    text = """<ir_version: 8, opset_import: ["": 22]> g (float[1,1,8,8] X, float[9,5] a, float[9,5] b) => (float Y) {
        far = Mul (a, b)
        rois = Exp (far)
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    }"""
    onnx.save_model(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    np.save(tmp_path / "b.npy", np.full((9, 5), 9, np.float32))
    given = ("--input", f"b={tmp_path}/b.npy")
    message = refusal(command(name, tmp_path / "model.onnx", *given), code=1)
    assert "expected a batch number from 0 to 0" in message
    assert message.endswith("; these inputs are random, give others with --input X=FILE --input a=FILE")


@pytest.mark.parametrize("name", ["roi_in_function", "fast_rcnn_head"])
def test_convert_writes_a_model_for_any_runtime(command: Commands, tmp_path: Path, name: str) -> None:
    out = tmp_path / "converted" / "portable.onnx"
    out.parent.mkdir()
    for _ in range(2):  # over what is there, too
        code, text, err = command("convert", command.model(name), out, "--to", "portable", "--overwrite")
        assert (code, err) == (0, "")
        assert text.startswith(f"wrote {out}: ")
    inputs = MODELS[name].inputs()
    stock = ort.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    ours = onnx_maxpool.load(tmp_path / f"{name}.onnx")
    for actual, expected in zip(stock.run(None, inputs), ours.run(None, inputs), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_convert_without_control_flow(command: Commands, tmp_path: Path) -> None:
    out = tmp_path / "static.onnx"
    sizes = [part for dim in ("N=1", "H=38", "W=50", "R=64") for part in ("--dim", dim)]
    code, _, err = command("convert", command.model("fast_rcnn_head"), out, "--no-control-flow", *sizes)
    assert (code, err) == (0, "")
    kinds = {node.op_type for node in onnx.load(out, load_external_data=False).graph.node}
    assert not {"Loop", "If"} & kinds
    inputs = MODELS["fast_rcnn_head"].inputs()
    stock = ort.InferenceSession(str(out), providers=["CPUExecutionProvider"])
    ours = onnx_maxpool.load(tmp_path / "fast_rcnn_head.onnx")
    for actual, expected in zip(stock.run(None, inputs), ours.run(None, inputs), strict=True):
        np.testing.assert_array_equal(actual, expected)


def test_convert_replaces_the_indices_of_max_pool(command: Commands, tmp_path: Path) -> None:
    text = """
    <ir_version: 8, opset_import: ["": 17]>
    g (float[1, 1, N, 4] X) => (float[1, 1, a, b] Y, int64[1, 1, a, b] I) { Y, I = MaxPool <kernel_shape = [2, 2]> (X) }
    """
    model, out = tmp_path / "pool.onnx", tmp_path / "out.onnx"
    onnx.save_model(onnx.parser.parse_model(text), model)
    assert command("convert", model, out, "--max-pool-indices", "--dim", "N=5")[0] == 0
    assert "MaxPool" not in {node.op_type for node in onnx.load(out).graph.node}
    assert refusal(
        command("convert", model, out, "--max-pool-indices", "--overwrite"),
    ) == (
        "node 'Y' in graph: MaxPool: X has shape [1,1,N,4], expected a known shape without control flow: "
        "give --dim N=SIZE"
    )


def with_scattered_data(folder: Path) -> Path:
    """A model with 40 KB of data in each of an initializer, one of a subgraph, and a Constant, all in another file."""
    model = onnx.parser.parse_model("""
    <ir_version: 10, opset_import: ["": 18]>
    g (float[1,1,100,100] X, float[R,5] rois, bool flag) => (float[R,1,2,2] Y) {
        constant = Constant <value: tensor = float[1] {0}> ()
        first = Add (X, weights)
        second = Add (first, constant)
        third = If (flag) <
            then_branch = yes () => (float[1,1,100,100] sum) { sum = Add (second, inner) },
            else_branch = no () => (float[1,1,100,100] same) { same = Identity (second) }
        >
        Y = MaxRoiPool <pooled_shape = [2, 2]> (third, rois)
    }""")
    values = np.random.default_rng(6).standard_normal((3, 1, 1, 100, 100), np.float32)
    weights, inner, constant = (numpy_helper.from_array(array) for array in values)
    weights.name, inner.name = "weights", "inner"
    model.graph.initializer.append(weights)
    branches = {attribute.name: attribute.g for node in model.graph.node for attribute in node.attribute}
    branches["then_branch"].initializer.append(inner)
    model.graph.node[0].attribute[0].t.CopyFrom(constant)
    path = folder / "scattered.onnx"
    onnx.save_model(model, path, save_as_external_data=True, location="scattered.data", convert_attribute=True)
    assert path.stat().st_size < 10_000
    return path


def test_convert_leaves_all_external_data_outside(command: Commands, tmp_path: Path) -> None:
    model, out = with_scattered_data(tmp_path), tmp_path / "portable.onnx"
    inputs = {
        "X": np.zeros((1, 1, 100, 100), np.float32),
        "rois": np.array([[0, 3, 4, 90, 80]], np.float32),
        "flag": np.array(True),
    }
    expected = onnx_maxpool.load(model).run(None, inputs)
    for _ in range(2):
        assert command("convert", model, out, "--overwrite")[0] == 0
        assert out.stat().st_size < 80_000 < 120_000 <= (tmp_path / "portable.onnx.data").stat().st_size < 130_000
        stock = ort.InferenceSession(str(out), providers=["CPUExecutionProvider"])
        np.testing.assert_array_equal(stock.run(None, inputs)[0], expected[0])
    assert {path.name for path in tmp_path.iterdir()} == {
        *("scattered.onnx", "scattered.data", "portable.onnx", "portable.onnx.data")
    }


def test_a_convert_that_fails_leaves_what_is_there(
    command: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, out = with_scattered_data(tmp_path), tmp_path / "portable.onnx"
    assert command("convert", model, out)[0] == 0
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("onnx.external_data_helper.save_external_data", full)
    assert refusal(command("convert", model, out, "--overwrite")) == "no space left on device"
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_convert_to_no_file(command: Commands, tmp_path: Path) -> None:
    model = command.model("max_roi_pool_22_float")
    assert refusal(command("convert", model, tmp_path)) == f"{tmp_path} is a folder, expected a file"
    assert refusal(command("convert", model, ".")) == ". is a folder, expected a file"


def test_convert_only_some_operators(command: Commands, tmp_path: Path) -> None:
    model = command.model("roi_in_if")
    _, text, _ = command("convert", model, tmp_path / "same.onnx", "--only", "AdaptiveMaxPool")
    assert text == f"wrote {tmp_path / 'same.onnx'}: 0 operators replaced\n"
    refused = refusal(command("convert", model, tmp_path / "none.onnx", "--only", "Max"))
    assert refused.startswith("--only Max: expected one of MaxRoiPool, ")
