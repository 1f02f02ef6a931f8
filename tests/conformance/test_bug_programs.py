"""What a bug report says shows where its case runs alone, and its program shows that and nothing else."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import faulty_backends

from onnx_maxpool.conformance import BackendRun, Case, Outcome, all_cases, run_backend
from onnx_maxpool.conformance.bugs import bug_of, write_bugs
from onnx_maxpool.conformance.bugs.again import TRIES
from onnx_maxpool.conformance.reduction.reducer import Limits
from onnx_maxpool.conformance.reduction.shown import judged
from onnx_maxpool.conformance.run.execution import Execution, execute
from onnx_maxpool.conformance.run.judge import Result, judge
from onnx_maxpool.conformance.run.runner import run_cases
from onnx_maxpool.conformance.run.worker import Worker

pytestmark = pytest.mark.slow("reduces cases, and starts processes that crash or hang")

ROOT = Path(__file__).parent.parent.parent


def named(name: str) -> Case:
    return next(case for case in all_cases() if case.name == name)


VALID, REFUSAL = named("max_roi_pool_22_corners"), named("max_roi_pool_22_batch_n_of_several")
SEGV, ABRT = Execution("crashed", text="SIGSEGV: at 7"), Execution("crashed", text="SIGABRT: terminate called")


def ran(path: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """A program's run, in which the backends of the tests are to be found."""
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "ops"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, *options, str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)


def reported(folder: Path, name: str, case: Case) -> tuple[Result, Path]:
    """What a backend of the tests does with a case, and the folder of the bug report."""
    backend = f"support.faulty_backends:{name}"
    run = run_backend(backend, [case], time_limit=2)
    with Worker(backend, 2) as worker:
        (home,) = write_bugs(folder, run, worker.execute)
    return run.results[0], home


def one_after_the_other(*executions: Execution) -> Any:
    """A backend that does these things, and then the last one for ever."""
    left: Iterator[Execution] = iter(executions)
    last = executions[-1]
    return lambda model, inputs: next(left, last)


def test_another_fault_that_a_fresh_run_shows_is_not_reported() -> None:
    (result,) = [judge(VALID, SEGV)]
    bug = bug_of(result, one_after_the_other(ABRT))
    assert (bug.again, bug.result) == (False, result)


def test_what_shows_now_and_then_is_tried_a_few_times() -> None:
    right = Execution("answered", VALID.expected)
    result = judge(VALID, right, again=[SEGV, right])
    assert result.detail == "1 of 3 runs: SIGSEGV: at 7"
    assert bug_of(result, one_after_the_other(*[right] * (TRIES - 1), SEGV)).again
    assert not bug_of(result, one_after_the_other(*[right] * TRIES, SEGV)).again


def test_the_page_says_where_it_did_not_show_again(tmp_path: Path) -> None:
    run = BackendRun("onnxruntime", {}, (judge(VALID, SEGV),))
    (home,) = write_bugs(tmp_path, run, one_after_the_other(ABRT))
    page = (home / "README.md").read_text()
    assert "It did not show again where this case ran by itself" in page
    assert "SIGSEGV" in page
    assert "SIGABRT" not in page


def test_a_reduction_does_not_go_over_to_another_signal() -> None:
    """One channel ends in another way than two."""

    def ends(model: Any, inputs: Any) -> Execution:
        return SEGV if inputs["X"].shape[1] > 1 else ABRT

    case = named("max_roi_pool_22_whole_map")
    case = case if case.inputs["X"].shape[1] > 1 else named("max_roi_pool_22_corners")
    assert case.inputs["X"].shape[1] > 1
    bug = bug_of(judge(case, SEGV), ends)
    assert bug.result.case.inputs["X"].shape[1] == 2
    assert bug.result.detail.startswith("SIGSEGV")


@pytest.mark.parametrize(("change", "sort"), [(7, "a greater number"), (-7, "a smaller number")])
def test_a_greater_number_is_another_sort_than_a_smaller_one(change: float, sort: str) -> None:
    shown = judged(VALID, Execution("answered", (VALID.expected[0] + np.float32(change),)))
    assert shown is not None
    assert shown.sort == sort


def test_two_faults_stay_two(tmp_path: Path) -> None:
    """The smallest case of the one is no case of the other."""
    names = ("max_roi_pool_22_corners", "max_roi_pool_22_negative_cells")
    cases = [case for case in all_cases() if case.name in names]
    assert len(cases) == 2

    def ask(model: Any, inputs: Any) -> Execution:
        return execute(faulty_backends.TwoFaults, model, inputs)

    found = tuple(run_cases(ask, cases))
    homes = write_bugs(tmp_path, BackendRun("onnxruntime", {}, found), ask)
    assert len(homes) == 2
    programs = [(home / "reproduce.py").read_text() for home in homes]
    assert programs[0].partition("def model")[2] != programs[1].partition("def model")[2]


def test_what_comes_down_to_one_case_is_one_report(tmp_path: Path) -> None:
    cases = [named("max_roi_pool_22_corners"), named("max_roi_pool_22_minus_infinity")]
    run = BackendRun("onnxruntime", {}, tuple(judge(case, SEGV) for case in cases))
    (home,) = write_bugs(tmp_path, run, lambda model, inputs: SEGV)
    assert "The same shows in max_roi_pool_22_minus_infinity (G2)." in (home / "README.md").read_text()


