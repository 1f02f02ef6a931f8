"""scripts/try_runtimes.py: processes that end, hang or answer nonsense, and what counts as expected."""

from __future__ import annotations

import importlib
import json
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from onnx import parser

ROOT = Path(__file__).parent.parent.parent
MODEL = "g (float[2] X) => (float[2] Y) { Y = Relu (X) }"
RIGHT = {"right": 3, "of": 3, "fault": ""}
WRONG = {"right": 0, "of": 3, "fault": "all wrong"}


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("try_runtimes")


@pytest.fixture
def running(tried: ModuleType) -> ModuleType:
    return importlib.import_module("runtime_answers")


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("runtime_worker")


@pytest.fixture
def todo(running: ModuleType) -> list[Any]:
    """Three jobs for ONNX Runtime."""
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {MODEL}')
    x = np.array([-1, 1], np.float32)
    return [running.Job("kind", "form", {"X": x}, model, [np.array([0, 1], np.float32)])] * 3


@pytest.fixture
def python(tmp_path: Path) -> Callable[[str], str]:
    """A program in the place of Python, which gets the worker's arguments."""

    def write(body: str) -> str:
        path = tmp_path / "python"
        path.write_text(f"#!/bin/sh\n{body.format(python=sys.executable)}\n")
        path.chmod(0o755)
        return str(path)

    return write


def words(answers: list[Any]) -> list[str]:
    return [answer if isinstance(answer, str) else "outputs" for answer in answers]


def test_a_crash_after_the_last_job_leaves_its_answer(
    running: ModuleType, todo: list[Any], python: Callable[[str], str], tmp_path: Path, capsys: Any
) -> None:
    found = running.answers("onnxruntime", python('{python} "$@"; exit 139'), todo, tmp_path / "jobs")
    assert [running.difference(each, job.expected) for each, job in zip(found, todo, strict=True)] == ["", "", ""]
    assert "onnxruntime: the process ends with 139 after job 2" in capsys.readouterr().err


@pytest.mark.parametrize("code", [0, 3])
def test_a_process_that_ends_in_a_job_ends_that_job_only(
    code: int, running: ModuleType, todo: list[Any], python: Callable[[str], str], tmp_path: Path
) -> None:
    """Also where it says that all is well."""
    body = f'case $4 in 0) touch "$3/0000/started"; exit {code};; *) exec {{python}} "$@";; esac'
    assert words(running.answers("onnxruntime", python(body), todo, tmp_path / "jobs")) == [
        f"the process ends with {code}",
        "outputs",
        "outputs",
    ]


def test_a_worker_that_does_not_begin_ends_the_script(
    running: ModuleType, todo: list[Any], python: Callable[[str], str], tmp_path: Path
) -> None:
    with pytest.raises(SystemExit, match="the process ends with 0 before it begins job 0"):
        running.answers("onnxruntime", python("exit 0"), todo, tmp_path / "jobs")


def test_all_jobs_have_one_limit(
    running: ModuleType,
    todo: list[Any],
    python: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A crash does not begin it again, and what the process began ends with it."""
    monkeypatch.setattr(running, "LIMIT_S", 3)
    body = 'touch "$3/000$4/started"; case $4 in 0) sleep 1; exit 3;; *) sleep 60 & wait;; esac'
    begun = time.monotonic()
    assert words(running.answers("onnxruntime", python(body), todo, tmp_path / "jobs")) == [
        "the process ends with 3",
        "the jobs took longer than 3 s in all",
        "not asked: the jobs before took longer than 3 s",
    ]
    assert time.monotonic() - begun < 30


def test_a_script_that_is_stopped_ends_its_workers(
    running: ModuleType,
    todo: list[Any],
    python: Callable[[str], str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Ctrl-C comes to the main thread, and the runtimes run in others."""
    stopped = threading.Event()
    monkeypatch.setattr(running, "STOPPED", stopped)
    timer = threading.Timer(1, stopped.set)
    timer.start()
    begun = time.monotonic()
    with pytest.raises(SystemExit, match="stopped"):
        running.answers("onnxruntime", python("sleep 60 & wait"), todo, tmp_path / "jobs")
    assert time.monotonic() - begun < 30


@pytest.mark.parametrize("given", [None, [None], ["words"]])
def test_what_is_no_array_of_numbers_is_an_error(
    given: Any, worker: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = tmp_path / "0000"
    job.mkdir()
    np.savez(job / "inputs.npz", X=np.zeros(1))
    monkeypatch.setitem(worker.RUNTIMES, "toy", lambda path, feeds: given)
    worker.main("toy", str(tmp_path), "0")
    assert (job / "error.txt").read_text().startswith("TypeError: ")
    assert not (job / "outputs.npz").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([np.array([np.nan, 1])], "NaN"),
        ([np.array([5.0, 1])], "1 of 1 are lost"),
        ([np.array([np.nan, 2])], "1 of 1 other cells differ"),
        ([np.zeros(3)], "shape [3], expected [2]"),
        ([], "0 outputs, expected 1"),
        ("the process ends with -11", "`the process ends with -11`"),
    ],
)
def test_what_a_nan_gives(given: Any, said: str, running: ModuleType) -> None:
    assert running.what_a_nan_gives(given, [np.array([np.nan, 1])]) == said


