"""The runner of the conformance cases and its command: what right, wrong, crashing and hanging backends come to."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.older_runtimes import cases_that_load_here

from onnx_maxpool.cli.main import main
from onnx_maxpool.conformance import BackendRun, Outcome, all_cases, run_backend
from onnx_maxpool.conformance.backends import BACKENDS, BackendError
from onnx_maxpool.conformance.corpus import case_files
from onnx_maxpool.conformance.report.view import divergences
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import judge

pytestmark = pytest.mark.slow("starts processes, some of which hang")

ROOT = Path(__file__).parent.parent.parent
SEVERAL = "max_roi_pool_22_several_rois"  # the only one of `SOME` with three ROIs
SOME = [case for case in all_cases() if case.name in (SEVERAL, "max_roi_pool_22_corners", "max_roi_pool_22_half_2_5")]


def outcomes(run: Any) -> dict[str, Outcome]:
    return {result.case.name.removeprefix("max_roi_pool_22_"): result.outcome for result in run.results}


@pytest.mark.parametrize("name", ["native", "reference"])
def test_our_own_backends_conform(name: str) -> None:
    run = run_backend(name, cases_that_load_here() if name == "native" else all_cases())
    assert [result.case.name for result in run.results if not result.ours] == []
    assert run.conforms
    assert run.description


def test_stock_onnxruntime_is_what_it_is() -> None:
    """Its MaxRoiPool kernel is float32, for opsets below 22, and computes edges in float32, as the rule does."""
    pattern = re.compile("max_roi_pool_1_(edges|nan_middle|minus_infinity|double|whole_map)|max_roi_pool_22_whole_map")
    run = run_backend("onnxruntime", [case for case in all_cases() if pattern.match(case.name)])
    found = {result.case.name.removeprefix("max_roi_pool_"): result for result in run.results}
    assert found["22_whole_map"].outcome is Outcome.UNSUPPORTED
    assert found["1_double"].outcome is Outcome.UNSUPPORTED
    assert found["1_whole_map"].outcome is Outcome.PASS
    assert found["1_edges_57_in_7"].answers == ("edges in the type's precision",)
    assert found["1_edges_29_in_7"].answers == ("edges in the type's precision",)
    assert found["1_minus_infinity"].answers == ("maximum starts at the lowest finite number",)
    assert found["1_minus_infinity"].outcome is Outcome.FAIL


def test_a_crash_is_an_outcome_and_the_run_goes_on() -> None:
    run = run_backend("support.faulty_backends:CrashesOnManyRois", SOME)
    assert outcomes(run) == {"several_rois": Outcome.CRASH, "corners": Outcome.PASS, "half_2_5": Outcome.PASS}
    crashed = next(result for result in run.results if result.outcome is Outcome.CRASH)
    assert crashed.detail == "SIGSEGV: about to read out of bounds"
    assert not run.conforms


def test_a_hang_is_an_outcome_and_the_run_goes_on() -> None:
    run = run_backend("support.faulty_backends:HangsOnManyRois", SOME, time_limit=1.0)
    assert outcomes(run) == {"several_rois": Outcome.TIMEOUT, "corners": Outcome.PASS, "half_2_5": Outcome.PASS}


def test_a_control_that_crashes_is_a_crash() -> None:
    """No case has that model: nothing else would tell."""
    refusal = next(case for case in all_cases() if case.name == "max_roi_pool_22_batch_n")
    assert refusal.control is not None
    changed = {"rois": refusal.control.inputs["rois"].repeat(3, axis=0)}
    control = dataclasses.replace(refusal.control, inputs={**refusal.control.inputs, **changed})
    run = run_backend("support.faulty_backends:CrashesOnManyRois", [dataclasses.replace(refusal, control=control)])
    assert run.results[0].outcome is Outcome.CRASH
    assert run.results[0].detail.startswith("on the valid control: SIGSEGV")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("my_backend.py:Mine", "my_backend.py:Mine: expected a module without .py: my_backend:Mine"),
        ("none", "expected one of native"),
        ("no_such_module:Backend", "No module named 'no_such_module'"),
        ("support.faulty_backends:NoSuchClass", "NoSuchClass"),
    ],
)
def test_a_backend_that_is_not_there_is_an_error(name: str, words: str) -> None:
    with pytest.raises(BackendError, match=words):
        run_backend(name, SOME)


def test_the_table_of_backends_names_modules_that_are_there() -> None:
    for row in BACKENDS.values():
        module, _, name = row.target.partition(":")
        source = (ROOT / "ops" / "onnx_maxpool" / "conformance" / "backends" / f"{module}.py").read_text()
        assert f"class {name}(" in source


def command(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as stopped:
        main(["conformance", *map(str, arguments)])
    out, err = capsys.readouterr()
    return int(stopped.value.code or 0), out, err


def test_the_command_lists_cases(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    code, out, _ = command(capsys, "--list", "--operator", "MaxRoiPool", "--case", "half_2_5")
    assert code == 0
    assert "max_roi_pool_22_half_2_5" in out
    assert "implementation-defined" in out
    assert len(out.splitlines()) == 3


def test_the_command_writes_cases(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """A folder that it makes, and one that is there and empty."""
    for folder in (tmp_path / "new" / "cases", tmp_path):
        code, out, err = command(capsys, "--case", "^max_roi_pool_22_(half_2_5|batch_n)$", "--export", folder)
        assert (code, out, err) == (0, f"wrote 2 cases to {folder}: 13 files\n", "")
        manifest = json.loads((folder / "manifest.json").read_text())
        cases = {case.name: case for case in all_cases()}
        assert {entry["name"] for entry in manifest["cases"]} == {"max_roi_pool_22_half_2_5", "max_roi_pool_22_batch_n"}
        for entry in manifest["cases"]:
            home, case = folder / entry["folder"], cases[entry["name"]]
            assert {path.relative_to(home).as_posix(): path.read_bytes() for path in home.rglob("*.*")} == dict(
                case_files(case)
            )
        shutil.rmtree(tmp_path / "new", ignore_errors=True)


def test_the_command_leaves_a_folder_that_holds_something(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    code, out, err = command(capsys, "--export", tmp_path)
    assert (code, out) == (2, "")
    assert err == f"--export {tmp_path}: the folder is not empty, expected a new or an empty one\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--operator", "Relu"], "--operator Relu: expected one of MaxRoiPool"),
        (["--case", "nowhere"], "--case nowhere: no case has such a name"),
        (["--case", "("], "--case (: "),
        (["--backend", "none", "--case", SEVERAL], "none: expected one of native"),
        (["--backend", "os:path", "--case", SEVERAL], "os:path: expected a class of onnx.backend.base.Backend"),
        (["--time-limit", "nan"], "--time-limit nan: expected 0.1 to 86400 seconds"),
        (["--memory", "0"], "--memory 0: expected 0.1 to 100000 GB"),
        (["--html", "."], ". is a folder, expected a file"),
    ],
)
def test_the_command_refuses_in_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = command(capsys, *arguments)
    assert (code, out) == (2, "")
    assert err.startswith(words)
    assert err.count("\n") == 1


def test_the_exit_code_is_that_of_required_cases(capsys: pytest.CaptureFixture[str]) -> None:
    pattern = "max_roi_pool_22_(half_2_5|outside_right|corners)"
    code, out, _ = command(capsys, "--backend", "support.faulty_backends:HalfToEven", "--case", pattern)
    assert code == 0
    assert re.search(r"rounding\s+half to even", out)
    code, out, _ = command(capsys, "--backend", "support.faulty_backends:EmptyIsMinusInfinity", "--case", pattern)
    assert code == 1
    assert re.search(r"fail\s+M9\s+max_roi_pool_22_outside_right\s+empty bin is -inf", " ".join(out.split()))


def test_a_crash_is_a_divergence_in_an_open_question_too() -> None:
    question = next(case for case in SOME if not case.required)
    for happened, expected in (("crashed", 1), ("timed out", 1), ("raised", 0)):
        result = judge(question, Execution(happened, text="SIGSEGV"))  # type: ignore[arg-type]
        run = BackendRun("faulty", {}, (result,))
        assert len(list(divergences(run))) == expected
