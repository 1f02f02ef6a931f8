"""`run --save-inputs` keeps the inputs of a run, and `--input` reads a folder of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from builders import MODELS
from onnx import numpy_helper
from support.comparing import SIZES, Command, network

from onnx_maxpool.cli.inputs import model_inputs
from onnx_maxpool.cli.main import main
from onnx_maxpool.graph.reading import read_model

pytestmark = pytest.mark.slow("runs whole models in two runtimes")


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


def test_a_path_with_an_equals_sign(tmp_path: Path) -> None:
    path, *_ = MODELS["max_roi_pool_1_float"].write(tmp_path)
    (tmp_path / "day=1").mkdir()
    rois = np.zeros((2, 5), np.float32)
    np.savez(tmp_path / "day=1" / "inputs.npz", rois=rois)
    read = model_inputs(read_model(path), [str(tmp_path / "day=1" / "inputs.npz")], {"N": 1, "C": 1, "H": 3, "W": 3})
    np.testing.assert_array_equal(read["rois"], rois)


def test_test_data_without_names_goes_by_order(tmp_path: Path) -> None:
    model = network()
    arrays = [np.ones((1, 3, 8, 8), "f4"), np.zeros((2, 5), "f4")]
    for i, array in enumerate(arrays):
        (tmp_path / f"input_{i}.pb").write_bytes(numpy_helper.from_array(array).SerializeToString())
    read = model_inputs(model, [str(tmp_path)])
    assert {name: array.shape for name, array in read.items()} == {"image": (1, 3, 8, 8), "rois": (2, 5)}
