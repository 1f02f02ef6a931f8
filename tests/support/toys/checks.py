"""What follows from the rows and modules of the toys, in a package that has them: pytest runs this in a child."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from onnx import checker, parser, shape_inference
from onnx.reference import ReferenceEvaluator
from support.strategies import Call, roi_calls, sliding_calls

import onnx_maxpool
from onnx_maxpool import to_portable
from onnx_maxpool.cli.inputs import has_roi_operators, model_inputs
from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.backends.ours import Reference
from onnx_maxpool.conformance.case import Case, same
from onnx_maxpool.conformance.report.svg import picture
from onnx_maxpool.conformance.run.execution import execute
from onnx_maxpool.conformance.run.judge import Outcome
from onnx_maxpool.conformance.run.runner import run_cases
from onnx_maxpool.operators.registry import native_table
from onnx_maxpool.operators.schemas import register_schemas

ROOT = Path(__file__).parent.parent.parent.parent
TOYS = ["ToyRoiPool", "ToySlidingPool"]
CASES = [case for case in all_cases() if case.operator in TOYS]
MODEL = parser.parse_model("""
    <ir_version: 10, opset_import: ["": 22, "toy": 1]>
    g (float[2,1,3,4] X, float[1,R,5] rois) => (float[R,1,1,2] Y, double[1,1,1,2] Z, int32[1,1,1,2] Indices)
    <double[1,1,2,4] W = {1, 9, 9, 2, 3, 4, 5, 6}>
    {
        Y = toy.ToyRoiPool <bins = [1, 2]> (X, rois)
        Z, Indices = toy.ToySlidingPool <window_size = [2, 2], strides = [1, 2]> (W)
    }""")


def test_this_is_the_package_with_the_toys() -> None:
    assert Path(onnx_maxpool.__file__).is_relative_to(os.environ["TOY_PACKAGE"])


def test_the_native_table() -> None:
    lines = native_table().splitlines()
    assert 'OPERATOR("toy", ToyRoiPool, 1, (ElementType::float_), (), BinEdges::exact_, "bins")' in lines
    indices = "(ElementType::int32_, ElementType::uint64_)"
    assert f'OPERATOR("toy", ToySlidingPool, 1, (ElementType::double_), {indices}, BinEdges::unset, nullptr)' in lines


def test_the_schema() -> None:
    register_schemas()
    checker.check_model(MODEL, full_check=True)
    untyped = onnx.ModelProto()
    untyped.CopyFrom(MODEL)
    for value in untyped.graph.output:
        value.ClearField("type")
    outputs = shape_inference.infer_shapes(untyped, strict_mode=True).graph.output
    assert [value.type.tensor_type for value in outputs] == [value.type.tensor_type for value in MODEL.graph.output]


def test_the_schema_says_what_the_operator_rejects() -> None:
    register_schemas()
    bad = onnx.ModelProto()
    bad.CopyFrom(MODEL)
    bad.graph.node[0].attribute[0].ints[0] = 0
    with pytest.raises(shape_inference.InferenceError, match=r"ToyRoiPool: bins is \[0,2\], expected two integers"):
        checker.check_model(bad, full_check=True)


def test_the_reference() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 1, 3, 4)
    rois = np.array([[[1, 0, 0, 2, 1], [0, 3, 2, 3, 2]]], np.float32)
    y, z, index = _outputs(MODEL, {"X": x, "rois": rois})
    assert y.tolist() == [[[[17, 18]]], [[[11, 11]]]]
    assert z.tolist() == [[[[9, 9]]]]
    assert (index.tolist(), index.dtype) == ([[[[1, 2]]]], np.int32)


def _outputs(model: onnx.ModelProto, feeds: dict[str, Any]) -> Sequence[Any]:
    found = ReferenceEvaluator(model, new_ops=onnx_maxpool.reference_ops()).run(None, feeds)
    assert isinstance(found, list)
    return found


def test_random_inputs_are_what_the_operator_accepts() -> None:
    assert has_roi_operators(MODEL)
    for seed in range(20):
        feeds = model_inputs(MODEL, dims={"R": 30}, seed=seed)
        assert set(np.unique(feeds["rois"][..., 0])) == {0, 1}
        _outputs(MODEL, feeds)


def test_the_suite_has_cases_of_both() -> None:
    assert {case.operator for case in CASES} == set(TOYS)


@pytest.mark.parametrize("case", [case for case in CASES if not case.refuses], ids=lambda case: case.name)
def test_the_reference_and_brute_force_agree(case: Case) -> None:
    assert same(case.expected, case.brute_force({}))
    assert bool(case.asks) <= bool(case.other_answers)
    first = (0,) * case.expected[0].ndim
    assert picture(case, first).startswith("<svg") == bool(case.expected[0].size)


def test_a_backend_is_asked() -> None:
    results = list(run_cases(lambda model, inputs: execute(Reference, model, inputs), CASES))
    assert {result.outcome for result in results} == {Outcome.PASS}


def test_torch_is_asked_for_what_slides() -> None:
    """It is told which cells the index counts."""
    pytest.importorskip("torch")  # the extra `test` is without it
    from onnx_maxpool.conformance.backends.torch import Torch

    x = np.random.default_rng(0).integers(0, 5, (2, 3, 7, 8)).astype(np.float32)
    call = Call("ToySlidingPool", (x,), {"window_size": [3, 2], "strides": [2, 1]}, "uint64")
    for expected, obtained in zip(call.reference(), Torch.prepare(call.model()).run([x]), strict=True):
        np.testing.assert_array_equal(obtained, expected)
        assert obtained.dtype == expected.dtype


def test_the_portable_form_without_control_flow() -> None:
    x = np.random.default_rng(0).integers(-9, 9, (2, 3, 6, 7)).astype(np.float32)
    rois = np.array([[[1, 0, 0, 4, 5], [0, 3, 2, 9, 9]]], np.float32)
    windows = {"window_size": [3, 2], "strides": [2, 1], "start_padding": [0, 1], "end_padding": [1, 0]}
    for call in (
        Call("ToyRoiPool", (x, rois), {"bins": [2, 3], "spatial_scale": 0.5}),
        Call("ToySlidingPool", (x,), windows, "int32"),
    ):
        portable = to_portable(call.model(), control_flow=False)
        assert not {node.op_type for node in portable.graph.node} & {*TOYS, "Loop", "Scan", "If"}
        feeds = dict(zip("ab", call.inputs, strict=False))
        assert same(call.reference(), tuple(ReferenceEvaluator(portable).run(None, feeds)))


@given(roi_calls(operators=["ToyRoiPool"]) | sliding_calls(operators=["ToySlidingPool"]))
def test_any_call(call: Call) -> None:
    expected = call.brute_force() if call.inputs[0].size else call.reference()
    assert same(call.reference(), expected)


def test_the_docs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "scripts")
    write_docs: Any = importlib.import_module("write_docs")
    assert "| ToyRoiPool | 1 | `toy` | float, double | nobody |" in write_docs.operators().splitlines()
    assert "| ToySlidingPool | 1 | `toy` | float, double | nobody |" in write_docs.operators().splitlines()
    rules = write_docs.rules()
    assert all(f"`{case.name}`" in rules for case in CASES if case.required)
