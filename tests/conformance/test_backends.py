"""An adapter of a runtime that every environment of the tests has, by what is known of that."""

from __future__ import annotations

import json
import re
import runpy
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from onnx_maxpool.conformance import BackendRun, Outcome, all_cases, run_backend
from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.conformance.backends.mnn import Mnn
from onnx_maxpool.conformance.backends.openvino import settings_of
from onnx_maxpool.conformance.report.records import json_report
from onnx_maxpool.conformance.run.execution import Execution, execute
from onnx_maxpool.conformance.run.judge import judge

ROOT = Path(__file__).parent.parent.parent


def asked(backend: str, pattern: str) -> BackendRun:
    return run_backend(backend, [case for case in all_cases() if re.search(pattern, case.name)], repeat=1)


def outcome(run: BackendRun, name: str) -> Outcome:
    return next(result.outcome for result in run.results if result.case.name == name)


def test_onnxs_reference_has_max_pool_and_its_indices_are_wrong() -> None:
    """Of a window of 1 x 4 in a row of 4 cells it gives 4, which is no cell of the row."""
    run = asked("onnx-reference", "^max_pooling1_5_(negative_cells|values_alone)$|^max_roi_pool_22_float$")
    assert outcome(run, "max_roi_pool_22_float") is Outcome.UNSUPPORTED
    assert outcome(run, "max_pooling1_5_values_alone") is Outcome.PASS
    wrong = next(result for result in run.results if result.case.name == "max_pooling1_5_negative_cells")
    assert (wrong.outcome, wrong.detail) == (
        Outcome.FAIL,
        "Indices: 1 of 1 cells differ, first at [0,0,0,0]: 4, expected 1",
    )


def test_mnn_that_gives_fewer_outputs_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty list is all that MNN's `forward` says of an error."""
    case = next(case for case in all_cases() if case.name == "max_roi_pool_22_corners")

    class Variable:
        def write(self, array: Any) -> None: ...

    def convert(arguments: list[str]) -> None:
        Path(arguments[arguments.index("--MNNModel") + 1]).touch()

    module = types.SimpleNamespace(forward=lambda variables: [])
    stubs = {
        "_tools": types.SimpleNamespace(mnnconvert=convert),
        "MNN": types.SimpleNamespace(),
        "MNN.expr": types.SimpleNamespace(placeholder=lambda *_: Variable(), NCHW=0),
        "MNN.nn": types.SimpleNamespace(load_module_from_file=lambda *_: module),
    }
    stubs["MNN"].expr, stubs["MNN"].nn = stubs["MNN.expr"], stubs["MNN.nn"]
    for name, stub in stubs.items():
        monkeypatch.setitem(sys.modules, name, stub)
    done = execute(Mnn, case.model(), case.inputs)
    assert (done.happened, done.text) == ("raised", "RuntimeError: MNN gives 0 outputs, expected 1")


def test_openvino_is_not_told_to_compute_double_in_float32() -> None:
    """What a hint asks for is no fault."""
    models = {
        name: next(case for case in all_cases() if case.name == f"adaptive_max_pool_8_{name}").model()
        for name in ("double", "float")
    }
    assert settings_of(models["double"]) == {"EXECUTION_MODE_HINT": "ACCURACY"}
    assert settings_of(models["float"]) == {"INFERENCE_PRECISION_HINT": "f32"}


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    return runpy.run_path(str(ROOT / "scripts" / "ask_backends.py"))


def test_the_script_asks_again_where_the_kept_answers_are_to_other_cases(
    script: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "reference.json"
    assert script["kept"](file) is None
    file.write_text(json.dumps(json_report([asked("reference", "^max_roi_pool_22_float$")])))
    assert script["kept"](file) is None
    file.write_text("{}")
    assert script["kept"](file) is None
    everything = BackendRun("reference", {}, tuple(judge(case, Execution("unsupported")) for case in all_cases()))
    file.write_text(json.dumps(json_report([everything])))
    assert script["kept"](file).backend == "reference"


def test_every_backend_runs_in_one_environment_of_the_script_that_asks_all(script: dict[str, Any]) -> None:
    placed = [*script["OWN"], *(name for backends in script["ENVIRONMENTS"].values() for name in backends)]
    assert sorted(placed) == sorted(BACKENDS)
