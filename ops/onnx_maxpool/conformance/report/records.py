"""A report as JSON, written and read back: results of several runs and machines become one report."""

from __future__ import annotations

import base64
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from onnx_maxpool.conformance.case import CannotAskError, Case
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.report.expected import Outcomes, Seen
from onnx_maxpool.conformance.run.judge import Outcome, Result
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import InputError
from onnx_maxpool.operators.registry import versions_of
from onnx_maxpool.types import Array, Attributes, dtype_of, element_type

FORMAT = 2
"""The report's version; it grows where a reader of the old one would go wrong."""

REPORT_SCHEMA = Path(__file__).parent.parent / "report.schema.json"


def json_report(runs: Sequence[BackendRun]) -> dict[str, Any]:
    """Every result; `answers` are the known answers that a result equals. Its schema is `REPORT_SCHEMA`."""
    return {
        "format": FORMAT,
        "backends": [
            {
                "name": run.backend,
                "description": dict(run.description),
                "environment": dict(run.environment),
                "conforms": run.conforms,
                "results": [_entry(result) for result in run.results],
                "search": [{**_entry(result), "definition": _definition(result.case)} for result in run.search],
            }
            for run in runs
        ],
    }


def _entry(result: Result) -> dict[str, Any]:
    obtained = None if result.ours or result.obtained is None else [_tensor(array) for array in result.obtained]
    return {
        "case": result.case.name,
        "form": result.case.form,
        "rules": list(result.case.rules),
        "level": result.case.level,
        "outcome": result.outcome.value,
        "ours": result.ours,
        "answers": list(result.answers),
        "detail": result.detail,
        "obtained": obtained,
        "repeats": result.repeats,
        "seconds": round(result.seconds, 4),
    }


def _definition(case: Case) -> dict[str, Any]:
    """A case that is in no list, whole."""
    return {
        "question": case.question,
        "domain": case.version.domain or "ai.onnx",
        "operator": case.operator,
        "since_version": case.version.since_version,
        "attributes": {name: _attribute(value) for name, value in case.attributes.items()},
        "inputs": [{"name": name, **_tensor(array)} for name, array in case.inputs.items()],
        "outputs": list(case.outputs),
        "expected": None if case.refuses else [_tensor(array) for array in case.expected],
        "asks": list(case.asks),
    }


def _attribute(value: Any) -> Any:
    """A value that JSON has: numbers without end go by their names, in an object of their own."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return list(value) if isinstance(value, list | tuple) else value


def _tensor(array: Array) -> dict[str, Any]:
    """Type, shape, and the cells in row-major order, little end first, as in a TensorProto's raw data."""
    little = array if array.dtype.byteorder != ">" else array.astype(array.dtype.newbyteorder("<"))
    content = b"" if array.dtype.hasobject else little.tobytes()
    return {"type": element_type(array), "shape": list(array.shape), "base64": base64.b64encode(content).decode()}