def test_where_the_smallest_case_is_that_of_another_difference_the_case_stays_as_it_is(tmp_path: Path) -> None:
    """Of an answer with a name and one without, the reduction may come to the same."""
    cases = [named("max_roi_pool_22_corners"), named("max_roi_pool_22_minus_infinity")]
    first, second = (judge(case, SEGV) for case in cases)
    second = Result(**{**vars(second), "answers": ("maximum starts at the lowest finite number",)})
    homes = write_bugs(tmp_path, BackendRun("onnxruntime", {}, (first, second)), lambda model, inputs: SEGV)
    assert len(homes) == 2
    assert "-inf" in (homes[1] / "reproduce.py").read_text()


def test_a_crash_of_the_control_shows_the_control(tmp_path: Path) -> None:
    result, home = reported(tmp_path, "CrashesOnValid", REFUSAL)
    assert (result.outcome, result.detail) == (Outcome.CRASH, "on the valid control: SIGSEGV")
    shown = ran(home / "reproduce.py")
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "exit code of the process that runs the model: -11" in shown.stdout
    assert "expected: an error" not in (home / "README.md").read_text()


def test_a_program_for_what_hangs_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("onnx_maxpool.conformance.bugs.Limits", lambda seconds: Limits(0.0, 0))
    result, home = reported(tmp_path, "HangsOnRefusal", REFUSAL)
    assert result.outcome is Outcome.TIMEOUT
    program = (home / "reproduce.py").read_text()
    assert "RUNS, SECONDS = 1, 60\n" in program
    (home / "reproduce.py").write_text(program.replace("RUNS, SECONDS = 1, 60\n", "RUNS, SECONDS = 1, 10\n"))
    shown = ran(home / "reproduce.py")
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert "it does not end within 10 s" in shown.stdout


def test_a_program_for_what_is_unstable_runs_it_several_times(tmp_path: Path) -> None:
    result, home = reported(tmp_path, "GuessesOnRefusal", REFUSAL)
    assert result.outcome is Outcome.UNSTABLE
    shown = ran(home / "reproduce.py")
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert shown.stdout.endswith("5 different answers to the same model and inputs\nThe difference shows.\n")
    always = (home / "reproduce.py").read_text().replace("GuessesOnRefusal", "AlwaysZero")
    (home / "reproduce.py").write_text(always)
    shown = ran(home / "reproduce.py")
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout.endswith("1 different answers to the same model and inputs\nThe difference does not show.\n")


GROWS = """
import time


class Grows:
    @staticmethod
    def prepare(model):
        return Grows()

    def run(self, inputs):
        blocks = []
        while len(blocks) < 100:
            blocks.append(b"x" * 10_000_000)
            time.sleep(0.01)
"""


def test_a_program_for_what_takes_too_much_memory_ends_it(tmp_path: Path) -> None:
    result = judge(VALID, Execution("crashed", text="took more than 0.5 GB of memory"))
    done = Execution("crashed", text="took more than 0.5 GB of memory")
    (home,) = write_bugs(tmp_path, BackendRun("grows:Grows", {}, (result,)), lambda model, inputs: done)
    assert "takes more than 0.5 GB of memory" in (home / "README.md").read_text()
    (home / "grows.py").write_text(GROWS)
    shown = ran(home / "reproduce.py")
    assert shown.returncode == 1, shown.stdout + shown.stderr
    assert shown.stdout.endswith("The difference shows.\n")
    (home / "grows.py").write_text(GROWS.replace("100", "1"))
    assert ran(home / "reproduce.py").returncode == 0
    (home / "grows.py").write_text(GROWS.replace("import time", "import no_such_module"))
    assert ran(home / "reproduce.py").returncode == 2


@pytest.mark.parametrize("outcome", [o for o in Outcome if o not in (Outcome.PASS, Outcome.UNSUPPORTED)])
def test_without_what_it_needs_a_program_cannot_be_tried(outcome: Outcome, tmp_path: Path) -> None:
    """A Python without packages."""
    result = Result(VALID, outcome, (), "SIGSEGV", None, 0.0)
    (home,) = write_bugs(tmp_path, BackendRun("onnxruntime", {}, (result,)), lambda model, inputs: SEGV)
    shown = ran(home / "reproduce.py", "-I", "-S")
    assert shown.returncode == 2
    assert shown.stdout.endswith("this program needs NumPy, onnx and onnxruntime\n"), shown.stdout
    assert shown.stderr == ""


def test_only_what_is_otherwise_than_required_is_a_bug(tmp_path: Path) -> None:
    """A search finds answers that the texts allow, and reports of older versions have what was not supported."""
    level = "implementation-defined"
    kinds = [
        (Outcome.UNSUPPORTED, "required", 0),
        (Outcome.PASS, level, 0),
        (Outcome.FAIL, level, 0),
        (Outcome.CRASH, level, 1),
        (Outcome.CRASH, "required", 1),
    ]
    for i, (outcome, asked, expected) in enumerate(kinds):
        result = Result(dataclasses.replace(VALID, level=asked), outcome, (), "SIGSEGV", None, 0.0)  # type: ignore[arg-type]
        run = BackendRun("onnxruntime", {}, (), search=(result,))
        assert len(write_bugs(tmp_path / str(i), run, lambda model, inputs: SEGV)) == expected
