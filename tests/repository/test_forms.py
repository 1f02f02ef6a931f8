"""Files that hosts and tools read say what the package says. Their form is checked by scripts/check, step `forms`."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import onnx_maxpool

ROOT = Path(__file__).parent.parent.parent


def found(pattern: str, file: str) -> str:
    """What the first group of a line's pattern stands for in a file."""
    match = re.search(f"^{pattern}$", (ROOT / file).read_text(), re.MULTILINE)
    assert match, f"{file} has no line {pattern}"
    return match[1]


def test_the_citation_has_the_packages_version() -> None:
    assert found(r"version: (\S+)", "CITATION.cff") == onnx_maxpool.__version__


def test_one_address_is_the_projects() -> None:
    source = found('Source = "(.+)"', "pyproject.toml")
    for file in ("CITATION.cff", ".github/ISSUE_TEMPLATE/config.yml"):
        assert source in (ROOT / file).read_text()


WORKFLOWS = {path.name: path.read_text() for path in (ROOT / ".github" / "workflows").glob("*.yml")}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_a_workflow_runs_what_was_looked_at_and_may_do_little(name: str) -> None:
    """Actions are named by commit, as a tag can be moved. No job has rights that it does not name."""
    used = re.findall(r"uses: (\S+) (.*)", WORKFLOWS[name])
    assert [
        action for action, tag in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action) or tag[:3] != "# v"
    ] == []
    assert len(used) == WORKFLOWS[name].count("uses:")
    assert "\npermissions:\n  contents: read\n\n" in WORKFLOWS[name]
    assert WORKFLOWS[name].count("actions/checkout@") == WORKFLOWS[name].count("persist-credentials: false")


def test_each_kind_of_machine_tries_a_wheel_in_a_way_that_it_can() -> None:
    rows = dict(re.findall(r"- \{ os: ([a-z]+)\S*, .*tests: (.+) \}", WORKFLOWS["release.yml"]))
    assert rows == {"ubuntu": '-m "not slow"', "macos": "tests/smoke", "windows": "tests/smoke"}


def test_the_checklist_names_what_the_release_attaches() -> None:
    (name,) = set(re.findall(r"path: (onnx-maxpool-cases-.*)", WORKFLOWS["release.yml"]))
    assert name.replace("*", "VERSION") in (ROOT / "CONTRIBUTING.md").read_text()


def test_a_step_that_there_is_not_is_an_error() -> None:
    asked = [sys.executable, ROOT / "scripts" / "check", "lint", "tests-of-nothing"]
    run = subprocess.run(asked, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "tests-of-nothing is no step, expected one of lint, " in run.stderr


def test_pre_commit_runs_steps_that_there_are() -> None:
    entry = re.search(
        r"entry: python scripts/check (.+)$", (ROOT / ".pre-commit-config.yaml").read_text(), re.MULTILINE
    )[1]
    usage = subprocess.run(
        [sys.executable, ROOT / "scripts" / "check", "--help"], capture_output=True, text=True, check=True
    )
    steps = re.sub(r"\s+", " ", usage.stdout).rpartition("only these, of ")[2].strip().split(", ")
    assert set(entry.split()) <= set(steps)
