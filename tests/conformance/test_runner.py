"""The runner, the command line, the reports and the unittest classes."""

from __future__ import annotations

import dataclasses
import html
import html.parser
import json
import re
import shutil
import subprocess
import sys
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.faulty_backends import EmptyIsMinusInfinity, Good, LacksEverything, LacksTwoChannels
from support.older_runtimes import cases_that_load_here

from onnx_maxpool.cli.main import main
from onnx_maxpool.conformance import BackendRun, BackendTest, Outcome, all_cases, run_backend
from onnx_maxpool.conformance.backends import BACKENDS, BackendError
from onnx_maxpool.conformance.corpus import case_files
from onnx_maxpool.conformance.report.formats import cells
from onnx_maxpool.conformance.report.view import divergences
from onnx_maxpool.conformance.run.execution import Execution
from onnx_maxpool.conformance.run.judge import judge
from onnx_maxpool.operators.rules import RULES

pytestmark = pytest.mark.slow("starts processes, some of which hang")

ROOT = Path(__file__).parent.parent.parent
REPORTED = "^max_roi_pool_[0-9]*_(empty|outside|corners|half|bins|batch_n)"
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


def test_a_control_that_crashes_leaves_the_refusal_unasked() -> None:
    refusal = next(case for case in all_cases() if case.name == "max_roi_pool_22_batch_n")
    assert refusal.control is not None
    changed = {"rois": refusal.control.inputs["rois"].repeat(3, axis=0)}
    control = dataclasses.replace(refusal.control, inputs={**refusal.control.inputs, **changed})
    run = run_backend("support.faulty_backends:CrashesOnManyRois", [dataclasses.replace(refusal, control=control)])
    assert run.results[0].outcome is Outcome.UNSUPPORTED


