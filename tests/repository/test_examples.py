"""The examples: each file of examples/python is run as its docstring says, and examples/c is compiled.

The program in C needs a compiler, ONNX Runtime's shared library and ours, and no Python.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from builders import MODELS
from onnx import numpy_helper

import onnx_maxpool

ROOT = Path(__file__).parent.parent.parent
EXAMPLES = ROOT / "examples" / "python"
SAMPLES = ("fast_rcnn.onnx", "inputs.npz", "rows.parquet")

RUNS = {
    "load_model": (["fast_rcnn.onnx", "inputs.npz"], "cls_score float32 (64, 21)"),
    "reference_evaluator": ([], "equal (2, 3, 2, 2)"),
    "torch_export": (["head.onnx"], "equal (2, 4, 3, 5)"),
    "cluster": (["fast_rcnn.onnx", "rows.parquet"], "12 ROIs pooled, of 8 rows"),
    "quantise": (["fast_rcnn.onnx", "inputs.npz", "quantised.onnx"], "% of the ROIs keep their class"),
}
"""Arguments, and what is printed."""
NEEDS = {"torch_export": "torch", "cluster": "ray"}
"""Packages of large extras. Where scripts/check runs the tests, conftest.py rejects that one is missing."""
SLOW = [pytest.mark.slow("starts a cluster"), pytest.mark.extras]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the files that the examples use, made by the command that they name."""
    path = tmp_path_factory.mktemp("examples")
    for sample in SAMPLES:
        subprocess.run([sys.executable, "-m", "onnx_maxpool", "sample", sample], cwd=path, check=True)
    return path


def examples(with_arguments: bool = False) -> list[object]:
    there = [name for name in RUNS if name not in NEEDS or importlib.util.find_spec(NEEDS[name])]
    chosen = [name for name in there if RUNS[name][0] or not with_arguments]
    return [pytest.param(name, marks=SLOW if name == "cluster" else ()) for name in chosen]


@pytest.mark.parametrize("name", examples())
def test_an_example_runs(name: str, folder: Path) -> None:
    arguments, printed = RUNS[name]
    command = [sys.executable, EXAMPLES / f"{name}.py", *arguments]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert printed in run.stdout


@pytest.mark.parametrize("name", examples(with_arguments=True))
def test_an_example_says_how_to_call_it(name: str) -> None:
    program = EXAMPLES / f"{name}.py"
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    usage, call = run.stderr.strip().split(": ")
    assert (run.returncode, usage) == (1, "usage")
    assert f"`{call}`" in " ".join(program.read_text().split())


def test_the_backend_of_the_example_is_asked(tmp_path: Path) -> None:
    (tmp_path / "backend_under_test.py").write_text((EXAMPLES / "backend_under_test.py").read_text())
    command = [sys.executable, "-m", "onnx_maxpool", "conformance", "--backend", "backend_under_test:Backend"]
    cases = ["--case", "max_roi_pool_22_scale"]
    run = subprocess.run([*command, *cases], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "required cases: 2 pass" in run.stdout


def test_every_example_is_run() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*RUNS, "backend_under_test"}


compiled = pytest.mark.slow("compiles a program for each form")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="main.c is compiled and linked as on Linux")

RUNTIME = next(Path(ort.__file__).parent.glob("capi/libonnxruntime.so.*"), Path("libonnxruntime.so"))


@pytest.fixture
def case(corpus: Path) -> Path:
    """The case whose inputs are those of main.c."""
    return corpus / "node" / "test_max_roi_pool_22_scale"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("cc")
    assert compiler, "cc is missing, expected a C compiler"
    path = tmp_path_factory.mktemp("c") / "max_roi_pool"
    folder = ROOT / "examples" / "c"
    strict = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    subprocess.run([compiler, *strict, f"-I{folder}/include", folder / "main.c", "-ldl", "-o", path], check=True)
    return path


def run(*command: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, env={})


@compiled
@on_linux
def test_it_prints_what_the_case_expects(program: Path, case: Path) -> None:
    done = run(program, RUNTIME, onnx_maxpool.library_path(), case / "model.onnx")
    assert (done.returncode, done.stderr) == (0, "")
    expected = numpy_helper.to_array(onnx.load_tensor(case / "test_data_set_0" / "output_0.pb"))
    shape, *rows = done.stdout.splitlines()
    assert shape == " x ".join(map(str, expected.shape))
    np.testing.assert_array_equal([[float(cell) for cell in row.split()] for row in rows], expected.reshape(-1, 2))


@compiled
@on_linux
def test_a_model_with_open_dimensions(program: Path, tmp_path: Path) -> None:
    (model,) = MODELS["max_roi_pool_22_float"].write(tmp_path)
    done = run(program, RUNTIME, onnx_maxpool.library_path(), model)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 x 2 x 7 x 7\n")


@compiled
@on_linux
@pytest.mark.parametrize("missing", range(3))
def test_a_missing_file_is_named(program: Path, case: Path, missing: int) -> None:
    files = [RUNTIME, onnx_maxpool.library_path(), case / "model.onnx"]
    files[missing] = Path("nowhere") / "file"
    done = run(program, *files)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "nowhere/file" in done.stderr


@compiled
@on_linux
def test_how_to_call_it(program: Path) -> None:
    done = run(program)
    assert (done.returncode, done.stderr) == (1, f"usage: {program} LIBONNXRUNTIME LIBONNX_MAXPOOL MODEL\n")
