"""examples/c: a C compiler, ONNX Runtime's shared library and ours, and no Python."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from builders import MODELS
from onnx import numpy_helper

import onnx_maxpool

pytestmark = pytest.mark.slow("compiles a program for each form")

ROOT = Path(__file__).parent.parent.parent
(RUNTIME,) = Path(ort.__file__).parent.glob("capi/libonnxruntime.so.*")


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


def test_it_prints_what_the_case_expects(program: Path, case: Path) -> None:
    done = run(program, RUNTIME, onnx_maxpool.library_path(), case / "model.onnx")
    assert (done.returncode, done.stderr) == (0, "")
    expected = numpy_helper.to_array(onnx.load_tensor(case / "test_data_set_0" / "output_0.pb"))
    shape, *rows = done.stdout.splitlines()
    assert shape == " x ".join(map(str, expected.shape))
    np.testing.assert_array_equal([[float(cell) for cell in row.split()] for row in rows], expected.reshape(-1, 2))


def test_a_model_with_open_dimensions(program: Path, tmp_path: Path) -> None:
    (model,) = MODELS["max_roi_pool_22_float"].write(tmp_path)
    done = run(program, RUNTIME, onnx_maxpool.library_path(), model)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("1 x 2 x 7 x 7\n")


@pytest.mark.parametrize("missing", range(3))
def test_a_missing_file_is_named(program: Path, case: Path, missing: int) -> None:
    files = [RUNTIME, onnx_maxpool.library_path(), case / "model.onnx"]
    files[missing] = Path("nowhere") / "file"
    done = run(program, *files)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert "nowhere/file" in done.stderr


def test_how_to_call_it(program: Path) -> None:
    done = run(program)
    assert (done.returncode, done.stderr) == (1, f"usage: {program} LIBONNXRUNTIME LIBONNX_MAXPOOL MODEL\n")
