"""`convert --check`: both models run on inputs that it makes, and a difference is told."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from builders import MODELS
from onnx import parser
from support.older_runtimes import loads_here

import onnx_maxpool
from onnx_maxpool.adapters.portable import roi
from onnx_maxpool.adapters.portable.library import function_library
from onnx_maxpool.cli.main import main
from onnx_maxpool.graph.reading import Model

OURS = ["max_roi_pool_22_float16", "roi_pooling_1_float", "max_pooling1_5_uint8", "adaptive_max_pool_8_double_int32"]
NESTED = ["roi_in_loop", "roi_in_if", "roi_in_function", "spatial_pyramid"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    code = ended.value.code
    return code if isinstance(code, int) else 0, *capsys.readouterr()


@pytest.mark.parametrize("name", [*OURS, *NESTED])
def test_models_of_any_size_are_checked_on_several(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not loads_here(MODELS[name].builder()):
        pytest.xfail("an index of this type is not inferred by this ONNX Runtime")
    (model, *_), out = MODELS[name].write(tmp_path), tmp_path / "out.onnx"
    code, text, err = run(capsys, "convert", model, out, "--check")
    assert (code, err) == (0, "")
    wrote, checked, verdict = text.splitlines()
    outputs = ", ".join(output.name for output in onnx.load(model).graph.output)
    assert wrote.startswith(f"wrote {out}: ")
    assert checked.startswith(f"checked {outputs} of {out} without our library against {model} with it: ")
    assert re.search(r": [35] runs on ", checked)
    assert verdict == "equal in every cell"


def test_sizes_and_files_are_those_that_are_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model, *_), out = MODELS["max_roi_pool_22_float"].write(tmp_path), tmp_path / "out.onnx"
    inputs = MODELS["max_roi_pool_22_float"].inputs()
    np.savez(tmp_path / "inputs.npz", **inputs)
    dims = {"N": 3, "C": 4, "H": inputs["X"].shape[2], "W": inputs["X"].shape[3], "R": len(inputs["rois"])}
    sizes = [part for name, size in dims.items() for part in ("--dim", f"{name}={size}")]
    static = ["convert", model, out, "--no-control-flow", *sizes, "--check", "--overwrite"]
    shape = ",".join(str(size) for size in inputs["X"].shape)
    for arguments, runs in ((static, "3 runs"), ([*static, "--input", tmp_path / "inputs.npz"], "1 run")):
        code, text, _ = run(capsys, *arguments)
        assert code == 0
        assert f": {runs} on X float[{shape}], rois float[{dims['R']},5]" in text


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A conversion that has another scale than the model."""

    def convert(model: Model, **options: Any) -> onnx.ModelProto:
        changed = onnx.load(model)  # type: ignore[arg-type]
        (scale,) = (each for each in changed.graph.node[0].attribute if each.name == "spatial_scale")
        scale.f /= 2
        return onnx_maxpool.to_portable(changed, **options)

    monkeypatch.setattr("onnx_maxpool.cli.commands.to_portable", convert)


@pytest.mark.usefixtures("wrong")
def test_a_difference_is_told_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model, *_), out = MODELS["max_roi_pool_22_float"].write(tmp_path), tmp_path / "out.onnx"
    assert run(capsys, "convert", model, out)[0] == 0
    code, text, err = run(capsys, "convert", model, out, "--check", "--overwrite")
    assert (code, err) == (1, "")
    assert "different: run 1, output 'Y': " in text
    assert "cells differ, first at [0," in text
    assert "equal" not in text
    assert out.exists()


def test_counts_that_only_seem_equal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A conversion that gives the outputs of two ROI poolings the same symbols, as ours once did."""
    texts = [text.replace("?, ?, ?, ?", "r, c, h, w") for text in roi.TEXTS]
    monkeypatch.setattr(roi, "TEXTS", texts)
    function_library.cache_clear()
    model, out = tmp_path / "two.onnx", tmp_path / "out.onnx"
    text = """<ir_version: 8, opset_import: ["": 18]>
        two (float[N, 3, 8, 8] X, float[K, 5] a, float[L, 5] b) => (float[K, 3, h, w] Y, float[L, 3, h, w] Z)
        { Y = MaxRoiPool <pooled_shape = [2, 2]> (X, a) Z = MaxRoiPool <pooled_shape = [2, 2]> (X, b) }"""
    onnx.save(parser.parse_model(text), model)
    code, _, err = run(capsys, "convert", model, out, "--check")
    function_library.cache_clear()
    assert code == 1
    assert "re-use" in err


@pytest.mark.usefixtures("wrong")
def test_the_original_is_what_stood_there_before(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where the converted model takes its place."""
    model, *_ = MODELS["max_roi_pool_22_float"].write(tmp_path)
    code, text, err = run(capsys, "convert", model, model, "--check", "--overwrite")
    assert (code, err) == (1, "")
    assert "different: run 1, output 'Y': " in text
    assert "MaxRoiPool" not in {node.op_type for node in onnx.load(model).graph.node}


