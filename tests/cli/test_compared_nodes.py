"""What `compare` says of each node: of every operator, in subgraphs and functions, and where it cannot be compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from builders import MODELS
from onnx import helper, numpy_helper
from support.comparing import Command, row
from support.older_runtimes import loads_here

import onnx_maxpool
from onnx_maxpool.cli.comparison import compare_nodes
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.roi import roi_max
from onnx_maxpool.types import Array

pytestmark = pytest.mark.slow("runs whole models in two runtimes")

SAMPLES = {
    "roi_in_loop": {"'pooled' in graph, 'Loop' body": "4 equal"},
    "roi_in_if": {
        "'pooled_mirrored' in graph, 'If' then_branch": "1 equal",
        "'pooled' in graph, 'If' else_branch": "0 did not run on these inputs",
    },
    "roi_in_function": {"'pooled' in function onnx_maxpool.example::PoolBoxes": "2 equal"},
    "region_search": {"'pooled' in graph": "1 equal"},
    "spatial_pyramid": {f"'{level}' in graph": "1 equal" for level in ("whole", "quarters", "sixteenths", "finest")},
}
"""What is said of each node: how often it ran, and the verdict."""


@pytest.mark.parametrize("name", SAMPLES)
def test_nodes_of_subgraphs_and_functions(command: Command, tmp_path: Path, name: str) -> None:
    path, *_ = MODELS[name].write(tmp_path)
    np.savez(tmp_path / "inputs.npz", **MODELS[name].inputs())
    code, out = command("compare", path, "--input", tmp_path / "inputs.npz")
    assert code == 0
    for node, said in SAMPLES[name].items():
        assert any(node in line and " ".join(line.split()).endswith(said) for line in out.splitlines()), (node, out)
    ran = sum(not said.startswith("0 ") for said in SAMPLES[name].values())
    left_out = f", {len(SAMPLES[name]) - ran} not compared" if ran < len(SAMPLES[name]) else ""
    assert f"Our nodes: {ran} equal{left_out}. " in out


SINGLE = [name for name in MODELS if name.startswith(("max_roi_pool", "max_pooling1", "adaptive_max_pool"))]


@pytest.mark.parametrize("name", SINGLE)
def test_nodes_of_every_operator_and_type(name: str) -> None:
    """Values and indices both: an evaluation that is one cell off, or gives another index, is found."""
    model = MODELS[name].builder()
    if not loads_here(model):
        pytest.xfail("an index of this type is not inferred by this ONNX Runtime")
    (node,) = compare_nodes(model, MODELS[name].inputs())
    assert (node.runs, node.difference, node.not_compared) == (1, None, None)


def test_a_wrong_index_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    definition = operator("AdaptiveMaxPool")

    def off(*inputs: Array, **attributes: Any) -> tuple[Array, ...]:
        y, *index = definition.evaluate(*inputs, **attributes)
        return (y, *(i + 1 for i in index))

    monkeypatch.setattr("onnx_maxpool.cli.comparison.operator", lambda _: replace(definition, evaluate=off))
    name = "adaptive_max_pool_8_float_int64"
    (node,) = compare_nodes(MODELS[name].builder(), MODELS[name].inputs())
    assert node.difference is not None
    assert node.difference.startswith("run 1: Indices: 42 of 42 cells differ")


def test_which_run_of_a_loop_differs(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter(range(4))

    def off(*arguments: Any, **settings: Any) -> Array:
        return roi_max(*arguments, **settings) + (next(calls) == 2)

    monkeypatch.setattr("onnx_maxpool.operators.max_roi_pool.roi_max", off)
    (node,) = compare_nodes(MODELS["roi_in_loop"].builder(), MODELS["roi_in_loop"].inputs())
    assert node.runs == 4
    assert node.difference is not None
    assert node.difference.startswith("run 3: Y: 81 of 81 cells differ")


def test_functions_of_another_opset(tmp_path: Path, command: Command) -> None:
    """To inline the function, ONNX converts it; its node is still called what the model calls it."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 22, "f": 1]>
        g (float[1,1,8,8] X, float[3,5] rois) => (float[3,1,2,2] Y) { Y = f.pool (X, rois) }
        <domain: "f", opset_import: ["": 18]> pool (a, b) => (c) {
            d = Relu (a)
            c = MaxRoiPool <pooled_shape = [2, 2]> (d, b)
        }"""
    )
    onnx.save_model(model, tmp_path / "function.onnx")
    np.save(tmp_path / "rois.npy", np.zeros((3, 5), "f4"))
    code, out = command("compare", tmp_path / "function.onnx", "--input", f"rois={tmp_path}/rois.npy")
    assert (code, row(out, "MaxRoiPool-1 ")) == (0, ["MaxRoiPool-1", "'c'", "in", "function", "f::pool", "1", "equal"])


def test_a_node_that_cannot_be_compared_says_so(tmp_path: Path, command: Command) -> None:
    """onnx does not know com.microsoft's operators, nor the type behind them; the model's own outputs are compared."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 22, "com.microsoft": 1]>
        g (float[1,1,8,8] X, float[3,5] rois) => (float[3,1,2,2] Y, float[3,1,2,2] Z) {
            a = com.microsoft.Gelu (X)
            b = com.microsoft.Gelu (rois)
            y = MaxRoiPool <pooled_shape = [2, 2]> (a, b)
            Y = com.microsoft.Gelu (y)
            Z = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }"""
    )
    path = tmp_path / "gelu.onnx"
    onnx.save_model(model, path)
    np.savez(tmp_path / "inputs.npz", X=np.ones((1, 1, 8, 8), "f4"), rois=np.zeros((3, 5), "f4"))
    code, out = command("compare", path, path, "--input", tmp_path / "inputs.npz")
    assert code == 0
    said = (
        "not compared: MaxRoiPool-22: the element type of X 'a' is not known, "
        "expected one that ONNX infers or value_info declares"
    )
    assert sum(said in line for line in out.splitlines()) == 2
    assert "Our nodes: 2 equal, 2 not compared. Outputs are equal." in out


def test_a_function_that_cannot_be_inlined_says_so(tmp_path: Path, command: Command) -> None:
    """ONNX does not convert a function to an older opset; ONNX Runtime runs it all the same."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 11, "f": 1]>
        g (float[1,1,8,8] X, float[3,5] rois) => (float[3,1,2,2] Y, float[3,1,2,2] Z) {
            Y = f.pool (X, rois)
            Z = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }
        <domain: "f", opset_import: ["": 22]> pool (a, b) => (c) {
            d = Relu (a)
            c = MaxRoiPool <pooled_shape = [2, 2]> (d, b)
        }"""
    )
    onnx.save_model(model, tmp_path / "function.onnx")
    code, out = command("compare", tmp_path / "function.onnx")
    assert (code, row(out, "MaxRoiPool-1 ")) == (0, ["MaxRoiPool-1", "'Z'", "in", "graph", "1", "equal"])
    said = " ".join(row(out, "MaxRoiPool-22 "))
    assert said.startswith(
        "MaxRoiPool-22 'c' in function f::pool 0 not compared: the model's function f::pool cannot be"
    )
    assert "Our nodes: 1 equal, 1 not compared. " in out


def test_constants_that_onnxruntime_folds() -> None:
    """Their node runs while the session is made, and not on the inputs."""
    model = onnx.parser.parse_model(
        """<ir_version: 8, opset_import: ["": 22]> g (float[3,5] rois) => (float[3,1,2,2] Y, float[3,1,2,2] Z)
        { Z = Relu (Y)  Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois) }"""
    )
    del model.graph.node[:]
    model.graph.node.append(helper.make_node("MaxRoiPool", ["X", "constant"], ["Y"], pooled_shape=[2, 2]))
    model.graph.node.append(helper.make_node("Relu", ["Y"], ["Z"]))
    for name, array in {"X": np.ones((1, 1, 8, 8), "f4"), "constant": np.zeros((3, 5), "f4")}.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    (node,) = compare_nodes(model, {"rois": np.zeros((3, 5), "f4")})
    assert (node.runs >= 1, node.difference) == (True, None)


def test_observed_sessions_live_beside_python_ones() -> None:
    """Their operators are another domain of onnxruntime-extensions, whose older sessions go on."""
    model, inputs = MODELS["max_roi_pool_22_float16"].builder(), MODELS["max_roi_pool_22_float16"].inputs()
    python = onnx_maxpool.load(model, implementation="python")
    expected = onnx_maxpool.run(onnx_maxpool.load(model), inputs)
    for _ in range(2):
        assert compare_nodes(model, inputs)[0].runs == 1
        np.testing.assert_array_equal(onnx_maxpool.run(python, inputs)[0], expected[0])
