"""Paths that Linux allows and others do not take: names that are not UTF-8, and pipes in the place of models."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from support.processes import environment
from support.rows import HEAD, write_input

from onnx_maxpool import OutputError, Predictor
from onnx_maxpool.batch.job import Job, run_job
from onnx_maxpool.cli.main import main
from onnx_maxpool.errors import InputError, ModelError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere names are UTF-8")

NAME = "r\udce9seau"
SHOWN = r"r\udce9seau"
SAID = "is not UTF-8, expected a path that is, as ONNX Runtime and Arrow take no other"


def refused(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[object, str]:
    """The exit code and what the command says; it prints nothing else."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert out == ""
    return ended.value.code, err


@pytest.mark.parametrize("options", [[], ["--check"]], ids=["alone", "checked"])
def test_convert_writes_no_file_that_cannot_be_read(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    onnx.save_model(HEAD, tmp_path / "m.onnx")
    said = f"{tmp_path}/{SHOWN}.onnx {SAID}\n"
    assert refused(capsys, "convert", tmp_path / "m.onnx", tmp_path / f"{NAME}.onnx", *options) == (2, said)
    assert os.listdir(tmp_path) == ["m.onnx"]


@pytest.mark.parametrize("place", ["model", "folder", "npz", "parquet", "output"])
def test_batch_says_it_before_it_begins(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_input(tmp_path, rows=3)
    places = {"model": tmp_path / "head.onnx", "input": tmp_path / "in.parquet", "output": tmp_path / "out"}
    bad = tmp_path / f"{NAME}.{place}"
    if place in ("model", "parquet"):
        known = "input" if place == "parquet" else place
        places[known] = places[known].rename(bad)
    elif place == "output":
        places[place] = bad
    else:
        folder = bad if place == "folder" else tmp_path / "rows"
        folder.mkdir()
        bad = folder / ("a.npz" if place == "folder" else f"{NAME}.npz")
        np.savez(bad.open("wb"), X=np.zeros((3, 12, 16), np.float32), rois=np.zeros((1, 4), np.float32))
        places["input"] = folder
    before = sorted(tmp_path.rglob("*"))
    said = f"{str(bad).replace(NAME, SHOWN)} {SAID}\n"
    assert refused(capsys, "batch", *places.values()) == (1 if place == "model" else 2, said)
    error = {"model": ModelError, "output": OutputError}.get(place, InputError)
    with pytest.raises(error, match=r"is not UTF-8, expected a path that is"):
        run_job(Job(*places.values()), lambda computer, parts: iter(()), lambda summary: None)  # type: ignore[arg-type]
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_above_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A predictor and a run keep whole paths, for processes that begin elsewhere."""
    (tmp_path / NAME).mkdir()
    monkeypatch.chdir(tmp_path / NAME)
    onnx.save_model(HEAD, "head.onnx")
    with pytest.raises(ModelError, match=r"seau/head\.onnx is not UTF-8"):
        Predictor("head.onnx")


@pytest.mark.parametrize("command", ["run", "inspect", "compare", "convert", "batch"])
def test_a_model_through_a_pipe(command: str, tmp_path: Path) -> None:
    """It would have to be read several times."""
    write_input(tmp_path, rows=1)
    others = {"convert": ["out.onnx"], "batch": ["in.parquet", "out"]}.get(command, [])
    with subprocess.Popen(
        [sys.executable, "-m", "onnx_maxpool", command, "/dev/stdin", *others],
        cwd=tmp_path,
        env=environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        found = process.communicate(HEAD.SerializeToString(), timeout=60)
    assert (process.returncode, *found) == (1, b"", b"/dev/stdin is a device or a pipe, expected a file\n")
    assert sorted(os.listdir(tmp_path)) == ["head.onnx", "in.parquet"]


def test_a_file_at_the_standard_input_is_a_file(tmp_path: Path) -> None:
    onnx.save_model(HEAD, tmp_path / "head.onnx")
    command = [sys.executable, "-m", "onnx_maxpool", "run", "/dev/stdin"]
    sizes = [word for size in ("N=1", "C=2", "H=9", "W=9", "R=2") for word in ("--dim", size)]
    with (tmp_path / "head.onnx").open("rb") as model:
        done = subprocess.run(
            [*command, *sizes], stdin=model, env=environment(), capture_output=True, timeout=60, check=False
        )
    assert (done.returncode, done.stderr) == (0, b"")
