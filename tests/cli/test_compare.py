"""`compare` and `run --save-inputs`, on networks: what is said of our nodes, what of the rest, and the exit codes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from builders import MODELS
from onnx import helper, numpy_helper
from onnx.reference.ops.op_relu import Relu

import onnx_maxpool
from onnx_maxpool import reference_evaluator, to_portable
from onnx_maxpool.adapters.python.rewriting import register_python_ops
from onnx_maxpool.cli.comparison import compare, compare_nodes, deviation
from onnx_maxpool.cli.inputs import model_inputs
from onnx_maxpool.cli.main import main
from onnx_maxpool.graph.reading import read_model
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.roi import roi_max
from onnx_maxpool.samples.fast_rcnn import HeadSize, fast_rcnn_head, write_weights
from onnx_maxpool.types import Array

pytestmark = pytest.mark.slow("runs whole models in two runtimes")

Command = Callable[..., tuple[int, str]]
SIZES = ["--dim", "N=2", "--dim", "H=40", "--dim", "W=56", "--dim", "R=9"]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `onnx-maxpool` in this process: exit code and stdout. Whatever it writes to stderr is an error."""
    monkeypatch.setenv("COLUMNS", "250")

    def called(*arguments: str | Path) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert err == ""
        return int(stopped.value.code or 0), out

    return called


