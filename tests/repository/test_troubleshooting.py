"""The messages of docs/troubleshooting.md are what ONNX Runtime, onnx and torch say."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime as ort
import pytest
from builders import MODELS
from onnx.reference import ReferenceEvaluator

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text()
HEADINGS = [heading.replace("...", "") for heading in re.findall(r"^## .*?`(.*?)`", PAGE, re.MULTILINE)]


def session(name: str) -> Any:
    return ort.InferenceSession(MODELS[name].builder().SerializeToString(), providers=["CPUExecutionProvider"])


def evaluate(name: str) -> Any:
    return ReferenceEvaluator(MODELS[name].builder())


@pytest.mark.parametrize(
    ("run", "name", "message"),
    [
        (session, "max_roi_pool_22_float", "Could not find an implementation for MaxRoiPool(22) node with name ''"),
        (session, "roi_pooling_1_float", "Fatal error: directml:RoiPooling(-1) is not a registered function/op"),
        (evaluate, "max_roi_pool_22_float", "No registered implementation for operator 'MaxRoiPool' and domain ''"),
        (evaluate, "roi_pooling_1_float", "Node type 'RoiPooling' from domain 'directml' is unknown"),
    ],
)
def test_a_message(run: Callable[[str], Any], name: str, message: str) -> None:
    assert any(message in heading for heading in HEADINGS)
    with pytest.raises(Exception, match=re.escape(message)):
        run(name)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the extra torch is not installed")
@pytest.mark.parametrize(
    ("dynamo", "messages"),
    [
        (True, ["Failed to convert the exported program to an ONNX model", "translating node %adaptive_max_pool2d"]),
        (False, ["ONNX export of operator adaptive_max_pool2d, output size that are not factor of input size"]),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_message_of_torch(dynamo: bool, messages: list[str], tmp_path: Path) -> None:
    import torch

    if dynamo:
        pytest.importorskip("onnxscript")
    model = torch.nn.AdaptiveMaxPool2d((7, 5)).eval()
    with pytest.raises(Exception) as found:  # noqa: PT011 - which class it is, is torch's own affair
        torch.onnx.export(model, (torch.randn(1, 3, 20, 30),), tmp_path / "pool.onnx", dynamo=dynamo, verbose=False)
    for message in messages:
        assert message in PAGE
        assert message in str(found.value)
