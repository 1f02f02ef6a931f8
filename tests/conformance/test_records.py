"""The report in JSON: its schema, and that nothing is lost when it is read back."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from support.faulty_backends import answering

from onnx_maxpool.conformance import BackendRun, Result, all_cases
from onnx_maxpool.conformance.case import Case, same
from onnx_maxpool.conformance.report.records import REPORT_SCHEMA, json_report, read_report
from onnx_maxpool.conformance.run.execution import Execution, execute
from onnx_maxpool.conformance.run.judge import judge
from onnx_maxpool.conformance.run.runner import run_cases
from onnx_maxpool.errors import InputError

CASES = [case for case in all_cases() if "_nan" in case.name or "_batch" in case.name or "_empty" in case.name]
VALIDATOR = jsonschema.Draft202012Validator(json.loads(REPORT_SCHEMA.read_text()))


def drawn(case: Case) -> Case:
    """As a search would draw one: alike, and in no list."""
    return dataclasses.replace(case, name="drawn", attributes={**case.attributes, "spatial_scale": float("inf")})


@pytest.fixture(scope="module")
def run() -> BackendRun:
    wrong = answering({"nan": "NaN ignored", "empty": "empty bin is -inf"})
    results = tuple(run_cases(lambda model, inputs: execute(wrong, model, inputs), CASES))
    found = next(result for result in results if not result.ours and not result.case.refuses)
    search = dataclasses.replace(found, case=dataclasses.replace(found.case, name="drawn"))
    return BackendRun("mine", {"mine": "1.0"}, results, {"date": "2026-11-22T09:00+00:00"}, (search,))


def written(folder: Path, runs: list[BackendRun]) -> Path:
    path = folder / "report.json"
    path.write_text(json.dumps(json_report(runs)))
    return path


def test_a_report_is_what_its_schema_says(run: BackendRun) -> None:
    VALIDATOR.validate(json.loads(json.dumps(json_report([run, BackendRun("other", {}, run.results)]))))


@pytest.mark.parametrize("missing", ["name", "environment", "results", "search"])
def test_the_schema_requires_each_part(run: BackendRun, missing: str) -> None:
    report: Any = json_report([run])
    del report["backends"][0][missing]
    assert not VALIDATOR.is_valid(report)


def test_the_schema_reaches_into_a_searchs_findings(run: BackendRun) -> None:
    report: Any = json_report([run])
    del report["backends"][0]["search"][0]["definition"]["inputs"]
    assert not VALIDATOR.is_valid(report)


def test_what_is_read_is_what_was_written(run: BackendRun, tmp_path: Path) -> None:
    (read,) = read_report(written(tmp_path, [run]))
    assert (read.backend, read.description, read.environment, read.conforms) == (
        *(run.backend, run.description, run.environment),
        False,
    )
    assert any(not result.ours and result.obtained is not None for result in run.results)
    for before, after in zip((*run.results, *run.search), (*read.results, *read.search), strict=True):
        assert same_result(before, after)
    assert json_report([read]) == json_report([run])


def same_result(before: Result, after: Result) -> bool:
    parts = ("outcome", "answers", "detail", "ours", "repeats")
    obtained = None if before.ours else before.obtained
    return all(getattr(before, part) == getattr(after, part) for part in parts) and same(obtained, after.obtained)


def test_a_case_in_no_list_is_read_whole(run: BackendRun, tmp_path: Path) -> None:
    (read,) = read_report(written(tmp_path, [run]))
    before, after = run.search[0].case, read.search[0].case
    for part in ("name", "question", "version", "rules", "level", "attributes", "outputs", "asks", "refuses"):
        assert getattr(before, part) == getattr(after, part)
    assert all(np.array_equal(x, after.inputs[name], equal_nan=True) for name, x in before.inputs.items())
    assert same(before.expected, after.expected)
    assert after.model() == before.model()


@pytest.mark.parametrize("name", ["max_pooling1_5_start_padding", "max_pooling1_5_index_row_major"])
def test_a_drawn_case_in_another_operators_words_is_read_as_it_was_asked(
    name: str, run: BackendRun, tmp_path: Path
) -> None:
    listed = next(case for case in all_cases() if case.name == name)
    assert listed.restate is not None
    asked = listed.restate(dataclasses.replace(listed, name="drawn"))
    result = judge(asked, Execution("answered", [np.zeros_like(y) for y in asked.expected]))
    before = dataclasses.replace(run, search=(result,))
    (read,) = read_report(written(tmp_path, [before]))
    after = read.search[0].case
    assert (after.form, after.restated) == ("MaxPool-12", True)
    assert after.model() == asked.model()
    assert same(after.expected, asked.expected)
    assert same_result(result, read.search[0])
    assert json_report([read]) == json_report([before])


@pytest.mark.parametrize("form", ["MaxPool-1", "MaxRoiPool-22"])
def test_a_form_that_a_case_does_not_have_is_an_error(form: str, run: BackendRun, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    index = next(i for i, result in enumerate(run.results) if result.case.operator == "AdaptiveMaxPool")
    path.write_text(json.dumps(changed(json_report([run]), "backends", 0, "results", index, "form", to=form)))
    with pytest.raises(InputError, match="expected a whole report"):
        read_report(path)


def test_a_number_without_end_is_read_as_it_was(run: BackendRun, tmp_path: Path) -> None:
    refusal = next(result for result in run.results if result.case.refuses)
    search = dataclasses.replace(refusal, case=drawn(refusal.case))
    path = written(tmp_path, [dataclasses.replace(run, search=(search,))])
    json.loads(path.read_text(), parse_constant=pytest.fail)  # JSON has no Infinity
    VALIDATOR.validate(json.loads(path.read_text()))
    (read,) = read_report(path)
    assert read.search[0].case.attributes["spatial_scale"] == float("inf")
    assert read.search[0].case.refuses


def changed(report: Any, *keys: Any, to: Any) -> Any:
    inner = report
    for key in keys[:-1]:
        inner = inner[key]
    inner[keys[-1]] = to
    return report


@pytest.mark.parametrize(
    ("keys", "value", "words"),
    [
        (("format",), 1, "the report's format is 1, expected 2: run its backends again"),
        (
            ("backends", 0, "results", 0, "case"),
            "gone",
            "case gone of backend mine is not in this version",
        ),
        (("backends", 0, "results", 0, "outcome"), "good", "expected a whole report"),
        (("backends", 0, "results"), None, "expected a whole report"),
    ],
)
def test_what_cannot_be_read_is_an_error(
    run: BackendRun, keys: tuple[Any, ...], value: Any, words: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.json"
    path.write_text(json.dumps(changed(json_report([run]), *keys, to=value)))
    with pytest.raises(InputError) as refused:
        read_report(path)
    assert str(refused.value).startswith(f"{path}: {words}")


@pytest.mark.parametrize("text", ["", "[]", "{}", "3", '{"name": 1}', "\x00"])
def test_another_file_is_an_error(text: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(InputError, match="expected a report that onnx-maxpool conformance --json wrote"):
        read_report(path)