def network(seed: int = 0) -> onnx.ModelProto:
    """Two Conv and Relu, MaxRoiPool on an eighth of the image's cells, and two Gemm, of random weights."""
    random = np.random.default_rng(seed)
    shapes = {"w1": (16, 3, 3, 3), "w2": (32, 16, 3, 3), "w3": (32 * 49, 64), "w4": (64, 10)}
    weights = {
        name: (random.standard_normal(shape) / np.sqrt(np.prod(shape[1:] if len(shape) == 4 else shape[:1]))).astype(
            "f4"
        )
        for name, shape in shapes.items()
    }
    nodes = [
        helper.make_node("Conv", ["image", "w1"], ["c1"], strides=[2, 2], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c2"], ["features"]),
        helper.make_node(
            "MaxRoiPool", ["features", "rois"], ["pooled"], name="pool", pooled_shape=[7, 7], spatial_scale=0.5
        ),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w3"], ["hidden"]),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "w4"], ["scores"]),
    ]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "network",
        [value("image", onnx.TensorProto.FLOAT, ["N", 3, "H", "W"]), value("rois", onnx.TensorProto.FLOAT, ["R", 5])],
        [value("scores", onnx.TensorProto.FLOAT, ["R", 10])],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save_model(network(), tmp_path / "network.onnx")
    return tmp_path / "network.onnx"


def row(out: str, start: str) -> list[str]:
    """The words of the one line that starts so."""
    (line,) = (line for line in out.splitlines() if line.startswith(start))
    return line.split()


def test_a_network_passes_though_its_last_digits_differ(command: Command, path: Path) -> None:
    model = read_model(path)
    inputs = model_inputs(model, dims={"N": 2, "H": 40, "W": 56, "R": 9})
    exact = compare(onnx_maxpool.load(path), reference_evaluator(path), inputs)
    assert not exact.equal  # or there would be nothing to tolerate
    code, out = command("compare", path, *SIZES)
    assert code == 0
    assert row(out, "MaxRoiPool-22") == ["MaxRoiPool-22", "'pool'", "in", "graph", "1", "equal"]
    *facts, absolute, relative, within, tolerance = row(out, "scores")
    assert (facts, within, tolerance) == (["scores", "float", "[9,10]"], "within", "tolerance")
    wanted, got = exact.expected["scores"], exact.actual["scores"]
    assert float(absolute) == pytest.approx(np.abs(wanted.astype("f8") - got).max(), rel=0.05)
    assert float(relative) == pytest.approx(np.abs(wanted.astype("f8") - got).max() / np.abs(wanted).max(), rel=0.05)
    assert f"Our nodes: 1 equal. Outputs differ by at most {relative} of their largest value." in out


def test_a_tolerance_is_of_an_outputs_largest_value(command: Command, path: Path) -> None:
    code, out = command("compare", path, *SIZES, "--tolerance", "0")
    assert code == 1
    assert "Our nodes: 1 equal. Outputs beyond the tolerance: scores." in out
    assert "cells differ, first at [" in " ".join(row(out, "scores"))
    relative = float(row(command("compare", path, *SIZES)[1], "scores")[4])
    assert command("compare", path, *SIZES, "--tolerance", str(relative * 1.1))[0] == 0
    assert command("compare", path, *SIZES, "--tolerance", str(relative / 1.1))[0] == 1


def test_a_wrong_node_is_named_though_the_outputs_pass(
    command: Command, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reference is off by a last digit in one bin: the outputs do not show it, and no tolerance hides it."""

    def off(*arguments: Any, **settings: Any) -> Array:
        y = roi_max(*arguments, **settings)
        y[3, 2, 1, 0] = np.nextafter(y[3, 2, 1, 0], np.float32(np.inf))
        return y

    monkeypatch.setattr("onnx_maxpool.operators.max_roi_pool.roi_max", off)
    code, out = command("compare", path, *SIZES, "--tolerance", "0.5")
    assert code == 1
    said = " ".join(row(out, "MaxRoiPool-22"))
    assert said.startswith("MaxRoiPool-22 'pool' in graph 1 run 1: Y: 1 of 14112 cells differ, first at [3,2,1,0]: ")
    assert "Our nodes: 1 different. Outputs differ by at most" in out


def test_a_node_that_really_computes_something_else_is_found(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The native node cuts its bins in float32, and the reference exactly: nothing of the comparison is replaced."""
    inputs = model_inputs(read_model(path), dims={"N": 1, "H": 200, "W": 200, "R": 99})
    options = ort.SessionOptions()
    (node,) = compare_nodes(path, inputs, options)
    assert (node.runs, node.difference, node.not_compared) == (1, None, None)

    def cut_otherwise(options: ort.SessionOptions, **_: object) -> None:
        register_python_ops(options, bin_edges="exact")

    monkeypatch.setattr("onnx_maxpool.adapters.python.observing.register_python_ops", cut_otherwise)
    monkeypatch.setattr("onnx_maxpool.adapters.onnxruntime.register", lambda *_, **__: None)
    (node,) = compare_nodes(path, inputs)
    assert node.difference is not None
    assert node.difference.startswith("run 1: Y: ")


def test_the_rest_of_the_network_is_not_blamed_on_our_node(
    command: Command, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The node is compared on what it really got: Relu is wrong before it, and the node is right."""
    monkeypatch.setattr(Relu, "_run", lambda self, x: (np.abs(x),))
    code, out = command("compare", path, *SIZES)
    assert code == 1
    assert row(out, "MaxRoiPool-22")[-1] == "equal"
    assert "Our nodes: 1 equal. Outputs beyond the tolerance: scores." in out


@pytest.mark.parametrize("turned", [False, True])
def test_the_converted_model_and_the_original(command: Command, path: Path, tmp_path: Path, turned: bool) -> None:
    """ROIs are drawn for the one that has our operator, in either order: else a batch number would be out of range."""
    converted = tmp_path / "portable.onnx"
    onnx.save_model(to_portable(path), converted)
    models = [converted, path] if turned else [path, converted]
    code, out = command("compare", *models, *SIZES)
    assert code == 0
    assert row(out, f"operator of {path}")[-3:] == ["node", "runs", "verdict"]
    assert row(out, "MaxRoiPool-22")[-1] == "equal"
    assert f"{converted} has none of this package's operators." in out
    assert row(out, "scores")[:3] == ["scores", "float", "[9,10]"]
    assert all(f"{model} " in out.splitlines()[-2] for model in models)  # the times of both


def test_two_models_that_differ(command: Command, path: Path, tmp_path: Path) -> None:
    onnx.save_model(network(seed=1), tmp_path / "other.onnx")
    code, out = command("compare", path, tmp_path / "other.onnx", *SIZES)
    assert code == 1
    assert "Our nodes: 2 equal. Outputs beyond the tolerance: scores." in out


def test_two_models_with_rois_get_what_both_accept() -> None:
    coarse, fine = (
        onnx.parser.parse_model(
            f"""<ir_version: 8, opset_import: ["": 22]> g (float[N,1,20,20] X, float[50,5] rois) => (float Y) {{
                Y = MaxRoiPool <pooled_shape = [1, 1], spatial_scale = {scale}> (X, rois)
            }}"""
        )
        for scale in (0.25, 1.0)
    )
    for first, second in ((coarse, fine), (fine, coarse)):
        rois = model_inputs(first, dims={"N": 2}, other=second)["rois"]
        assert 15 < rois[:, 1:].max() <= 19
    assert model_inputs(coarse, dims={"N": 2})["rois"].max() > 60


SAMPLES = {
    "roi_in_loop": {"'pooled' in graph, 'Loop' body": "4 equal"},
    "roi_in_if": {
        "'pooled_mirrored' in graph, 'If' then_branch": "1 equal",
        "'pooled' in graph, 'If' else_branch": "0 did not run on these inputs",
    },
    "roi_in_function": {"'pooled' in function onnx_maxpool.example::PoolBoxes": "2 equal"},
    "region_search": {"'pooled' in graph": "1 equal"},
    "spatial_pyramid": {f"'{level}' in graph": "1 equal" for level in ("whole", "quarters", "sixteenths", "finest")},
}
"""What is said of each node: how often it ran, and the verdict."""


@pytest.mark.parametrize("name", SAMPLES)
def test_nodes_of_subgraphs_and_functions(command: Command, tmp_path: Path, name: str) -> None:
    path, *_ = MODELS[name].write(tmp_path)
    np.savez(tmp_path / "inputs.npz", **MODELS[name].inputs())
    code, out = command("compare", path, "--input", tmp_path / "inputs.npz")
    assert code == 0
    for node, said in SAMPLES[name].items():
        assert any(node in line and " ".join(line.split()).endswith(said) for line in out.splitlines()), (node, out)
    ran = sum(not said.startswith("0 ") for said in SAMPLES[name].values())
    left_out = f", {len(SAMPLES[name]) - ran} not compared" if ran < len(SAMPLES[name]) else ""
    assert f"Our nodes: {ran} equal{left_out}. " in out


SINGLE = [name for name in MODELS if name.startswith(("max_roi_pool", "max_pooling1", "adaptive_max_pool"))]


@pytest.mark.parametrize("name", SINGLE)
def test_nodes_of_every_operator_and_type(name: str) -> None:
    """Values and indices both: an evaluation that is one cell off, or gives another index, is found."""
    model = MODELS[name].builder()
    (node,) = compare_nodes(model, MODELS[name].inputs())
    assert (node.runs, node.difference, node.not_compared) == (1, None, None)


def test_a_wrong_index_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = operator("AdaptiveMaxPool")

    def off(*inputs: Array, **attributes: Any) -> tuple[Array, ...]:
        y, *index = definition.evaluate(*inputs, **attributes)
        return (y, *(i + 1 for i in index))

    monkeypatch.setattr("onnx_maxpool.cli.comparison.operator", lambda _: replace(definition, evaluate=off))
    name = "adaptive_max_pool_8_float_int64"
    (node,) = compare_nodes(MODELS[name].builder(), MODELS[name].inputs())
    assert node.difference is not None
    assert node.difference.startswith("run 1: Indices: 42 of 42 cells differ")


def test_which_run_of_a_loop_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(4))

    def off(*arguments: Any, **settings: Any) -> Array:
        return roi_max(*arguments, **settings) + (next(calls) == 2)

    monkeypatch.setattr("onnx_maxpool.operators.max_roi_pool.roi_max", off)
    (node,) = compare_nodes(MODELS["roi_in_loop"].builder(), MODELS["roi_in_loop"].inputs())
    assert node.runs == 4
    assert node.difference is not None
    assert node.difference.startswith("run 3: Y: 81 of 81 cells differ")


def test_the_head_of_fast_rcnn(command: Command, tmp_path: Path) -> None:
    size = HeadSize(channels=8, hidden=32, classes=3, name="head")
    write_weights(tmp_path, size)
    onnx.save_model(fast_rcnn_head(size), tmp_path / "head.onnx")
    code, out = command(
        "compare", tmp_path / "head.onnx", "--dim", "N=2", "--dim", "H=19", "--dim", "W=25", "--dim", "R=5"
    )
    assert code == 0
    assert row(out, "MaxRoiPool-22")[-1] == "equal"
    assert {row(out, name)[-1] for name in ("cls_score", "bbox_pred")} <= {"equal", "tolerance"}


def test_functions_of_another_opset(tmp_path: Path, command: Command) -> None:
    """To inline the function, ONNX converts it; its node is still called what the model calls it."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 22, "f": 1]>
        g (float[1,1,8,8] X, float[3,5] rois) => (float[3,1,2,2] Y) { Y = f.pool (X, rois) }
        <domain: "f", opset_import: ["": 18]> pool (a, b) => (c) {
            d = Relu (a)
            c = MaxRoiPool <pooled_shape = [2, 2]> (d, b)
        }"""
    )
    onnx.save_model(model, tmp_path / "function.onnx")
    np.save(tmp_path / "rois.npy", np.zeros((3, 5), "f4"))
    code, out = command("compare", tmp_path / "function.onnx", "--input", f"rois={tmp_path}/rois.npy")
    assert (code, row(out, "MaxRoiPool-1 ")) == (0, ["MaxRoiPool-1", "'c'", "in", "function", "f::pool", "1", "equal"])


def test_a_node_that_cannot_be_compared_says_so(tmp_path: Path, command: Command) -> None:
    """onnx does not know com.microsoft's operators, nor the type behind them; the model's own outputs are compared."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 22, "com.microsoft": 1]>
        g (float[1,1,8,8] X, float[3,5] rois) => (float[3,1,2,2] Y, float[3,1,2,2] Z) {
            a = com.microsoft.Gelu (X)
            Y = MaxRoiPool <pooled_shape = [2, 2]> (a, rois)
            Z = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }"""
    )
    path = tmp_path / "gelu.onnx"
    onnx.save_model(model, path)
    np.savez(tmp_path / "inputs.npz", X=np.ones((1, 1, 8, 8), "f4"), rois=np.zeros((3, 5), "f4"))
    code, out = command("compare", path, path, "--input", tmp_path / "inputs.npz")
    assert code == 0
    said = "not compared: MaxRoiPool-22: the element type of X 'a' is not known to ONNX's inference"
    assert sum(said in line for line in out.splitlines()) == 2
    assert "Our nodes: 2 equal, 2 not compared. Outputs are equal." in out


def test_a_function_that_cannot_be_inlined_says_so(tmp_path: Path, command: Command) -> None:
    """ONNX does not convert a function to an older opset; ONNX Runtime runs it all the same."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 11, "f": 1]>
        g (float[1,1,8,8] X, float[3,5] rois) => (float[3,1,2,2] Y, float[3,1,2,2] Z) {
            Y = f.pool (X, rois)
            Z = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }
        <domain: "f", opset_import: ["": 22]> pool (a, b) => (c) {
            d = Relu (a)
            c = MaxRoiPool <pooled_shape = [2, 2]> (d, b)
        }"""
    )
    onnx.save_model(model, tmp_path / "function.onnx")
    code, out = command("compare", tmp_path / "function.onnx")
    assert (code, row(out, "MaxRoiPool-1 ")) == (0, ["MaxRoiPool-1", "'Z'", "in", "graph", "1", "equal"])
    said = " ".join(row(out, "MaxRoiPool-22 "))
    assert said.startswith(
        "MaxRoiPool-22 'c' in function f::pool 0 not compared: the model's function f::pool cannot be"
    )
    assert "Our nodes: 1 equal, 1 not compared. " in out


def test_constants_that_onnxruntime_folds() -> None:
    """Their node runs while the session is made, and not on the inputs."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 22]> g (float[3,5] rois) => (float[3,1,2,2] Y, float[3,1,2,2] Z)
        { Z = Relu (Y)  Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois) }"""
    )
    del model.graph.node[:]
    model.graph.node.append(helper.make_node("MaxRoiPool", ["X", "constant"], ["Y"], pooled_shape=[2, 2]))
    model.graph.node.append(helper.make_node("Relu", ["Y"], ["Z"]))
    for name, array in {"X": np.ones((1, 1, 8, 8), "f4"), "constant": np.zeros((3, 5), "f4")}.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    (node,) = compare_nodes(model, {"rois": np.zeros((3, 5), "f4")})
    assert (node.runs >= 1, node.difference) == (True, None)


def test_observed_sessions_live_beside_python_ones() -> None:
    """Their operators are another domain of onnxruntime-extensions, whose older sessions go on."""
    model, inputs = MODELS["max_roi_pool_22_float16"].builder(), MODELS["max_roi_pool_22_float16"].inputs()
    python = onnx_maxpool.load(model, implementation="python")
    expected = onnx_maxpool.run(onnx_maxpool.load(model), inputs)
    for _ in range(2):
        assert compare_nodes(model, inputs)[0].runs == 1
        np.testing.assert_array_equal(onnx_maxpool.run(python, inputs)[0], expected[0])


@pytest.mark.parametrize("name", ["max_roi_pool_22_bfloat16", "max_roi_pool_1_float16"])
def test_saved_inputs_are_read_again(command: Command, tmp_path: Path, name: str) -> None:
    path, *_ = MODELS[name].write(tmp_path)
    sizes = [word for dim in ("N=2", "C=3", "H=20", "W=30", "R=6") for word in ("--dim", dim)]
    data = tmp_path / "data"
    code, out = command("run", path, *sizes, "--seed", "7", "--save-inputs", data, "--out", data)
    assert code == 0
    for file in ("input_0.pb", "input_1.pb", "output_0.pb"):
        assert f"wrote {data / file}" in out
    drawn = model_inputs(read_model(path), dims={"N": 2, "C": 3, "H": 20, "W": 30, "R": 6}, seed=7)
    read = model_inputs(read_model(path), [str(data)])
    assert list(read) == list(drawn) == ["X", "rois"]
    for input_name, array in drawn.items():
        assert (read[input_name].dtype, read[input_name].tobytes()) == (array.dtype, array.tobytes())
    assert command("run", path, "--input", data, "--out", tmp_path / "again")[0] == 0
    assert (tmp_path / "again" / "output_0.pb").read_bytes() == (data / "output_0.pb").read_bytes()
    assert command("compare", path, "--input", data)[0] == 0


def test_inputs_of_a_run_that_fails_are_kept(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "rois.npy", np.full((1, 5), 9, np.float32))
    with pytest.raises(SystemExit) as stopped:
        main(
            ["run", str(path), *SIZES[:6], "--input", f"rois={tmp_path}/rois.npy", "--save-inputs", f"{tmp_path}/kept"]
        )
    assert stopped.value.code == 1
    assert "batch 9, expected a batch number from 0 to 1" in capsys.readouterr().err
    assert sorted(file.name for file in (tmp_path / "kept").iterdir()) == ["input_0.pb", "input_1.pb"]


def test_test_data_without_names_goes_by_order(tmp_path: Path) -> None:
    model = network()
    arrays = [np.ones((1, 3, 8, 8), "f4"), np.zeros((2, 5), "f4")]
    for i, array in enumerate(arrays):
        (tmp_path / f"input_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    read = model_inputs(model, [str(tmp_path)])
    assert {name: array.shape for name, array in read.items()} == {"image": (1, 3, 8, 8), "rois": (2, 5)}


@pytest.mark.parametrize(
    ("expected", "actual", "absolute", "relative"),
    [
        (np.array([1.0, -4.0]), np.array([1.5, -4.0]), 0.5, 0.125),
        (np.array([0.0, 0.0]), np.array([0.0, 1e-9]), 1e-9, np.inf),
        (np.array([np.nan, np.inf, 2.0]), np.array([np.nan, np.inf, 3.0]), 1.0, 0.5),
        (np.array([np.nan, 2.0]), np.array([1.0, 2.0]), np.inf, np.inf),
        (np.array([-np.inf, 2.0]), np.array([np.inf, 2.0]), np.inf, np.inf),
        (np.array([2**62], np.int64), np.array([2**62 + 1], np.int64), 1.0, 2.0**-62),
        (np.array([200], np.uint8), np.array([50], np.uint8), 150.0, 0.75),
        (np.array([True, False]), np.array([True, True]), 1.0, 1.0),
        (np.array(["a"]), np.array(["b"]), np.inf, np.inf),
        (np.zeros(2, np.float32), np.zeros(2, np.float64), np.inf, np.inf),
        (np.zeros(2), np.zeros((2, 1)), np.inf, np.inf),
        (np.array([1 + 1j]), np.array([1 + 2j]), 1.0, 2**-0.5),
        (np.array([1.0], ml_dtypes.bfloat16), np.array([1.25], ml_dtypes.bfloat16), 0.25, 0.25),
        (np.zeros((0, 3)), np.zeros((0, 3)), 0.0, 0.0),
    ],
    ids=lambda value: str(value) if isinstance(value, np.ndarray) else None,
)
def test_how_far_tensors_are_apart(expected: Array, actual: Array, absolute: float, relative: float) -> None:
    found = deviation(expected, actual)
    assert found.absolute == absolute
    assert found.relative == pytest.approx(relative)


def test_indices_have_no_tolerance(command: Command, tmp_path: Path) -> None:
    """One off in 10,000 is within that of floats, and another class."""
    for name, one in {"first": 1, "second": 2}.items():
        text = f"""<ir_version: 8, opset_import: ["": 22]> g (int64[1] X) => (int64[2] Y) {{
            one = Constant <value = int64[1] {{{one}}}> ()
            many = Constant <value = int64[1] {{100000}}> ()
            Y = Concat <axis = 0> (one, many)
        }}"""
        onnx.save_model(onnx.parser.parse_model(text), tmp_path / f"{name}.onnx")
    models = [tmp_path / "first.onnx", tmp_path / "second.onnx"]
    assert command("compare", *models)[0] == 1
    assert command("compare", *models, "--tolerance", "0.0001")[0] == 0


@pytest.mark.parametrize("what", ["run", "__init__"])
def test_an_error_of_the_reference_is_one_line(
    what: str, path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It has errors of every kind."""

    def fail(*_: object, **__: object) -> None:
        raise TypeError("unexpected keyword argument 'alpha'")

    monkeypatch.setattr(f"onnx.reference.ReferenceEvaluator.{what}", fail)
    with pytest.raises(SystemExit) as stopped:
        main(["compare", str(path), *SIZES])
    said = "onnx's reference evaluator cannot run the model: TypeError: unexpected keyword argument 'alpha'"
    assert (stopped.value.code, capsys.readouterr().err) == (1, f"{said}\n")


def test_an_operator_that_the_reference_computes_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = """<ir_version: 8, opset_import: ["": 12]> g (int8[1,1,4,4] X) => (int8[1,1,3,3] Y) {
        Y = MaxPool <kernel_shape = [2, 2]> (X)
    }"""
    onnx.save_model(onnx.parser.parse_model(text), tmp_path / "model.onnx")
    with pytest.raises(SystemExit) as stopped:
        main(["compare", str(tmp_path / "model.onnx")])
    said = capsys.readouterr().err
    assert stopped.value.code == 1
    assert said.startswith("onnx's reference evaluator cannot run the model: ")
    assert said.count("\n") == 1
