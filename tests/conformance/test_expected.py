"""Expected outcomes, earlier runs and merged reports: what a backend's CI uses of the command."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from support.faulty_backends import EmptyIsMinusInfinity

from onnx_maxpool.cli.main import main
from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.corpus import MANIFEST_SCHEMA
from onnx_maxpool.conformance.report.expected import read_expected
from onnx_maxpool.conformance.report.records import REPORT_SCHEMA

pytestmark = pytest.mark.slow("runs the suite for each setting")

NAME = f"{EmptyIsMinusInfinity.__module__}:{EmptyIsMinusInfinity.__name__}"
PATTERN = "max_roi_pool_22_(corners|order|outside|half_2_5|bfloat16|edges_57)"


def command(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["conformance", *map(str, arguments)])
    return int(stopped.value.code or 0)


def asked(*arguments: str | Path) -> int:
    return command("--backend", NAME, "--case", PATTERN, *arguments)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("expected") / "expected.txt"
    assert asked("--save-expected", path) == 0  # although the backend does not conform
    return path.read_text()


@pytest.fixture
def file(saved: str, tmp_path: Path) -> Path:
    path = tmp_path / "expected.txt"
    path.write_text(saved)
    return path


def test_the_file_is_short_and_readable(saved: str) -> None:
    lines = saved.splitlines()
    assert all(len(line) < 250 for line in lines)
    assert f"[{NAME}]" in lines
    assert "max_roi_pool_22_corners  pass" in lines
    (line,) = [line for line in lines if line.startswith("max_roi_pool_22_outside_right ")]
    assert line.startswith("max_roi_pool_22_outside_right  fail  empty bin is -inf  # Y: ")
    assert re.search(r"^# onnx-maxpool \S+, python 3\S+, onnx \S+, numpy \S+$", saved, re.MULTILINE)
    cases = [line for line in lines if line.startswith("max_")]
    assert cases == sorted(cases)
    assert len(cases) == sum(bool(re.search(PATTERN, case.name)) for case in all_cases())


def test_reality_that_equals_the_file_is_green(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked("--expect", file) == 0
    assert f"No difference compared with {file}." in capsys.readouterr().out


def test_what_stands_behind_a_hash_is_not_compared(file: Path) -> None:
    other = re.sub(r"  # .*", "  # other words", file.read_text())
    file.write_text("\ufeff" + re.sub(r"(?m)^(\[.*\])$", r"\1  # a backend", other), encoding="utf-8")
    assert asked("--expect", file) == 0


CHANGES = {
    "new failure": (r"(outside_right)  fail .*", r"\1  pass", "outside_right"),
    "unexpectedly passed": (r"(corners)  pass", r"\1  unsupported  # known", "corners"),
    "changed": (r"(outside_right)  fail .*", r"\1  crash", "outside_right"),
    "new case": (r"max_roi_pool_22_order .*\n", "", "order"),
    "case gone": (r"(.*_order .*\n)", r"\1max_roi_pool_22_renamed  pass\n", "renamed"),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_each_difference_is_told_apart_and_is_red(kind: str, file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pattern, replacement, name = CHANGES[kind]
    changed, count = re.subn(pattern, replacement, file.read_text())
    assert count == 1
    file.write_text(changed)
    assert asked("--expect", file) == 1
    out = capsys.readouterr().out
    (line,) = [line for line in out.splitlines() if line.startswith(kind)]
    assert f"max_roi_pool_22_{name} " in line
    assert f"Differences compared with {file}: 1 {kind}." in out


def test_another_named_answer_to_an_open_question_is_a_difference(
    file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = next(line for line in file.read_text().splitlines() if line.startswith("max_roi_pool_22_half_2_5 "))
    file.write_text(file.read_text().replace(line, "max_roi_pool_22_half_2_5  pass  half to even"))
    assert asked("--expect", file) == 1
    assert re.search(r"changed .* max_roi_pool_22_half_2_5 +pass, half to even +pass\n", capsys.readouterr().out)


def test_a_partial_run_compares_what_it_asks(file: Path) -> None:
    file.write_text(re.sub(r"(outside_right)  fail .*", r"\1  pass", file.read_text()))
    assert command("--backend", NAME, "--case", "max_roi_pool_22_corners", "--expect", file) == 0
    assert asked("--expect", file) == 1


def test_saving_a_part_leaves_the_rest_of_the_file(file: Path) -> None:
    before = read_expected(file)
    file.write_text(f"{file.read_text()}max_roi_pool_22_renamed  pass\n\n[other]\nmax_roi_pool_22_order  fail\n")
    assert command("--backend", NAME, "--case", "max_roi_pool_22_(corners|batch_n$)", "--save-expected", file) == 0
    after = read_expected(file)
    assert set(after) == {NAME, "other"}
    assert set(after[NAME]) == {*before[NAME], "max_roi_pool_22_batch_n"}  # and not what the suite no longer has
    assert {name: after[NAME][name] for name in before[NAME]} == before[NAME]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("max_roi_pool_22_order  pass\n", "line 1: 'max_roi_pool_22_order  pass' stands before the first backend"),
        ("[native]\na  good\n", "line 2: 'a  good', expected a case and one of pass, fail, error"),
        ("[native]\na\n", "line 2: 'a', expected a case"),
        ("[native]\na  pass\n\na  fail\n", "line 4: case a stands twice for native, expected once"),
        ("[native]\n", f"backend {NAME} has no section there, expected [{NAME}]: write it with --save-expected"),
        ("\x80", "expected a text file that --save-expected wrote"),
    ],
)
def test_a_wrong_file_is_an_error_before_the_run(
    text: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "expected.txt"
    path.write_bytes(text.encode("latin-1"))
    assert asked("--expect", path) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert words in err


def test_junit_shows_what_is_not_as_expected(file: Path, tmp_path: Path) -> None:
    report = tmp_path / "junit.xml"

    def failures() -> dict[str, str]:
        cases = ElementTree.fromstring(report.read_text()).iter("testcase")
        return {str(case.get("name")): str(wrong.get("message")) for case in cases for wrong in case.findall("failure")}

    assert asked("--expect", file, "--junit", report) == 0
    assert failures() == {}
    file.write_text(re.sub(r"(corners)  pass", r"\1  error", file.read_text()))
    assert asked("--expect", file, "--junit", report) == 1
    assert set(failures()) == {"max_roi_pool_22_corners"}
    assert failures()["max_roi_pool_22_corners"].startswith("expected error, is pass")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Reports of two runs of one backend, with other cases, and of another."""
    folder = tmp_path_factory.mktemp("parts")
    patterns = {NAME: "outside|corners", "reference": "outside|corners"}
    paths = []
    for i, (name, pattern) in enumerate([*patterns.items(), (NAME, "half_2_5|corners")]):
        paths.append(folder / f"{i}.json")
        command("--backend", name, "--case", f"max_roi_pool_22_({pattern})", "--json", paths[-1])
    return paths


