"""What the scripts of a release and of the docs keep, replace and say: test_matrix.py, build_wheels.py and others."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.processes import run_python

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


@pytest.fixture
def wheels(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """build_wheels.py, whose builds are empty files."""
    pytest.importorskip("ziglang", reason="of the extra `wheels`")
    script = importlib.import_module("build_wheels")

    def write(path: Path) -> Path:
        path.touch()
        return path

    monkeypatch.setattr(script, "source_distribution", lambda out: write(out / "onnx_maxpool-2.tar.gz"))
    monkeypatch.setattr(
        script, "build", lambda platform, source, out: write(out / f"onnx_maxpool-2-py3-none-{platform.tag}.whl")
    )
    return script


@pytest.fixture
def dist(tmp_path: Path) -> Path:
    """A folder with an earlier build, and files that are not ours."""
    for name in ("1.tar.gz", "1-py3-none-win_amd64.whl", "1-py3-none-manylinux_2_17_x86_64.whl", "cases-1.tar.gz"):
        (tmp_path / (f"onnx_maxpool-{name}" if "cases" not in name else f"onnx-maxpool-{name}")).touch()
    (tmp_path / "other-1.whl").touch()
    return tmp_path


KEPT = ["onnx-maxpool-cases-1.tar.gz", "other-1.whl"]


def test_a_build_for_one_platform_replaces_that_platforms_wheel(wheels: ModuleType, dist: Path) -> None:
    wheels.main(["linux-x86_64"], dist)
    own = ["2-py3-none-manylinux_2_17_x86_64.whl", "1-py3-none-win_amd64.whl", "2.tar.gz"]
    assert sorted(path.name for path in dist.iterdir()) == sorted([*KEPT, *(f"onnx_maxpool-{name}" for name in own)])


def test_a_build_for_all_platforms_replaces_all_wheels(wheels: ModuleType, dist: Path) -> None:
    (dist / "onnx_maxpool-1-py3-none-an_older_platform.whl").touch()
    wheels.main(None, dist)
    own = sorted(path.name for path in dist.iterdir() if path.name not in KEPT)
    assert len(own) == 1 + len(wheels.PLATFORMS)
    assert all(name.startswith("onnx_maxpool-2") for name in own)


@pytest.mark.parametrize("step", ["source_distribution", "build"])
def test_a_build_that_fails_changes_nothing(
    step: str, wheels: ModuleType, dist: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Path:
        raise SystemExit("no network")

    before = sorted(dist.iterdir())
    monkeypatch.setattr(wheels, step, fail)
    with pytest.raises(SystemExit, match="no network"):
        wheels.main(None, dist)
    assert sorted(dist.iterdir()) == before


def test_the_help_says_what_a_build_replaces(wheels: ModuleType) -> None:
    done = run_python(SCRIPTS / "build_wheels.py", "--help", variables={"COLUMNS": "200"})
    assert "it replaces what earlier builds left in --out" in " ".join(done.stdout.split())
