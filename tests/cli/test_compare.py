"""`compare` on networks: what is said of our nodes, how far outputs may be apart, and the exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx.reference.ops.op_relu import Relu
from support.comparing import SIZES, Command, network, row

import onnx_maxpool
from onnx_maxpool import reference_evaluator, to_portable
from onnx_maxpool.adapters.python.rewriting import register_python_ops
from onnx_maxpool.cli.comparison import compare, compare_nodes, deviation
from onnx_maxpool.cli.inputs import model_inputs
from onnx_maxpool.cli.main import main
from onnx_maxpool.graph.reading import read_model
from onnx_maxpool.operators.roi import roi_max
from onnx_maxpool.samples.fast_rcnn import HeadSize, fast_rcnn_head, write_weights
from onnx_maxpool.types import Array

pytestmark = pytest.mark.slow("runs whole models in two runtimes")


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
