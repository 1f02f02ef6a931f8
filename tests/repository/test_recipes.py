"""Every snippet of docs/guides/recipes.md that says that the tests run it; where a package is missing, the others."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
from pathlib import Path

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnx import parser
from support.child import run_python

PAGE = (Path(__file__).parent.parent.parent / "docs" / "guides" / "recipes.md").read_text()
SNIPPETS = re.findall(r"^## (.*?)$|^<!-- (.*?) -->\n```(\w+)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
NEEDS = re.compile(r"(?:needs|ran with) ([\w.]+|PySpark|Apache Beam)")
MODULES = {"PySpark": "pyspark", "Apache": "apache_beam"}

MODEL = """
<ir_version: 10, opset_import: ["" : 22]>
fast_rcnn (float[N, 512, H, W] features, float[R, 5] rois) => (float[R, 512, 7, 7] pooled)
{ pooled = MaxRoiPool <pooled_shape = [7, 7], spatial_scale = 0.0625> (features, rois) }
"""


def needed(remark: str) -> str | None:
    found = NEEDS.search(remark)
    return MODULES.get(found[1], found[1]) if found else None


def is_here(module: str | None) -> bool:
    try:
        return module is None or importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def snippets() -> list[tuple[str, str, str, str]]:
    """Heading, remark, language and text."""
    found, heading = [], ""
    for title, remark, language, text in SNIPPETS:
        heading = title or heading
        if text:
            found.append((heading, remark, language, text))
    return found


ALL = snippets()
HERE = [each for each in ALL if is_here(needed(each[1]))]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    onnx.save_model(parser.parse_model(MODEL), tmp_path / "fast_rcnn.onnx")
    images = np.random.default_rng(0).standard_normal((8, 512, 4, 5), np.float32)
    boxes = [[[0.0, 0.0, 40.0, 40.0]] * (i % 4) for i in range(8)]
    columns = {
        "id": [f"image {i}" for i in range(8)],
        "features": pa.FixedShapeTensorArray.from_numpy_ndarray(images),
        "rois": pa.array(boxes, pa.list_(pa.list_(pa.float32()))),
    }
    pq.write_table(pa.table(columns), tmp_path / "rows.parquet", row_group_size=2)
    return tmp_path


def test_each_snippet_says_whether_it_runs() -> None:
    assert len(ALL) == len(re.findall(r"^```\w+$", PAGE, re.MULTILINE)) >= 10
    for _, remark, _, _ in ALL:
        assert re.match("run by the tests|checked by the tests|not run by the tests, which have no", remark)
    if os.environ.get("ONNX_MAXPOOL_ALL_PEERS"):
        missing = [
            heading for heading, remark, *_ in ALL if not remark.startswith("not") and not is_here(needed(remark))
        ]
        assert not missing


@pytest.mark.parametrize(
    ("language", "text"), [each[2:] for each in HERE], ids=[f"{heading} {i}" for i, (heading, *_) in enumerate(HERE)]
)
def test_a_snippet(language: str, text: str, folder: Path) -> None:
    if language == "text":
        from google.protobuf import text_format
        from tritonclient.grpc import model_config_pb2

        config = text_format.Parse(text, model_config_pb2.ModelConfig())
        assert list(config.model_operations.op_library_filename) == ["libonnx_maxpool.so"]
        return
    if language == "sh":
        command, *arguments = shlex.split(text)
        assert command == "onnx-maxpool"
        done = run_python("-m", "onnx_maxpool", *arguments, folder=folder)
        assert done.returncode == 0, done.stderr
        assert pq.read_table(folder / arguments[3]).num_rows == 8
        return
    (folder / "snippet.py").write_text(text)
    done = run_python("snippet.py", folder=folder, variables={"RAY_ADDRESS": "local"}, seconds=240)
    assert done.returncode == 0, done.stderr
    (promise,) = [line.rpartition("  # ")[2] for line in text.splitlines() if "print(" in line]
    if promise.startswith("three times "):
        promise = "\n".join([promise.removeprefix("three times ")] * 3)
    assert promise in done.stdout
