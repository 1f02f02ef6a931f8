"""Every row of the table of bad inputs, through every door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from bad_inputs import BAD_INPUTS, BadInput, Door, Found
from onnx import numpy_helper
from pool_cases import Array, model, reference

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.cli import main
from onnx_maxpool.registry import OPERATORS

ort_errors = ort.capi.onnxruntime_pybind11_state

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "MaxRoiPool": onnx_maxpool.max_roi_pool,
    "RoiPooling": onnx_maxpool.roi_pooling,
    "MaxPooling1": onnx_maxpool.max_pooling,
    "AdaptiveMaxPool": onnx_maxpool.adaptive_max_pool,
}
INDEX_DTYPES = {"i64": np.int64, "u32": np.uint32}

ROWS = {bad.name: bad for bad in BAD_INPUTS}


def through(door: Door) -> Any:
    rows = {name: bad for name, bad in ROWS.items() if door in bad.doors}
    return pytest.mark.parametrize("bad", rows.values(), ids=rows)


def model_of(bad: BadInput) -> onnx.ModelProto:
    return model(bad.operator, bad.opset, bad.inputs, with_index=bad.with_index, **bad.attributes)


def feeds(bad: BadInput) -> dict[str, Array]:
    return dict(bad.inputs)


def test_the_table_is_whole() -> None:
    """No two rows have one name, and every operator has rows of every kind, which stay away from few doors."""
    assert len(ROWS) == len(BAD_INPUTS)
    assert {(bad.operator, bad.found) for bad in BAD_INPUTS} == {
        (row.name, found) for row in OPERATORS for found in Found
    }
    for bad in BAD_INPUTS:
        assert set(bad.doors) >= {"native", "python", "command line"}
        assert "reference" in bad.doors or bad.found is not Found.RUN
        assert bad.said.startswith(bad.operator)
        assert "expected" in bad.said or "missing" in bad.said


def check_loading(bad: BadInput, implementation: Any) -> None:
    """What a session says, or the check before it is made."""
    if bad.found is Found.RUN:
        session = onnx_maxpool.load(model_of(bad), implementation=implementation)
        with pytest.raises(ort_errors.InvalidArgument) as from_run:
            onnx_maxpool.run(session, feeds(bad))
        assert str(from_run.value).endswith(f"Name:'pool' Status Message: {bad.said}")
        return
    with pytest.raises(OperatorError) as from_check:
        onnx_maxpool.load(model_of(bad), implementation=implementation)
    assert str(from_check.value) == f"node 'pool' in graph: {bad.said}"


@through("native")
def test_native(bad: BadInput) -> None:
    check_loading(bad, "native")


@through("python")
def test_python(bad: BadInput) -> None:
    check_loading(bad, "python")


@through("unchecked")
def test_unchecked(bad: BadInput) -> None:
    """The native library by itself, as from other languages: sessions that our own check has not seen."""
    if bad.found is Found.RUN:
        session = onnx_maxpool.load(model_of(bad), check=False)
        with pytest.raises(ort_errors.InvalidArgument) as from_run:
            onnx_maxpool.run(session, feeds(bad))
        assert str(from_run.value).endswith(bad.said)
        return
    with pytest.raises(ort_errors.RuntimeException) as from_library:
        onnx_maxpool.load(model_of(bad), check=False)
    assert str(from_library.value).endswith(bad.said)


@through("reference")
def test_reference(bad: BadInput) -> None:
    with pytest.raises(OperatorError) as from_reference:
        reference(model_of(bad), feeds(bad))
    assert str(from_reference.value) == bad.said


@through("functions")
def test_functions(bad: BadInput) -> None:
    settings = dict(bad.attributes)
    if bad.with_index:
        settings["return_indices"] = True
        if "index_element_type" in settings:
            settings["index_dtype"] = INDEX_DTYPES[settings.pop("index_element_type")]
    for _ in range(2):  # a refusal is not remembered as a session
        with pytest.raises(OperatorError) as from_function:
            FUNCTIONS[bad.operator](*bad.inputs.values(), **settings)
        assert str(from_function.value) == bad.said


@through("command line")
def test_command_line(bad: BadInput, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One line on stderr, exit code 1, and nothing else."""
    onnx.save_model(model_of(bad), tmp_path / "model.onnx")
    arguments = []
    for name, array in bad.inputs.items():
        onnx.save_tensor(numpy_helper.from_array(array, name), tmp_path / f"{name}.pb")
        arguments += ["--input", f"{name}={tmp_path / name}.pb"]
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "model.onnx"), *arguments])
    out, err = capsys.readouterr()
    assert (ended.value.code, out) == (1, "")
    assert err.endswith(f"{bad.said}\n")
    assert err.count("\n") == 1