def merge_options(parts: list[Path]) -> list[str]:
    return [option for path in parts for option in ("--merge", str(path))]


def test_reports_of_several_runs_become_one(parts: list[Path], tmp_path: Path) -> None:
    files = {name: tmp_path / name for name in ("html", "json", "junit", "markdown")}
    options = [option for name, path in files.items() for option in (f"--{name}", str(path))]
    assert command(*merge_options(parts), *options) == 1
    report = json.loads(files["json"].read_text())
    jsonschema.validate(report, json.loads(REPORT_SCHEMA.read_text()))
    names = [NAME, "reference", f"{NAME} (2)"]
    assert [backend["name"] for backend in report["backends"]] == names
    separate = [json.loads(path.read_text())["backends"][0]["results"] for path in parts]
    assert [backend["results"] for backend in report["backends"]] == separate
    assert [suite.get("name") for suite in ElementTree.fromstring(files["junit"].read_text())] == names
    for page in (files["html"].read_text(), files["markdown"].read_text()):
        assert all(name in page for name in (*names, "max_roi_pool_22_half_2_5"))


def test_a_merged_report_can_be_what_is_expected(parts: list[Path], tmp_path: Path) -> None:
    file = tmp_path / "expected.txt"
    assert command(*merge_options(parts), "--save-expected", file) == 0
    assert command(*merge_options(parts), "--expect", file) == 0
    assert command(*merge_options(parts[:1]), "--expect", file) == 0


def test_runs_and_reports_stand_side_by_side(parts: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    command("--backend", "reference", "--case", "22_corners", "--merge", parts[0], "--json")
    out, err = capsys.readouterr()
    assert [backend["name"] for backend in json.loads(out)["backends"]] == ["reference", NAME]  # on stdout, only that
    assert "required cases" in err


def test_an_earlier_run_is_compared_with(parts: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    report: Any = json.loads(parts[0].read_text())
    for entry in report["backends"][0]["results"]:
        if entry["case"].endswith("outside_right"):
            entry["outcome"], entry["ours"] = "pass", True
    old = parts[0].with_name("old.json")
    old.write_text(json.dumps(report))
    assert command("--merge", parts[0], "--against", old) == 1  # which is of the cases that fail
    out = capsys.readouterr().out
    assert re.search(r"new failure .* max_roi_pool_22_outside_right +pass +fail, empty bin is -inf", out)
    command("--merge", parts[0], "--against", parts[0])
    assert "No difference since 20" in capsys.readouterr().out


def test_the_list_of_cases_is_whole_where_no_terminal_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--list") == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split() == ["case", "rules", "level", "question"]
    for case, line in zip(all_cases(), lines, strict=True):
        assert line.startswith(f"{case.name} ")
        assert line.endswith(case.question)


def test_the_list_of_cases_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert command("--list", "--json", "--operator", "RoiPooling") == 0
    listed = json.loads(capsys.readouterr().out)
    jsonschema.validate(listed, json.loads(MANIFEST_SCHEMA.read_text()))
    assert {case["operator"] for case in listed["cases"]} == {"RoiPooling"}
    assert command("--list", "--operator", "RoiPooling", "--json", tmp_path / "list.json") == 0
    assert json.loads((tmp_path / "list.json").read_text()) == listed


def test_the_guides_workflow_runs_what_the_guide_runs() -> None:
    """Its other commands only install; tests/repository/test_pages.py runs those of the guide."""
    guide = (Path(__file__).parent.parent.parent / "docs" / "guides" / "test-a-backend.md").read_text()
    steps = re.findall(r"^      - run: (.*)$", guide, re.MULTILINE)
    shown = re.findall(r"^\$ (.*)$", guide, re.MULTILINE)
    assert [step.split()[0] for step in steps] == ["pip", "onnx-maxpool"]
    assert steps[1] in shown
