"""Bug reports: the smallest case, why the answer is what it is, and a program that shows it without this package."""

from __future__ import annotations

import builtins
import dis
import functools
import importlib.metadata
import inspect
import itertools
import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from support.extras import needed
from support.private_faults import backend

from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.cli.main import main
from onnx_maxpool.conformance import BackendRun, Outcome, all_cases
from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.conformance.bugs import write_bugs
from onnx_maxpool.conformance.bugs.derivation import derivation
from onnx_maxpool.conformance.bugs.script import indented, model_text, runner_of
from onnx_maxpool.conformance.oracle.answers import ANSWERS
from onnx_maxpool.conformance.run.execution import Execution, execute
from onnx_maxpool.conformance.run.judge import judge
from onnx_maxpool.conformance.run.runner import run_cases
from onnx_maxpool.conformance.search import hunt as search

pytestmark = pytest.mark.slow("reduces cases, and starts a process for each trial")

ROOT = Path(__file__).parent.parent.parent
FINDINGS = {
    f"{page.stem}-{section.splitlines()[0].removeprefix('## ')}": section
    for page in sorted((ROOT / "docs" / "findings").glob("*.md"))
    for section in re.split(r"^(?=## )", page.read_text(), flags=re.MULTILINE)[1:]
}
"""The sections of the runtimes' pages."""
OURS = {"native", "reference", "python", "portable"}

WITHOUT_US = "import runpy, sys; sys.modules['onnx_maxpool'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
"""A program that fails where the script at the path imports this package."""


def run_script(path: Path, *, ours: bool = False) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(path)] if ours else [sys.executable, "-c", WITHOUT_US, str(path)]
    paths = os.pathsep.join([str(ROOT / "tests"), str(ROOT / "ops"), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=120)


def case_named(name: str) -> Any:
    return next(case for case in all_cases() if case.name == name)


def test_a_report_of_stock_onnxruntime_shows_without_this_package(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pattern = "^max_roi_pool_1_minus_infinity$"
    with pytest.raises(SystemExit) as stopped:
        main(["conformance", "--backend", "onnxruntime", "--case", pattern, "--bugs", str(tmp_path / "bugs")])
    assert stopped.value.code == 1
    (home,) = (tmp_path / "bugs").iterdir()
    assert f"wrote {home}" in capsys.readouterr().out
    shown = run_script(home / "reproduce.py")
    assert shown.returncode == 1, shown.stderr
    assert "Y[0, 0, 0, 0] is -3.4028234663852886e+38, expected -inf" in shown.stdout
    page = (home / "README.md").read_text()
    assert "maximum starts at the lowest finite number" in page
    assert "- clipped to the map [1,1]: H 0 to 0, W 0 to 0 (M8, G1)" in page
    assert "- the maximum is -inf (G2)" in page
    assert (home / "reproduce.py").read_text().strip() in page


@pytest.mark.parametrize("name", ["ExtentBinsChannel", "OddWidthAbove200"])
def test_what_a_search_found_has_a_report(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks = itertools.count()  # a clock that goes by what is done, so that load changes nothing
    counting = functools.partial(search.search, clock=lambda: next(ticks) / 100)
    monkeypatch.setattr("onnx_maxpool.conformance.search.search", counting)
    arguments = ["--backend", f"support.private_faults:{name}", "--search", "12", "--bugs", str(tmp_path / "bugs")]
    operator = {"ExtentBinsChannel": "MaxRoiPool", "OddWidthAbove200": "MaxPooling1"}[name]
    with pytest.raises(SystemExit) as stopped:
        main(["conformance", "--operator", operator, *arguments])
    assert stopped.value.code == 1
    assert "search: " in capsys.readouterr().out
    homes = list((tmp_path / "bugs").iterdir())
    assert homes
    for home in homes:
        shown = run_script(home / "reproduce.py", ours=True)
        assert shown.returncode == 1, shown.stderr
        assert shown.stdout.endswith("The difference shows.\n")


class AnswersAnything:
    """What is refused gets an answer."""

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **_: Any) -> bool:
        return True

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **_: Any) -> Any:
        class Zero:
            def run(self, inputs: Any, **_: Any) -> Any:
                return [np.zeros((1, 1, 1, 1), np.float32)]

        return Zero()


class ImageOfTheLast(AnswersAnything):
    """Whatever the batch number."""

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **_: Any) -> Any:
        class Last:
            def run(self, inputs: Any, **_: Any) -> Any:
                x, rois = inputs
                own = rois.copy()
                own[:, 0] = np.clip(own[:, 0], 0, len(x) - 1)
                return reference_evaluator(model).run(None, {"X": x, "rois": own})

        return Last()