def _read(path: Path) -> Any:
    """A report as it stands in the file. Raises InputError and OSError."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
        given = report["format"]
    except (ValueError, KeyError, TypeError):
        raise InputError(f"{path}: expected a report that onnx-maxpool conformance --json wrote") from None
    if given != FORMAT:
        raise InputError(f"{path}: the report's format is {given}, expected {FORMAT}: run its backends again")
    return report


def read_outcomes(path: Path) -> tuple[Outcomes, Mapping[str, str]]:
    """What came of the cases of a report in JSON, also of those that the suite no longer has; and what it ran on.

    Raises InputError where the file is no report, and OSError where it cannot be read.
    """
    report = _read(path)
    try:
        found = {
            backend["name"]: {
                entry["case"]: Seen(Outcome(entry["outcome"]), () if entry["ours"] else tuple(entry["answers"]))
                for entry in backend["results"]
            }
            for backend in report["backends"]
        }
        return found, dict(report["backends"][0]["environment"])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"{path}: expected a whole report: {type(error).__name__}: {error}") from None


def merged(parts: Sequence[Sequence[BackendRun]]) -> list[BackendRun]:
    """The runs of several reports in one list. A backend that ran several times gets a number behind its name."""
    runs: list[BackendRun] = []
    taken: set[str] = set()
    for run in (run for part in parts for run in part):
        numbered = (f"{run.backend} ({number})" for number in itertools.count(2))
        name = next(name for name in itertools.chain([run.backend], numbered) if name not in taken)
        taken.add(name)
        runs.append(replace(run, backend=name))
    return runs


def read_report(path: Path) -> list[BackendRun]:
    """The runs of a report in JSON. Raises InputError where the file is none, and OSError where it cannot be read."""
    report = _read(path)
    known = {case.name: case for case in all_cases()}
    try:
        return [_run(backend, known) for backend in report["backends"]]
    except UnknownCaseError as error:
        raise InputError(f"{path}: {error}") from None
    except (KeyError, TypeError, ValueError, AttributeError, CannotAskError) as error:
        raise InputError(f"{path}: expected a whole report: {type(error).__name__}: {error}") from None


class UnknownCaseError(Exception):
    """A report has a case that this version of the suite does not have."""


def _run(backend: Mapping[str, Any], known: Mapping[str, Case]) -> BackendRun:
    environment = backend["environment"]
    for entry in backend["results"]:
        if entry["case"] not in known:
            version = environment.get("onnx-maxpool", "of an unknown version")
            raise UnknownCaseError(
                f"case {entry['case']} of backend {backend['name']} is not in this version of the suite, expected a "
                f"report that this version wrote: that one is from onnx-maxpool {version}"
            )
    return BackendRun(
        backend["name"],
        backend["description"],
        tuple(_result(entry, known[entry["case"]]) for entry in backend["results"]),
        environment,
        tuple(_result(entry, _case(entry)) for entry in backend["search"]),
    )


def _result(entry: Mapping[str, Any], case: Case) -> Result:
    restate = case.restate or next(each.restate for each in all_cases() if each.operator == case.operator)
    while entry["form"] != case.form:
        if restate is None:
            raise ValueError(f"{case.name} has no form {entry['form']}")
        case = restate(case)
        restate = case.restate
    obtained = entry["obtained"]
    arrays = None if obtained is None else tuple(map(_array, obtained))
    answers, outcome = tuple(entry["answers"]), Outcome(entry["outcome"])
    return Result(case, outcome, answers, entry["detail"], arrays, entry["seconds"], entry["repeats"])


def _case(entry: Mapping[str, Any]) -> Case:
    definition = entry["definition"]
    domain = "" if definition["domain"] == "ai.onnx" else definition["domain"]
    versions = {row.since_version: row for row in versions_of(domain, definition["operator"])}
    attributes: Attributes = {
        name: float(value["float"]) if isinstance(value, dict) else value
        for name, value in definition["attributes"].items()
    }
    return Case(
        name=entry["case"],
        question=definition["question"],
        version=versions[definition["since_version"]],
        rules=tuple(entry["rules"]),
        level=entry["level"],
        attributes=attributes,
        inputs={tensor["name"]: _array(tensor) for tensor in definition["inputs"]},
        outputs=tuple(definition["outputs"]),
        asks=tuple(definition["asks"]),
        refuses=definition["expected"] is None,
    )


def _array(tensor: Mapping[str, Any]) -> Array:
    content, shape = base64.b64decode(tensor["base64"]), tuple(tensor["shape"])
    try:
        dtype = dtype_of(tensor["type"])
    except ValueError:  # of NumPy's, which ONNX does not have
        dtype = np.dtype(tensor["type"])
    if dtype.hasobject:
        return np.empty(shape, dtype)
    return np.frombuffer(bytearray(content), dtype).reshape(shape)
