"""`Predictor` and `batch` on models in ORT format, of which only inputs and outputs are known."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pyarrow.parquet as pq
import pytest
from onnx import parser

import onnx_maxpool
from onnx_maxpool import InputError, Predictor
from onnx_maxpool.cli.main import main

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
    onnx.save_model(parser.parse_model(TEXT), tmp_path / "model.onnx")
    options = ort.SessionOptions()
    onnx_maxpool.register(options)
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.add_session_config_entry("session.save_model_format", "ORT")
    options.optimized_model_filepath = str(tmp_path / "model.ort")
    ort.InferenceSession(str(tmp_path / "model.onnx"), options, ["CPUExecutionProvider"])
    return tmp_path / "model.onnx", tmp_path / "model.ort"


def test_it_gives_what_the_onnx_file_gives(models: tuple[Path, Path]) -> None:
    expected = Predictor(models[0])(COLUMNS)
    for given in (models[1], str(models[1]), models[1].read_bytes()):
        predictor = Predictor(given, rois="rois")
        assert predictor.batching == Predictor(models[0]).batching
        for used in (predictor, pickle.loads(pickle.dumps(predictor))):
            found = used(COLUMNS)
            assert found["id"] == COLUMNS["id"]
            for name in ("Y", "Z"):
                for actual, wanted in zip(found[name], expected[name], strict=True):
                    np.testing.assert_array_equal(actual, wanted)


def test_rois_must_be_named(models: tuple[Path, Path]) -> None:
    with pytest.raises(InputError) as error:
        Predictor(models[1])
    assert str(error.value) == "a model in ORT format does not say whether rois holds ROIs: name it with rois"
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