@pytest.mark.parametrize(
    ("name", "words"),
    [
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
    assert err == f"--export {tmp_path}: the folder holds files already, expected a new or an empty one\n"
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


class Page(html.parser.HTMLParser):
    """Collects ids, links and loads, and checks that elements nest."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.loads: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        if str(given.get("href", "")).startswith("#"):
            self.targets.append(str(given["href"])[1:])
        elif tag in ("link", "img", "script", "iframe") and (given.get("src") or given.get("href")):
            self.loads.append(tag)
        if tag not in ("meta", "input", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """All four, of a right backend and a wrong one."""
    folder = tmp_path_factory.mktemp("reports")
    files = {name: folder / f"report.{name}" for name in ("html", "json", "junit", "markdown")}
    options = [option for name, path in files.items() for option in (f"--{name}", str(path))]
    backends = ["--backend", "native", "--backend", "support.faulty_backends:EmptyIsMinusInfinity"]
    with pytest.raises(SystemExit) as stopped:
        main(["conformance", *backends, "--case", REPORTED, *options])
    assert stopped.value.code == 1
    return {name: path.read_text() for name, path in files.items()}


def test_the_page_is_whole(reports: dict[str, str]) -> None:
    page = Page()
    page.feed(reports["html"])
    assert page.open == []
    assert page.loads == []
    assert len(page.ids) == len(set(page.ids))
    assert set(page.targets) <= set(page.ids)
    for case in all_cases():
        assert (case.name in page.ids) == bool(re.match(REPORTED, case.name))
    sources = {source.document.url for rule in RULES.values() for source in rule.sources}
    links = set(re.findall(r'"(http[^"]*)"', reports["html"])) - {"http://www.w3.org/2000/svg"}
    assert links
    assert links <= sources


def test_the_page_draws_the_window_of_the_wrong_cell(reports: dict[str, str]) -> None:
    found = re.search(r'<details id="max_roi_pool_22_empty_beside_full".*?</details>', reports["html"], re.DOTALL)
    assert found is not None
    assert "<title>Y[0, 0, 0, 2] is the maximum of [0, 1) x [5, 4) in image 0, channel 0</title>" in found[0]
    assert "empty bin is -inf" in found[0]
    assert found[0].count('class="cell"') == 4  # the window has no cell on the map


def test_the_markdown_names_the_divergence_and_its_smallest_model(reports: dict[str, str]) -> None:
    lines = [line for line in reports["markdown"].splitlines() if "empty bin is -inf" in line]
    (line,) = [line for line in lines if "| [M9](#m9) |" in line]
    assert "| [max_roi_pool_1_empty_beside_full](#max_roi_pool_1_empty_beside_full)" in line
    rows = [line for line in reports["markdown"].splitlines() if line.startswith("|")]
    assert all(row.endswith("|") for row in rows)


def test_the_markdown_sets_open_answers_side_by_side(reports: dict[str, str]) -> None:
    (line,) = [line for line in reports["markdown"].splitlines() if line.startswith("| rounding |")]
    assert line.count("| half away from zero") == 2
    assert line.count("[max_roi_pool_1_half_") == 2


def test_the_markdowns_links_work_where_it_lies(reports: dict[str, str]) -> None:
    """Each leads to a heading of the page, as GitHub and MyST name headings, or to a published text."""
    page = reports["markdown"]
    headings = [re.sub(r"[^\w -]", "", line.lstrip("# ").lower()).replace(" ", "-") for line in page.splitlines()
                if line.startswith("#")]  # fmt: skip
    assert len(headings) == len(set(headings))
    targets = set(re.findall(r"\]\(([^)]+)\)", page))
    assert len(targets) > 10
    sources = {source.document.url for rule in RULES.values() for source in rule.sources}
    assert targets <= {f"#{heading}" for heading in headings} | sources


def test_every_rule_in_the_reports_cites_its_source(reports: dict[str, str]) -> None:
    """Text, document, section and the quoted text, or why it is ours; in the rules' order."""
    cited = {rule for case in all_cases() if re.match(REPORTED, case.name) for rule in case.rules}
    expected = [number for number in RULES if number in cited]
    assert re.findall(r'id="rule-(\w+)"', reports["html"]) == expected
    assert re.findall(r"^### ([A-Z]\d+)$", reports["markdown"], re.MULTILINE) == expected
    texts = {"html": html.unescape(reports["html"]), "markdown": re.sub(r"\\(.)", r"\1", reports["markdown"])}
    for page in texts.values():
        for number in expected:
            rule = RULES[number]
            assert rule.sources or rule.ours
            parts = [(each.document.title, each.document.url, each.section, each.quote) for each in rule.sources]
            assert all(text in page for text in (rule.text, rule.ours, *(text for part in parts for text in part)))


def test_the_pages_name_versions_processor_date_and_platform(reports: dict[str, str]) -> None:
    ours = json.loads(reports["json"])["backends"][0]
    assert {"date", "processor", "platform", "python", "onnx", "numpy", "onnx-maxpool"} <= ours["environment"].keys()
    for name, value in ours["environment"].items():
        said = value[:10] if name == "date" else value
        assert all(said in html.unescape(reports[page]).replace("\\", "") for page in ("html", "markdown"))


def test_sections_that_are_empty_are_not_shown(tmp_path: Path) -> None:
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    with pytest.raises(SystemExit):
        main(["conformance", "--case", "22_corners", "--html", str(page), "--markdown", str(text)])
    assert re.findall(r'<section class="part" id="(\w+)"', page.read_text()) == ["matrix", "rules", "cases"]
    headings = re.findall(r"^## (.*)$", text.read_text(), re.MULTILINE)
    assert headings == ["Backends", "Backends and rules", "Rules"]


def test_what_is_unsupported_is_folded(tmp_path: Path) -> None:
    """One line for each operator and reason, however many cases there are."""
    page, text = tmp_path / "report.html", tmp_path / "report.md"
    name = "support.faulty_backends:LacksTwoChannels"
    with pytest.raises(SystemExit):
        main(["conformance", "--backend", name, "--case", "^max_roi", "--html", str(page), "--markdown", str(text)])
    section = re.search(r'id="unsupported">.*?</section>', page.read_text(), re.DOTALL)
    assert section is not None
    assert section[0].count("<tr class=") == 2
    (line,) = [line for line in text.read_text().splitlines() if "| NotImplementedError: two channels |" in line]
    count = int(line.split("|")[3])
    assert count > 20


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([1.5, np.nan], np.float32), "float[2] 1.5 nan"),
        (np.array([[1, 22], [333, 4]], np.int32), "int32[2,2]\n  1  22\n333   4"),
        (
            np.arange(8, dtype=np.uint8).reshape(2, 1, 2, 2),
            "uint8[2,1,2,2]\n[0, 0]\n0 1\n2 3\n[1, 0]\n4 5\n6 7",
        ),
        (np.empty((0, 5), np.float32), "float[0,5]"),
        (np.zeros((1, 600), np.int8), f"int8[1,600]\n{' '.join('0' * 512)}\n… 88 more cells"),
    ],
)
def test_arrays_are_broken_by_their_shape(array: np.ndarray, text: str) -> None:
    assert cells(array) == text


def test_the_kept_results_are_of_cases_and_backends_that_there_are() -> None:
    page = (ROOT / "docs" / "conformance-results.md").read_text()
    names = set(re.findall(r"[`\[]([a-z0-9]+(?:_[a-z0-9]+)+)[`\]]", page))
    assert names
    assert names <= {case.name for case in all_cases()}
    assert f" {len(all_cases())} cases." in page
    backends = re.findall(r"^\| (\S+) \| \d+ of \d+ \|", page, re.MULTILINE)
    assert set(backends) <= set(BACKENDS)
    assert {"native", "reference", "onnxruntime", "openvino"} <= set(backends)


def test_a_crash_is_a_divergence_in_an_open_question_too() -> None:
    question = next(case for case in SOME if not case.required)
    for happened, expected in (("crashed", 1), ("timed out", 1), ("raised", 0)):
        result = judge(question, Execution(happened, text="SIGSEGV"))  # type: ignore[arg-type]
        run = BackendRun("faulty", {}, (result,))
        assert len(list(divergences(run))) == expected


