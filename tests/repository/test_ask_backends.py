"""scripts/ask_backends.py and environments.py: which answers are kept, and that nothing of the user's is deleted."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
import typer

from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.report.records import json_report
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import judge
from onnx_maxpool.conformance.run.runner import BackendRun

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("ask_backends")


@pytest.fixture
def environments(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("environments")


@pytest.fixture
def answers(script: ModuleType, tmp_path: Path) -> Path:
    """Answers to all cases, with the cases' digests."""
    run = BackendRun("reference", {}, tuple(judge(case, Execution("unsupported")) for case in all_cases()))
    file = tmp_path / "reference.json"
    file.write_text(json.dumps(json_report([run])))
    script.cases_of(file).write_text(script.cases_now())
    return file


def test_answers_to_a_case_that_has_changed_are_not_kept(
    script: ModuleType, answers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert script.still_true(answers).backend == "reference"
    first, *others = all_cases()
    name, array = next(iter(first.inputs.items()))
    changed = replace(first, inputs={**first.inputs, name: array + array.dtype.type(1)})
    monkeypatch.setattr(script, "all_cases", lambda: [changed, *others])
    script.cases_now.cache_clear()
    try:
        assert script.kept(answers) is not None
        assert script.still_true(answers) is None
    finally:
        script.cases_now.cache_clear()


def test_answers_of_unknown_cases_are_not_kept(script: ModuleType, answers: Path) -> None:
    script.cases_of(answers).unlink()
    assert script.still_true(answers) is None


def test_a_backend_that_does_not_answer_leaves_what_is_kept(script: ModuleType, answers: Path) -> None:
    before = answers.read_bytes()
    with pytest.raises(SystemExit, match="reference: exit code"):
        script.ask("reference", Path("/no/python"), answers)
    assert answers.read_bytes() == before
    assert script.still_true(answers) is not None


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("tvm", "--environment tvm, expected NAME=PYTHON"),
        ("no-such=python", "no-such, expected openvino, tvm"),
        ("tvm=/no/python", "/no/python is no file, expected a Python"),
    ],
)
def test_an_environment_is_checked_first(given: str, message: str, script: ModuleType) -> None:
    with pytest.raises(typer.BadParameter, match=message):
        script.interpreters([given])
    assert script.interpreters([f"tvm={sys.executable}"]) == {"tvm": Path(sys.executable)}


def test_an_environment_is_made_in_no_folder_of_the_users(environments: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(SystemExit, match="holds no environment that this script made"):
        environments.python_with(["numpy"], tmp_path)
    assert (tmp_path / "thesis.tex").read_text() == "mine"


@pytest.mark.parametrize("mark", ["begun", "installed", None])
def test_an_environment_that_is_not_whole_is_made_again(
    mark: str | None, environments: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    monkeypatch.setattr(environments.subprocess, "run", lambda command, check: asked.append(command))
    home = tmp_path / "home"
    home.mkdir()
    if mark:
        (home / mark).write_text("another package")
        (home / "stale").touch()
    assert environments.python_with(["numpy", "onnx"], home) == home / "bin" / "python"
    assert asked[1][-2:] == ["numpy", "onnx"]
    assert not (home / "stale").exists()
    assert environments.python_with(["numpy", "onnx"], home) == home / "bin" / "python"
    assert len(asked) == 2
