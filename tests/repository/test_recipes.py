"""docs/guides/recipes.md: what the runner of all pages cannot run, it can at least parse."""

from __future__ import annotations

import importlib.util
import os
import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow("starts the engines of the recipes")

PAGE = Path(__file__).parent.parent.parent / "docs" / "guides" / "recipes.md"


def test_triton_parses_its_configuration() -> None:
    if importlib.util.find_spec("tritonclient") is None:
        assert not os.environ.get("ONNX_MAXPOOL_ALL_PEERS")
        pytest.skip("tritonclient is not installed, which the extra recipes brings")
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2

    (text,) = re.findall(r"^```text\n(name: .*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    config = text_format.Parse(text, model_config_pb2.ModelConfig())
    assert list(config.model_operations.op_library_filename) == ["libonnx_maxpool.so"]