def test_the_json_says_everything(reports: dict[str, str]) -> None:
    ours, wrong = json.loads(reports["json"])["backends"]
    assert (ours["conforms"], wrong["conforms"]) == (True, False)
    assert ours["description"]["provider"] == "CPUExecutionProvider"
    assert all(result["outcome"] == "pass" and result["ours"] for result in ours["results"])
    failed = [result for result in wrong["results"] if not result["ours"]]
    assert all("empty bin is -inf" in result["answers"] for result in failed if result["level"] == "required")


def test_junit_counts_required_failures_alone(reports: dict[str, str]) -> None:
    wrong = json.loads(reports["json"])["backends"][1]["results"]
    required = [result for result in wrong if result["level"] == "required" and result["outcome"] != "pass"]
    suites = {suite.get("name"): suite for suite in ElementTree.fromstring(reports["junit"])}
    assert suites["native"].get("failures") == "0"
    assert suites["support.faulty_backends:EmptyIsMinusInfinity"].get("failures") == str(len(required)) != "0"
    assert suites["native"].get("tests") == str(len(wrong))


def run_suite(backend_test: BackendTest) -> unittest.TestResult:
    return backend_test.test_suite.run(unittest.TestResult())


def test_unittest_classes_pass_for_a_right_backend() -> None:
    backend_test = BackendTest(Good, __name__).include("max_roi_pool_22_half|max_roi_pool_22_(corners|batch_n)$")
    result = run_suite(backend_test)
    assert (result.testsRun, result.failures, result.errors, result.skipped) == (4, [], [], [])
    tests = backend_test.test_cases
    assert tests["MaxRoiPoolConformanceTest"].__module__ == __name__
    assert hasattr(tests["MaxRoiPoolConformanceTest"], "test_max_roi_pool_22_corners")
    both = BackendTest(Good, __name__, levels=("required", "implementation-defined")).include("22_half_2_5")
    assert run_suite(both).testsRun == 3


def test_unittest_classes_fail_with_the_question_and_what_it_may_be() -> None:
    result = run_suite(BackendTest(EmptyIsMinusInfinity, __name__).include("max_roi_pool_22_outside_right"))
    ((_, text),) = result.failures
    assert "Is a ROI to the right of the map all 0?" in text
    assert "what would give this: empty bin is -inf" in text
    assert "rois: [[0.0, 5.0" in text


def test_unittest_classes_skip_what_is_unsupported_as_the_command_does() -> None:
    """With the reason; and where nothing is supported, the tests are not green."""
    lacking = run_suite(BackendTest(LacksEverything, __name__).include("max_roi_pool_22_corners"))
    assert [reason for _, reason in lacking.skipped] == ["unsupported: is_compatible says no"]
    ((_, text),) = lacking.failures
    assert "the backend supports none of 1 cases, expected that it supports one" in text
    name = "support.faulty_backends:LacksTwoChannels"
    run = run_backend(
        name, [case for case in all_cases() if case.name.startswith("max_roi_pool_22_") and case.required]
    )
    unsupported = {result.case.name: result.detail for result in run.results if result.outcome is Outcome.UNSUPPORTED}
    assert 0 < len(unsupported) < len(run.results)
    tests = run_suite(BackendTest(LacksTwoChannels, __name__).include("^max_roi_pool_22_"))
    skipped = {test.id().rpartition(".test_")[2]: reason for test, reason in tests.skipped}
    assert skipped == {name: f"unsupported: {detail}" for name, detail in unsupported.items()}
    assert tests.failures == tests.errors == []


def test_exclusions_need_a_reason_and_stale_ones_fail() -> None:
    backend_test = BackendTest(EmptyIsMinusInfinity, __name__).include("max_roi_pool_22_(outside_right|corners)")
    with pytest.raises(ValueError, match="a reason"):
        backend_test.exclude("corners", reason=" ")
    with pytest.raises(ValueError, match="a reason"):
        backend_test.xfail("corners", reason="")
    backend_test.xfail("outside_right", reason="known").exclude("corners", reason="not today")
    result = run_suite(backend_test)
    assert (result.failures, [reason for _, reason in result.skipped]) == ([], ["not today"])

    stale = BackendTest(Good, __name__).include("max_roi_pool_22_corners")
    stale.xfail("corners", reason="once wrong").exclude("renamed_since", reason="known")
    texts = [text for _, text in run_suite(stale).failures]
    assert len(texts) == 2
    assert any("was expected to fail: once wrong" in text for text in texts)
    assert any("'renamed_since' matches no case" in text for text in texts)


def test_pytest_collects_the_classes(tmp_path: Path) -> None:
    (tmp_path / "test_mine.py").write_text(
        "from support.faulty_backends import Good\n"
        "from onnx_maxpool.conformance import BackendTest\n"
        "globals().update(BackendTest(Good, __name__).include('max_roi_pool_22_(corners|order)').test_cases)\n"
    )
    environment = [f"-c{tmp_path}/none.ini", f"--rootdir={tmp_path}", "-p", "no:cacheprovider", "-q"]
    (tmp_path / "none.ini").write_text(f"[pytest]\npythonpath = {ROOT / 'tests'} {ROOT / 'ops'}\n")
    arguments = [sys.executable, "-m", "pytest", *environment, str(tmp_path)]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert "4 passed" in done.stdout, done.stdout
