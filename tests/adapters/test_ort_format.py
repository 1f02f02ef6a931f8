"""Models in ORT format: `load` runs them, and whoever looks into a model says that it wants the ONNX file.

`Predictor` and `batch` run them too. Of such a model only inputs and outputs are known.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pyarrow.parquet as pq
import pytest
from builders import MODELS
from onnx import parser
from support.one_node import assert_same

import onnx_maxpool
from onnx_maxpool import InputError, ModelError, Predictor
from onnx_maxpool.cli.main import main

NAMES = ["max_roi_pool_22_bfloat16", "max_pooling1_5_float", "adaptive_max_pool_8_float_int64", "roi_in_loop"]
WANTED = (
    " is in ORT format: expected the ONNX file that it was made from "
    "(onnx_maxpool.load runs ORT format from bytes and from a file whose name ends in .ort)"
)


def in_ort_format(model: onnx.ModelProto, path: Path) -> Path:
    """A model as ONNX Runtime writes it."""
    options = ort.SessionOptions()
    onnx_maxpool.register(options)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.add_session_config_entry("session.save_model_format", "ORT")
    options.optimized_model_filepath = str(path)
    ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return path


@pytest.fixture(scope="module")
def roi_pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return in_ort_format(
        MODELS["max_roi_pool_22_float"].builder(), tmp_path_factory.mktemp("ort_format") / "roi_pool.ort"
    )


@pytest.mark.parametrize("name", NAMES)
def test_paths_and_bytes(name: str, tmp_path: Path) -> None:
    feeds = MODELS[name].inputs()
    expected = onnx_maxpool.run(onnx_maxpool.load(MODELS[name].builder()), feeds)
    path = in_ort_format(MODELS[name].builder(), tmp_path / "model.ort")
    in_capitals = tmp_path / "MODEL2.ORT"
    in_capitals.write_bytes(path.read_bytes())
    for given in (path, str(path), path.read_bytes(), in_capitals):
        for check in (True, False):
            outputs = onnx_maxpool.run(onnx_maxpool.load(given, check=check), feeds)
            for actual, wanted in zip(outputs, expected, strict=True):
                assert_same(actual, wanted)


FORMS: dict[str, Callable[[Any], object]] = {
    "python": lambda model: onnx_maxpool.load(model, implementation="python"),
    "a function": lambda model: onnx_maxpool.load(model, implementation={"MaxRoiPool": lambda x, *_, **__: x}),
    "reference": onnx_maxpool.reference_evaluator,
    "portable": onnx_maxpool.to_portable,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_who_looks_into_a_model_wants_the_onnx_file(form: Callable[[Any], object], roi_pool: Path) -> None:
    for given, name in ((roi_pool, str(roi_pool)), (roi_pool.read_bytes(), "the model")):
        with pytest.raises(ModelError) as error:
            form(given)
        assert str(error.value) == f"{name}{WANTED}"


@pytest.mark.parametrize("command", ["run", "inspect", "compare", "convert"])
def test_on_the_command_line(command: str, roi_pool: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, str(roi_pool), *([str(tmp_path / "out.onnx")] if command == "convert" else [])])
    assert ended.value.code == 1
    assert capsys.readouterr().err == f"{roi_pool}{WANTED}\n"


def test_the_session_options_may_name_the_format(roi_pool: Path, tmp_path: Path) -> None:
    """Then a file's name says nothing."""
    named = tmp_path / "roi_pool.onnx"
    named.write_bytes(roi_pool.read_bytes())
    options = ort.SessionOptions()
    options.add_session_config_entry("session.load_model_format", "ORT")
    assert [each.name for each in onnx_maxpool.load(named, options).get_inputs()] == ["X", "rois"]
    onnx_file = tmp_path / "roi_pool.ort"
    onnx_file.write_bytes(MODELS["max_roi_pool_22_float"].builder().SerializeToString())
    options = ort.SessionOptions()
    options.add_session_config_entry("session.load_model_format", "ONNX")
    assert [each.name for each in onnx_maxpool.load(onnx_file, options).get_inputs()] == ["X", "rois"]


def test_what_only_has_the_name(tmp_path: Path) -> None:
    path = tmp_path / "model.ort"
    with pytest.raises(FileNotFoundError):
        onnx_maxpool.load(path)
    for content in (b"", b"ORTM", MODELS["max_roi_pool_22_float"].builder().SerializeToString()):
        path.write_bytes(content)
        with pytest.raises(ModelError) as error:
            onnx_maxpool.load(path)
        assert str(error.value) == (
            f"{path} is not a model in ORT format, as which ONNX Runtime reads a file of this name: "
            "expected ORTM in bytes 4 to 7"
        )


TEXT = """<ir_version: 10, opset_import: ["": 22]>
g (float[N,3,H,W] X, float[R,5] rois) => (float[R,3,2,2] Y, float[N,3,H,W] Z) {
    Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    Z = Relu (X)
}"""
COLUMNS = {
    "id": ["a", "b", "c"],
    "X": [np.arange(3 * h * 5, dtype=np.float32).reshape(3, h, 5) for h in (4, 6, 4)],
    "rois": [np.array([[0, 0, 3, 2]], np.float32), np.empty((0, 4), np.float32), np.ones((2, 4), np.float32)],
}


@pytest.fixture
def models(tmp_path: Path) -> tuple[Path, Path]:
    """The same model as an ONNX file and in ORT format."""
    model = parser.parse_model(TEXT)
    onnx.save_model(model, tmp_path / "model.onnx")
    return tmp_path / "model.onnx", in_ort_format(model, tmp_path / "model.ort")


def test_it_gives_what_the_onnx_file_gives(models: tuple[Path, Path]) -> None:
    expected = Predictor(models[0])(COLUMNS)
    for given in (models[1], str(models[1]), models[1].read_bytes()):
        predictor = Predictor(given, rois="rois")
        known = Predictor(models[0]).batching
        assert predictor.batching == replace(known, number_types=("bfloat16", "float"))  # nodes are not known
        for used in (predictor, pickle.loads(pickle.dumps(predictor))):
            found = used(COLUMNS)
            assert found["id"] == COLUMNS["id"]
            for name in ("Y", "Z"):
                for actual, wanted in zip(found[name], expected[name], strict=True):
                    np.testing.assert_array_equal(actual, wanted)


def test_rois_must_be_named(models: tuple[Path, Path]) -> None:
    with pytest.raises(InputError) as error:
        Predictor(models[1])
    assert str(error.value) == "a model in ORT format does not say whether rois contains ROIs: give its name as rois"
    with pytest.raises(InputError, match="rois is 'boxes', expected an input of the model: X or rois"):
        Predictor(models[1], rois="boxes")
    with pytest.raises(FileNotFoundError):
        Predictor(models[1].parent / "missing.ort", rois="rois")


def test_batch_takes_it(models: tuple[Path, Path], capsys: pytest.CaptureFixture[str]) -> None:
    folder = models[0].parent
    (folder / "in").mkdir()
    for row in range(3):
        np.savez(folder / "in" / f"{row}.npz", X=COLUMNS["X"][row], rois=COLUMNS["rois"][row])
    for model, out in zip(models, ("onnx", "ort"), strict=True):
        arguments = ["batch", str(model), str(folder / "in"), str(folder / out), "--rois", "rois", "--workers", "1"]
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        assert not ended.value.code, capsys.readouterr().err
    expected, found = (pq.read_table(folder / out) for out in ("onnx", "ort"))
    assert found.num_rows == 3
    assert found.equals(expected)
