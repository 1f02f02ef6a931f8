"""The command line in this process, and the model that it compares, unless a file of tests has its own."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from support.comparing import Command, network

from onnx_maxpool.cli.main import main


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `onnx-maxpool` in this process: exit code and stdout. Whatever it writes to stderr is an error."""
    monkeypatch.setenv("COLUMNS", "250")

    def called(*arguments: str | Path) -> tuple[int, str]:
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert err == ""
        return int(stopped.value.code or 0), out

    return called


@pytest.fixture
def path(tmp_path: Path) -> Path:
    onnx.save_model(network(), tmp_path / "network.onnx")
    return tmp_path / "network.onnx"