def test_a_refusal_is_reduced_as_long_as_it_is_refused_for_the_same_reason(tmp_path: Path) -> None:
    case = case_named("max_roi_pool_22_batch_n_of_several")

    def ask(model: Any, inputs: Any) -> Any:
        return execute(AnswersAnything, model, inputs)

    (result,) = run_cases(ask, [case])
    (home,) = write_bugs(tmp_path, BackendRun("onnxruntime", {}, (result,)), ask)
    page = (home / "README.md").read_text()
    assert "expected: an error, such as `MaxRoiPool: rois row 0 has batch" in page
    assert "expected an error, got" in (home / "reproduce.py").read_text()


@pytest.mark.parametrize("name", ["max_roi_pool_22_batch_n", "max_roi_pool_22_corners", "max_pooling1_5_rank_3"])
def test_a_program_makes_the_model_that_was_asked(name: str) -> None:
    case = case_named(name)
    program = "\n".join(["def model():", *indented(model_text(case.model())).splitlines()])
    known: dict[str, Any] = {"helper": onnx.helper, "TensorProto": onnx.TensorProto}
    exec(program, known)
    made, asked = known["model"](), case.model()
    for node in (*made.graph.node, *asked.graph.node):
        node.domain = node.domain  # set in both: that of ai.onnx need not be
    assert (made.graph.node, made.graph.input, made.graph.output, made.opset_import) == (
        asked.graph.node,
        asked.graph.input,
        asked.graph.output,
        asked.opset_import,
    )


def test_a_crash_is_shown_by_a_process_of_its_own(tmp_path: Path) -> None:
    case = case_named("max_roi_pool_22_corners")
    fault = backend("ExtentBinsChannel")
    done = execute(fault, case.model(), case.inputs)
    result = judge(case, type(done)("crashed", text="SIGSEGV"))
    assert result.outcome is Outcome.CRASH
    run = BackendRun("support.faulty_backends:CrashesOnManyRois", {}, (result,))
    (home,) = write_bugs(tmp_path, run, lambda model, inputs: type(done)("crashed", text="SIGSEGV"))
    script = (home / "reproduce.py").read_text()
    assert 'subprocess.run([sys.executable, __file__, "run"]' in script
    assert run_script(home / "reproduce.py", ours=True).returncode == 0  # that backend crashes on more ROIs only


@pytest.mark.parametrize(
    ("outcome", "said", "body", "code"),
    [
        ("crashed", "exit code 1", "os._exit(1)", 1),
        ("crashed", "exit code 0", "os._exit(0)", 1),
        ("crashed", "SystemExit", "sys.exit('fatal')", 1),
        ("crashed", "SIGSEGV", "raise ValueError", 0),
        ("crashed", "SIGSEGV", "return [Dies()]", 1),
        ("raised", "ValueError", "return [Raises()]", 1),
        ("raised", "ValueError", "return [X[:1, :1, :1, :1]]", 0),
        ("answered", "", "return iter([X + 1])", 1),
        ("answered", "", "return None", 1),
        ("answered", "", "raise ValueError", 2),
        ("answered", "", None, 2),
    ],
)
def test_the_exit_code_says_whether_the_difference_shows(
    outcome: Any, said: str, body: str | None, code: int, tmp_path: Path
) -> None:
    case = case_named("max_roi_pool_22_corners")
    done = Execution(outcome, tuple(case.inputs.values())[:1] if outcome == "answered" else (), said)
    run = BackendRun("mine:Mine", {}, (judge(case, done),))
    (home,) = write_bugs(tmp_path, run, lambda model, inputs: done)
    if body is not None:  # else it is not to be found
        (home / "mine.py").write_text(MINE.format(body=body))
    ran = run_script(home / "reproduce.py", ours=True)
    assert ran.returncode == code, ran.stdout + ran.stderr
    assert body is not None or "put the folder of mine on PYTHONPATH" in ran.stdout


MINE = """
import os, signal, sys
import numpy as np

class Raises:
    def __array__(self, *arguments, **options):
        raise ValueError("no array")

class Dies:
    def __array__(self, *arguments, **options):
        os.kill(os.getpid(), signal.SIGKILL)

class Mine:
    @staticmethod
    def prepare(model):
        return Mine()

    def run(self, inputs):
        X = inputs[0]
        {body}
"""


def test_a_refusal_has_the_name_of_an_answer_that_was_given(tmp_path: Path) -> None:
    """In the smallest case more answers look alike."""
    case = case_named("max_roi_pool_22_batch_n_of_several")

    def ask(model: Any, inputs: Any) -> Any:
        return execute(ImageOfTheLast, model, inputs)

    (result,) = run_cases(ask, [case])
    assert result.outcome is Outcome.FAIL
    (home,) = write_bugs(tmp_path, BackendRun("onnxruntime", {}, (result,)), ask)
    assert all(answer in ANSWERS["batch"] for answer in result.answers)
    assert "modulo" not in home.name


