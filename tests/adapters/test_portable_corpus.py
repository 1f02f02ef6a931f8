"""The whole corpus as standard operators, in ONNX Runtime and in OpenVINO: whole models, and every conformance case."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import onnx
import pytest
from builders import MODELS
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from support.portable_runtimes import Run, assert_equal, in_onnxruntime, in_openvino, set_rank

from onnx_maxpool import to_portable
from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.difference import first_difference
from onnx_maxpool.operators.registry import newest_versions
from onnx_maxpool.types import Array

pytestmark = pytest.mark.slow("converts every conformance case and runs it in three runtimes")

OPERATORS = [row.name for row in newest_versions()]

IN_FLOAT32 = "double is computed in float32"
IN_32_BITS = "64-bit integers are computed in 32 bits"
NARROWED_BY_OPENVINO = {
    "max_roi_pool_1_double": IN_FLOAT32,
    "max_roi_pool_1_double_extremes": IN_FLOAT32,
    "max_roi_pool_1_double_product_ours": IN_FLOAT32,
    "max_roi_pool_1_edges_57_in_7_double_ours": IN_FLOAT32,
    "max_roi_pool_1_just_below_half_double_ours": IN_FLOAT32,
    "max_roi_pool_22_double": IN_FLOAT32,
    "max_roi_pool_22_double_extremes": IN_FLOAT32,
    "max_roi_pool_22_double_product_ours": IN_FLOAT32,
    "max_roi_pool_22_edges_57_in_7_double_ours": IN_FLOAT32,
    "max_roi_pool_22_just_below_half_double_ours": IN_FLOAT32,
    "adaptive_max_pool_8_double": IN_FLOAT32,
    "adaptive_max_pool_8_double_extremes": IN_FLOAT32,
    "max_pooling1_5_int64": IN_32_BITS,
    "max_pooling1_5_int64_extremes": IN_32_BITS,
    "max_pooling1_5_uint64": IN_32_BITS,
    "max_pooling1_5_uint64_extremes": IN_32_BITS,
}
"""The cases that OpenVINO answers otherwise, as it does not even carry their values. All others it answers as we do."""


@pytest.mark.parametrize("name", MODELS)
def test_whole_models_in_onnxruntime(name: str, tmp_path: Path) -> None:
    path, *_ = MODELS[name].write(tmp_path)
    inputs = MODELS[name].inputs()
    assert_equal(in_onnxruntime(to_portable(path), inputs), reference_evaluator(path).run(None, dict(inputs)))


@pytest.mark.parametrize("name", [name for name, model in MODELS.items() if not model.has_large_weights])
def test_whole_models_in_the_reference(name: str) -> None:
    """ONNX's evaluator takes long for a Loop over hundreds of ROIs."""
    proto, inputs = MODELS[name].builder(), MODELS[name].inputs()
    expected = reference_evaluator(proto).run(None, dict(inputs))
    assert_equal(ReferenceEvaluator(to_portable(proto)).run(None, dict(inputs)), expected)


@pytest.mark.parametrize("name", ["spatial_pyramid", "fast_rcnn_head", "roi_in_loop", "roi_in_if", "roi_in_function"])
def test_whole_models_in_openvino(name: str, tmp_path: Path) -> None:
    path, *_ = MODELS[name].write(tmp_path)
    inputs = MODELS[name].inputs()
    assert_equal(in_openvino(to_portable(path), inputs), reference_evaluator(path).run(None, dict(inputs)))


@pytest.fixture(scope="module")
def cases(corpus: Path) -> dict[str, dict[bytes, list[Path]]]:
    """The corpus's cases by operator, and those together whose models are one where no dimension is said."""
    found: dict[str, dict[bytes, list[Path]]] = {name: defaultdict(list) for name in OPERATORS}
    for path in sorted((corpus / "node").iterdir()):
        model = onnx.load(path / "model.onnx")
        model.graph.name = "case"
        for value in model.graph.input:
            set_rank(value, len(value.type.tensor_type.shape.dim))
        for value in model.graph.output:
            value.type.tensor_type.ClearField("shape")
        found[model.graph.node[0].op_type][model.SerializeToString(deterministic=True)].append(path)
    return found


def arrays(path: Path, kind: str) -> list[Array]:
    """A case's inputs or outputs, in order."""
    files = [path / "test_data_set_0" / f"{kind}_{i}.pb" for i in range(len(list(path.glob(f"*/{kind}_*.pb"))))]
    return [numpy_helper.to_array(onnx.load_tensor(file)) for file in files]


def answers(run: Run, given: bytes, paths: Sequence[Path]) -> dict[str, str]:
    """What a runtime answers otherwise than the corpus says, by the case's name. All are cases of one model."""
    model = to_portable(given)
    names = [value.name for value in model.graph.input]
    wrong = {}
    for path in paths:
        obtained = run(model, dict(zip(names, arrays(path, "input"), strict=True)))
        pairs = zip(arrays(path, "output"), obtained, strict=True)
        differences = [str(found) for found in (first_difference(*pair) for pair in pairs) if found]
        wrong |= {path.name.removeprefix("test_"): ", ".join(differences)} if differences else {}
    return wrong


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("run", [in_onnxruntime, in_openvino])
def test_every_conformance_case(run: Run, operator: str, cases: dict[str, dict[bytes, list[Path]]]) -> None:
    groups = cases[operator]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(partial(answers, run), groups, groups.values())
        wrong = {name: words for each in found for name, words in each.items()}
    names = {path.name.removeprefix("test_") for paths in groups.values() for path in paths}
    expected = names & set(NARROWED_BY_OPENVINO) if run is in_openvino else set()
    assert set(wrong) == expected, wrong


def test_the_table_of_what_openvino_narrows_is_of_cases_that_there_are(corpus: Path) -> None:
    names = {path.name.removeprefix("test_") for path in (corpus / "node").iterdir()}
    assert set(NARROWED_BY_OPENVINO) <= names