@pytest.mark.parametrize(
    ("runtime", "form", "kind", "is_expected"),
    [
        ("onnxruntime", "with control flow", "MaxRoiPool", False),
        ("onnxruntime", "without control flow", "MaxRoiPool", False),
        ("opencv", "with control flow", "MaxRoiPool", True),
        ("tract", "with control flow", "MaxPooling1, rank 4", False),
        ("tract", "without control flow", "MaxPooling1, rank 4", False),
    ],
)
def test_every_form_counts(runtime: str, form: str, kind: str, is_expected: bool, tried: ModuleType) -> None:
    found: dict[str, Any] = {tried.STATIC: {}, tried.LOOPS: {}, tried.NAN: {}}
    found[form][kind] = WRONG
    assert (tried.unexpected(tried.RUNTIMES[runtime], found) == "") == is_expected
    found[form][kind] = RIGHT
    assert tried.unexpected(tried.RUNTIMES[runtime], found) == ""


@pytest.mark.parametrize(
    ("runtime", "said", "is_expected"),
    [
        ("onnxruntime", "NaN", True),
        ("onnxruntime", "12 of 24 are lost", False),
        ("opencv", "12 of 24 are lost", True),
        ("opencv", "24 of 24 other cells differ", False),
        ("onnxruntime_qnn", "137 of 168 other cells differ", True),
        ("opencv", "0 outputs, expected 1", False),
    ],
)
def test_a_nan_counts(runtime: str, said: str, is_expected: bool, tried: ModuleType) -> None:
    found = {tried.STATIC: {}, tried.LOOPS: {}, tried.NAN: {"MaxRoiPool, NaN in the map": said}}
    assert (tried.unexpected(tried.RUNTIMES[runtime], found) == "") == is_expected


def test_what_is_known_is_what_the_page_says(tried: ModuleType) -> None:
    results = json.loads(tried.DOCUMENT.with_suffix(".json").read_text())
    for name, found in results.items():
        assert tried.unexpected(tried.RUNTIMES[name], found) == "", name


def test_an_error_without_words_is_a_fault(
    tried: ModuleType, todo: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = [replace(job, form=tried.STATIC) for job in todo]
    monkeypatch.setattr(tried, "answers", lambda *_: ["Exception from here\n"] * 3)
    found = tried.tried("onnxruntime", sys.executable, jobs, tmp_path)
    assert found[tried.STATIC]["kind"] == {"right": 0, "of": 3, "fault": "an error without words"}


def test_the_page_says_how_many_cases_it_is_from(tried: ModuleType) -> None:
    kind = "AdaptiveMaxPool, rank 3"
    few = {"version": "1", tried.STATIC: {kind: {"right": 1, "of": 1, "fault": ""}}, tried.LOOPS: {}, tried.NAN: {}}
    enough = {**few, tried.STATIC: {kind: RIGHT}, "count": 3, "seed": 2026}
    page = tried.document({"onnxruntime": few, "tract": enough})
    assert "| ONNX Runtime | 1 | float | 1, not kept | 1 of 1 |" in page
    assert "| tract | 1 | float | 3, 2026 | 3 of 3 |" in page
    assert f"| {kind} | 1 of 1 | right |" in page


def test_both_forms_are_asked_all_cases(tried: ModuleType) -> None:
    """One case says too little of a kind."""
    runtime = tried.Runtime("toy", [], "onnxruntime")
    found = list(tried.jobs(runtime, 2, 1, brief=False))
    for form in (tried.STATIC, tried.LOOPS):
        assert sum(job.kind == "AdaptiveMaxPool, rank 3" and job.form == form for job in found) == 2
