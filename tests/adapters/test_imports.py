"""Models import ai.onnx with or without a node of it: where none is imported ONNX Runtime takes opset 1000."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from builders import MODELS

import onnx_maxpool
from onnx_maxpool.conformance import all_cases


def of_each_operator() -> list[str]:
    names = {model.builder().graph.node[0].op_type: name for name, model in MODELS.items() if "_float" in name}
    return sorted(names.values())


@pytest.mark.parametrize("name", of_each_operator())
def test_a_session_prints_nothing(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 2  # warnings too
    session = onnx_maxpool.load(MODELS[name].builder(), options)
    session.run(None, MODELS[name].inputs())
    assert capfd.readouterr() == ("", "")


def test_a_function_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    onnx_maxpool.adaptive_max_pool(np.ones((1, 1, 3, 3), np.float32), (2, 2))
    assert capfd.readouterr() == ("", "")


def test_conformance_cases_import_it() -> None:
    assert all("" in {entry.domain for entry in case.model().opset_import} for case in all_cases())