def test_a_model_is_protobuf_whatever_its_name(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For the check too."""
    model, out = tmp_path / "model.json", tmp_path / "out.onnx"
    MODELS["max_roi_pool_22_float"].write(tmp_path)[0].rename(model)
    assert run(capsys, "convert", model, out, "--check")[0] == 0


FUNCTION = """<ir_version: 10, opset_import: ["": 18, "local": 1, "org.openvinotoolkit": 8]>
g (float[1,1,20,20] X, float[1,5] rois, int64[2] size) => (float[n,c,h,w] A, float[n,c,h,w] B, float[n,c,h,w] C) {
    A = local.pool (X, rois, size)
    B = local.pool (X, rois, size)
    C = local.pool (X, rois, size)
}
<domain: "local", opset_import: ["": 18, "org.openvinotoolkit": 8]> pool (x, r, s) => (y) {
    pooled = MaxRoiPool <pooled_shape = [6, 6]> (x, r)
    y = org.openvinotoolkit.AdaptiveMaxPool (pooled, s)
}"""
INDICES = """<ir_version: 8, opset_import: ["": 17]>
g (float[1,1,6,6] X, float[2,5] rois) => (float[2,1,1,1] Y, int64[1,1,3,3] I) {
    pooled, I = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (X)
    plain = MaxPool <kernel_shape = [1, 1]> (pooled)
    Y = MaxRoiPool <pooled_shape = [1, 1]> (plain, rois)
}"""


@pytest.mark.parametrize(
    ("text", "options", "said"),
    [
        (FUNCTION, [], "2 operators"),
        (FUNCTION, ["--only", "MaxRoiPool"], "1 operator"),
        (FUNCTION, ["--only", "RoiPooling"], "0 operators"),
        (INDICES, [], "1 operator"),
        (INDICES, ["--max-pool-indices"], "2 operators"),
        (INDICES, ["--max-pool-indices", "--only", "RoiPooling"], "1 operator"),
    ],
)
def test_it_counts_the_operators_that_it_replaces(
    text: str, options: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Those of a function once, whoever calls it."""
    onnx.save_model(parser.parse_model(text), tmp_path / "model.onnx")
    out = tmp_path / "out.onnx"
    assert run(capsys, "convert", tmp_path / "model.onnx", out, *options) == (0, f"wrote {out}: {said} replaced\n", "")


def test_other_operators_do_not_differ(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Sums of floats, whose order a runtime may change where other nodes stand beside them."""
    text = """<ir_version: 8, opset_import: ["": 18]>
    g (float[N,8,H,W] image, float[R,5] rois) => (float[R,8] Y) {
        features = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (image, weights)
        pooled = MaxRoiPool <pooled_shape = [3, 3], spatial_scale = 0.7> (features, rois)
        mean = ReduceMean <keepdims = 0> (pooled, axes)
        Y = Softmax (mean)
    }"""
    model = parser.parse_model(text)
    weights = np.random.default_rng(3).standard_normal((8, 8, 3, 3), np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weights, "weights"))
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.array([2, 3]), "axes"))
    onnx.save_model(model, tmp_path / "model.onnx")
    code, out, err = run(capsys, "convert", tmp_path / "model.onnx", tmp_path / "out.onnx", "--check")
    assert (code, err) == (0, ""), out


def test_what_cannot_be_checked_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model, *_), out = MODELS["max_roi_pool_22_float"].write(tmp_path), tmp_path / "out.onnx"
    given = ["--input", "X=x.npy"]
    assert run(capsys, "convert", model, out, *given) == (2, "", "--input X=x.npy: expected with --check\n")
    text = """<ir_version: 8, opset_import: ["": 18]> g (float[1,1,H,W] X, float[1,5] rois) => (float[1,1,1,1] Y) {
        fixed = Reshape (X, shape)
        Y = MaxRoiPool <pooled_shape = [1, 1]> (fixed, rois)
    }"""
    proto = parser.parse_model(text)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(np.array([1, 1, 1000, 1]), "shape"))
    onnx.save_model(proto, tmp_path / "model.onnx")
    code, _, err = run(capsys, "convert", tmp_path / "model.onnx", out, "--check")
    assert code == 2
    assert err.startswith("--check: the model runs on no size that was tried for H, W, expected inputs with --input: ")
    assert "Reshape" in err


def test_the_converted_model_runs_without_our_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (model, *_), out = MODELS["max_roi_pool_22_double"].write(tmp_path), tmp_path / "out.onnx"
    monkeypatch.setattr("onnx_maxpool.cli.commands.to_portable", lambda model, **_: onnx.load(model))
    code, _, err = run(capsys, "convert", model, out, "--check")
    assert code == 1
    assert "Could not find an implementation for MaxRoiPool(22)" in err
