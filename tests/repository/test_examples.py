"""Each file of examples/python, run as its docstring says. examples/c has test_c_example.py."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent.parent / "examples" / "python"
SAMPLES = ("fast_rcnn.onnx", "inputs.npz", "rows.parquet")

RUNS = {
    "load_model": (["fast_rcnn.onnx", "inputs.npz"], "cls_score float32 (64, 21)"),
    "reference_evaluator": ([], "equal (2, 3, 2, 2)"),
    "torch_export": (["head.onnx"], "equal (2, 4, 3, 5)"),
    "cluster": (["fast_rcnn.onnx", "rows.parquet"], "12 ROIs pooled, of 8 rows"),
    "quantize": (["fast_rcnn.onnx", "inputs.npz", "quantised.onnx"], "% of the ROIs keep their class"),
}
"""Arguments, and what is printed."""
NEEDS = {"torch_export": "torch", "cluster": "ray"}
"""Packages of large extras. Where scripts/check runs the tests, conftest.py rejects that one is missing."""
SLOW = pytest.mark.slow("starts a cluster")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the files that the examples use, made by the command that they name."""
    path = tmp_path_factory.mktemp("examples")
    for sample in SAMPLES:
        subprocess.run([sys.executable, "-m", "onnx_maxpool", "sample", sample], cwd=path, check=True)
    return path


def examples() -> list[object]:
    there = [name for name in RUNS if name not in NEEDS or importlib.util.find_spec(NEEDS[name])]
    return [pytest.param(name, marks=SLOW if name == "cluster" else ()) for name in there]


@pytest.mark.parametrize("name", examples())
def test_an_example_runs(name: str, folder: Path) -> None:
    arguments, printed = RUNS[name]
    command = [sys.executable, EXAMPLES / f"{name}.py", *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert printed in run.stdout


def test_the_backend_of_the_example_is_asked(tmp_path: Path) -> None:
    (tmp_path / "backend_under_test.py").write_text((EXAMPLES / "backend_under_test.py").read_text())
    command = [sys.executable, "-m", "onnx_maxpool", "conformance", "--backend", "backend_under_test:Backend"]
    cases = ["--case", "max_roi_pool_22_scale"]
    run = subprocess.run([*command, *cases], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "required cases: 2 pass" in run.stdout


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*RUNS, "backend_under_test"}
