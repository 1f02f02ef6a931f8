"""Every snippet of the README runs, and its tables are the registry's."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import parser

from onnx_maxpool import to_portable
from onnx_maxpool.samples.fast_rcnn_head import HeadSize, fast_rcnn_head, write_weights

ROOT = Path(__file__).parent.parent.parent
README = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
COMMANDS = re.findall(r"^\$ onnx-maxpool (.*)$", README, re.MULTILINE)

# The model that the snippets call fast_rcnn.onnx.
MODEL = """
<ir_version: 10, opset_import: ["" : 22]>
fast_rcnn (float[1, 512, 38, 50] features, float[R, 5] rois) => (float[R, 512, 7, 7] pooled)
{ pooled = MaxRoiPool <pooled_shape = [7, 7], spatial_scale = 0.0625> (features, rois) }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    model = parser.parse_model(MODEL)
    onnx.save_model(model, tmp_path / "fast_rcnn.onnx")
    onnx.save_model(to_portable(model), tmp_path / "portable.onnx")
    size = HeadSize(channels=8, hidden=32, name="head")
    onnx.save_model(fast_rcnn_head(size), tmp_path / "head.onnx")
    write_weights(tmp_path, size)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_readme_has_snippets() -> None:
    assert len(PYTHON) >= 5
    assert len(COMMANDS) >= 3


@pytest.mark.parametrize("snippet", PYTHON, ids=range(len(PYTHON)))
def test_a_python_snippet(snippet: str, folder: Path) -> None:
    done = subprocess.run([sys.executable, "-c", snippet], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # A print's comment says what it prints; `...` stands for what comes before.
    promised = [line.rpartition("  # ")[2] for line in snippet.splitlines() if line.strip().startswith("print(")]
    for line, promise in zip(done.stdout.splitlines(), promised, strict=True):
        assert line.endswith(promise.removeprefix("... "))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command(command: str, folder: Path) -> None:
    arguments = [sys.executable, "-m", "onnx_maxpool", *shlex.split(command)]
    done = subprocess.run(arguments, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.search(
        "MaxRoiPool|pooled|wrote (portable|static).onnx: 1 operator replaced|^wrote [0-9]+ cases? to cases: ",
        done.stdout,
    )


def test_tables_are_the_registrys() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "write_docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