@pytest.mark.parametrize(
    ("name", "cell", "step"),
    [
        ("max_roi_pool_22_corners", (0, 0, 0, 0), "ROI 0 is ["),
        ("max_pooling1_5_start_padding", (0, 0, 0, 0), "along W: window 0 starts at 0*1 - 1 = -1, 2 cells (P4)"),
        ("adaptive_max_pool_8_index_row_major", (0, 0, 1, 1), "cells floor(1*4/2) = 2 to ceil(2*4/2) - 1 = 3 (A2)"),
    ],
)
def test_a_derivation_says_each_step(name: str, cell: tuple[int, ...], step: str) -> None:
    steps = list(derivation(case_named(name), cell))
    assert any(step in said for said in steps), steps
    assert any("the maximum is" in said for said in steps)


@pytest.mark.parametrize("name", [name for name in BACKENDS if name not in OURS])
def test_how_every_other_backend_runs_a_model_needs_nothing_of_this_package(name: str) -> None:
    text, packages = runner_of(name)
    assert "onnx_maxpool" not in text
    assert "def run(model, inputs):\n" in text
    assert f"PACKAGES = {tuple(packages)}".replace("'", '"') in text
    program = compile(f"import numpy as np\nimport onnx\n{text}", name, "exec")
    known: dict[str, object] = {}
    exec(program, known)
    functions = [value for value in known.values() if inspect.isfunction(value)]
    read = {name for function in functions for name in globals_of(function.__code__)}
    assert read - known.keys() - vars(builtins).keys() == set()


def globals_of(code: types.CodeType) -> set[str]:
    """The names that a function reads from its module, and those that functions and comprehensions in it read."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    inner = [constant for constant in code.co_consts if isinstance(constant, types.CodeType)]
    return own.union(*map(globals_of, inner))


@pytest.mark.parametrize("folder", ["file", "full"])
def test_the_folder_must_be_new_or_empty(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / folder
    path.mkdir() if folder == "full" else path.write_text("mine")
    if folder == "full":
        (path / "mine").write_text("mine")
    with pytest.raises(SystemExit) as stopped:
        main(["conformance", "--bugs", str(path)])
    assert stopped.value.code == 2
    assert f"--bugs {path}" in capsys.readouterr().err


@pytest.fixture(scope="module")
def writer() -> dict[str, Any]:
    """What scripts/write_findings.py defines."""
    return runpy.run_path(str(ROOT / "scripts" / "write_findings.py"))


def test_the_index_lists_every_finding(writer: dict[str, Any]) -> None:
    index = (ROOT / "docs" / "findings" / "index.md").read_text()
    assert len(FINDINGS) >= 37
    assert index == writer["index"]()
    assert len(re.findall(r"^\| \[", index, re.MULTILINE)) == len(FINDINGS)


def packages_of(section: str) -> list[str]:
    """What the program of a finding needs."""
    (listed,) = re.findall(r"^PACKAGES = \((.*)\)$", section, re.MULTILINE)
    return re.findall(r'"([^"]+)"', listed)


ALWAYS, WITH_EXTRA = needed("") | needed("test"), needed("check")
"""Packages that are there wherever the tests run, and where scripts/check runs them."""


def found(name: str) -> object:
    """A finding as a parameter. One that waits for a package says so by its mark."""
    waits = not ALWAYS.issuperset(packages_of(FINDINGS[name]))
    return pytest.param(name, marks=[pytest.mark.extras] if waits else [])


def version_of(package: str) -> str:
    """Its version. Skips the test where it is not there, and need not be."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        if package not in ALWAYS | WITH_EXTRA:
            pytest.skip(f"no extra brings {package}: scripts/write_findings.py runs the program where it is")
        assert package not in ALWAYS
        assert not os.environ.get("ONNX_MAXPOOL_ALL_PEERS")
        pytest.skip(f"{package} is not installed, which the extra check brings")


SAYS = {0: "he difference does not show", 1: "he difference shows"}
"""By its exit code, what a program prints: Python's own exit code of an error is 1, too."""


@pytest.mark.parametrize("name", [found(name) for name in FINDINGS])
def test_a_finding_shows_in_the_version_that_its_section_names(name: str, tmp_path: Path) -> None:
    section = FINDINGS[name]
    (program,) = re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)
    assert "onnx_maxpool" not in program
    compile(program, name, "exec")
    versions = {package: version_of(package) for package in packages_of(program)}
    (tmp_path / "reproduce.py").write_text(program)
    shown = run_script(tmp_path / "reproduce.py")
    same_version = all(f"{name} {version}" in section for name, version in versions.items())
    assert shown.returncode in ({1} if same_version else {0, 1}), shown.stdout + shown.stderr
    assert SAYS[shown.returncode] in shown.stdout, shown.stdout + shown.stderr
