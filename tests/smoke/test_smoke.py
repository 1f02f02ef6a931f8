"""What must work wherever a wheel is installed: `pytest tests/smoke`, in a minute, with the extra `conformance`.

The release runs it on macOS and Windows. There the other tests cannot: some start processes as POSIX has them, or look
for files that only Linux has. Nothing here does. The cases are asked in this process, as a conformance run starts one.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
from builders import MODELS

import onnx_maxpool
from onnx_maxpool.cli.main import main
from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.backends.ours import Native
from onnx_maxpool.conformance.run.execution import execute
from onnx_maxpool.conformance.run.judge import Outcome
from onnx_maxpool.conformance.run.runner import run_cases
from onnx_maxpool.difference import first_difference

SMALL = [name for name, model in MODELS.items() if not model.has_large_weights and "bfloat16" not in name]
"""ONNX Runtime takes no NumPy array of bfloat16. The cases have that type."""


def test_the_library_is_the_installed_one() -> None:
    assert Path(onnx_maxpool.library_path()).parent == Path(onnx_maxpool.__file__).parent
    options = ort.SessionOptions()
    onnx_maxpool.register(options)


@pytest.mark.parametrize("operator", sorted({case.operator for case in all_cases()}))
def test_the_required_cases(operator: str) -> None:
    cases = [case for case in all_cases() if case.operator == operator and case.required]
    results = list(run_cases(partial(execute, Native), cases))
    assert {result.case.name: result.detail for result in results if result.outcome is not Outcome.PASS} == {}


@pytest.mark.parametrize("name", SMALL)
def test_a_sample_model_in_onnx_runtime_and_in_the_reference(name: str, tmp_path: Path) -> None:
    path, *_ = MODELS[name].write(tmp_path)
    inputs = MODELS[name].inputs()
    found = onnx_maxpool.load(path).run(None, inputs)
    expected = onnx_maxpool.reference_evaluator(path).run(None, inputs)
    assert [first_difference(*pair) for pair in zip(expected, found, strict=True)] == [None] * len(expected)


def test_a_function_on_arrays() -> None:
    x = np.arange(2 * 3 * 5 * 7, dtype=np.float32).reshape(2, 3, 5, 7)
    assert onnx_maxpool.adaptive_max_pool(x, (1, 1)).ravel().tolist() == x.max((2, 3)).ravel().tolist()


def test_a_wrong_input_is_an_error_of_ours() -> None:
    x, rois = np.zeros((1, 1, 4, 4), np.float32), np.array([[1, 0, 0, 3, 3]], np.float32)
    with pytest.raises(onnx_maxpool.OperatorError, match="rois row 0 has batch 1, expected a batch number from 0 to 0"):
        onnx_maxpool.max_roi_pool(x, rois, pooled_shape=(2, 2))


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    dims = [word for size in ("N=1", "H=38", "W=50", "R=2") for word in ("--dim", size)]
    for command in (["info"], ["sample", "fast_rcnn.onnx"], ["run", "fast_rcnn.onnx", *dims, "--out", "out.npz"]):
        with pytest.raises(SystemExit) as ended:
            main(command)
        assert not ended.value.code, capsys.readouterr().err
    assert np.load(tmp_path / "out.npz")["pooled"].shape == (2, 512, 7, 7)
