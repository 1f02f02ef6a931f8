"""What the scripts of a release and of the docs keep, replace and say: test_matrix.py, build_wheels.py and others."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SCRIPTS))


@pytest.fixture
def matrix() -> ModuleType:
    pytest.importorskip("tomllib", reason="the script itself runs on Python 3.11")
    return importlib.import_module("test_matrix")


class Calls(list[str]):
    """Commands in the place of subprocess.run, of which some fail."""

    fails = ""

    def __call__(self, command: list[Any], **options: Any) -> Any:
        self.append(" ".join(map(str, command)))
        if "--target" in command:
            Path(command[command.index("--target") + 1]).mkdir()
        if self.fails and self.fails in self[-1]:
            raise KeyboardInterrupt


@pytest.fixture
def calls(matrix: ModuleType, monkeypatch: pytest.MonkeyPatch) -> Calls:
    found = Calls()
    monkeypatch.setattr(matrix.subprocess, "run", found)
    monkeypatch.setattr(matrix.shutil, "which", lambda name: name)
    return found


def test_other_floors_make_another_environment(matrix: ModuleType, calls: Calls, tmp_path: Path) -> None:
    cell, wheel = matrix.Cell("oldest-3.10", "3.10", {"numpy": "1.0"}), Path("w.whl")
    matrix.environment(cell, wheel, tmp_path)
    assert len(calls) == 3
    matrix.environment(cell, wheel, tmp_path)
    assert len(calls) == 4  # the wheel alone
    matrix.environment(matrix.Cell("oldest-3.10", "3.10", {"numpy": "9.9"}), wheel, tmp_path)
    assert len(calls) == 7
    assert (tmp_path / "oldest-3.10" / "constraints.txt").read_text() == "numpy==9.9\n"


def test_a_folder_of_the_users_is_no_environment_of_the_matrix(
    matrix: ModuleType, calls: Calls, tmp_path: Path
) -> None:
    (tmp_path / "oldest-3.10").mkdir()
    (tmp_path / "oldest-3.10" / "thesis.tex").write_text("mine")
    with pytest.raises(SystemExit, match="holds no environment that this script made"):
        matrix.environment(matrix.Cell("oldest-3.10", "3.10"), Path("w.whl"), tmp_path)
    assert (tmp_path / "oldest-3.10" / "thesis.tex").exists()


def test_a_runtime_that_was_broken_off_is_installed_again(matrix: ModuleType, calls: Calls, tmp_path: Path) -> None:
    cell, wheel = matrix.Cell("onnxruntime-1.24.1", "3.11", runtime="1.24.1"), Path("w.whl")
    calls.fails = "--target"
    with pytest.raises(KeyboardInterrupt):
        matrix.environment(cell, wheel, tmp_path)
    calls.fails = ""
    _, variables = matrix.environment(cell, wheel, tmp_path)
    assert sum("--target" in call for call in calls) == 2
    matrix.environment(cell, wheel, tmp_path)
    assert sum("--target" in call for call in calls) == 2
    assert Path(variables["PYTHONPATH"]).is_dir()


def test_tests_without_output_have_a_row(matrix: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Done:
        returncode, stdout = 3, "{}"

    monkeypatch.setattr(matrix, "environment", lambda *_: (Path("python"), {}))
    monkeypatch.setattr(matrix.subprocess, "run", lambda *_, **__: Done())
    assert matrix.run(matrix.Cell("c", "3.11"), Path("w.whl"), tmp_path)["result"] == "no output, exit code 3"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        *((0.5, "0.50"), (0.994, "0.99"), (0.996, "0.99"), (0.9999, "0.99"), (1, "1.0"), (9.94, "9.9")),
        *((9.97, "10"), (10.4, "10"), (123.4, "123"), (None, "")),
    ],
)
def test_a_ratio_has_two_digits_and_what_is_slower_does_not_look_as_fast(ratio: float | None, text: str) -> None:
    assert importlib.import_module("speed_tables").short(ratio) == text


@pytest.mark.parametrize("calls", ["abc", "0", "-3", "1.5"])
def test_a_number_of_calls_is_checked(
    calls: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = importlib.import_module("time_functions")
    monkeypatch.setattr(sys, "argv", ["time_functions.py", "--", calls])
    with pytest.raises(SystemExit) as stopped:
        script.main()
    assert stopped.value.code == 2
    assert f"{calls!r}, expected an integer of at least 1" in capsys.readouterr().err


def test_what_writes_no_weights_leaves_none_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = importlib.import_module("build_models")
    monkeypatch.setattr(sys, "argv", ["build_models.py", "--check", "--skip-large"])
    with pytest.raises(SystemExit) as stopped:
        script.main()
    assert stopped.value.code == 2
    assert "--skip-large means nothing with --check" in capsys.readouterr().err
