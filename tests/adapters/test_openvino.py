"""One ONNX file with AdaptiveMaxPool: OpenVINO's own operator, ours in ONNX Runtime, and the reference."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import onnx
import openvino as ov
import pytest
from onnx import helper, numpy_helper
from support import one_node

import onnx_maxpool
from onnx_maxpool.conformance.backends.openvino import OpenVino
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.run.execution import execute
from onnx_maxpool.conformance.run.judge import Outcome
from onnx_maxpool.conformance.run.runner import run_cases
from onnx_maxpool.difference import first_difference

pytestmark = pytest.mark.slow("compiles every case of an operator in OpenVINO")


@pytest.mark.parametrize("spelling", ["i32", "i64", None])
@pytest.mark.parametrize("with_index", [True, False])
@pytest.mark.parametrize(("spatial", "sizes"), [((19,), (7,)), ((9, 13), (4, 5)), ((5, 6, 7), (2, 6, 3))])
def test_openvino_runtime_and_reference_agree(
    spelling: str | None, with_index: bool, spatial: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    """Without NaN, which OpenVINO loses in most places."""
    rng = np.random.default_rng(1)
    feeds = {"X": rng.standard_normal((2, 3, *spatial)).astype(np.float32), "output_size": np.array(sizes)}
    attributes = {"index_element_type": spelling} if spelling else {}
    proto = one_node.model("AdaptiveMaxPool", 8, feeds, with_index=with_index, **attributes)
    dims = {"X": ["n", "c", *(f"side_{i}" for i in range(len(spatial)))], "output_size": [len(sizes)]}
    for value in proto.graph.input:
        value.CopyFrom(helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, dims[value.name]))

    core = ov.Core()
    core.add_extension(onnx_maxpool.openvino_extensions())
    model = core.read_model(proto.SerializeToString())
    assert "AdaptiveMaxPool" in [operation.get_type_name() for operation in model.get_ops()]
    results = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(feeds)
    expected = one_node.reference(proto, feeds)
    for i, array in enumerate(expected):
        assert first_difference(array, results[i]) is None
        assert first_difference(array, one_node.native(proto, feeds)[i]) is None


def pooled(proto: onnx.ModelProto, feeds: dict[str, np.ndarray]) -> np.ndarray:
    """OpenVINO's first output. It takes no input of unknown rank."""
    for value in proto.graph.input:
        kind = value.type.tensor_type.elem_type
        value.CopyFrom(helper.make_tensor_value_info(value.name, kind, feeds[value.name].shape))
    core = ov.Core()
    core.add_extension(onnx_maxpool.openvino_extensions())
    model = core.read_model(proto.SerializeToString())
    found: np.ndarray = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(feeds)[0]
    return found


@pytest.mark.parametrize("shape", [(1, 1, 2, 4), (1, 1, 1, 3)])
def test_which_nan_it_loses(shape: tuple[int, ...]) -> None:
    """What docs/guides/openvino.md says: the others, and to 1x1 without indices the first one too."""
    first, last = (np.arange(np.prod(shape), dtype=np.float32) for _ in range(2))
    first[0], last[-1] = np.nan, np.nan
    for with_index in (True, False):
        for flat, is_kept in ((first, with_index), (last, not with_index)):
            feeds = {"X": flat.reshape(shape), "output_size": np.array([1, 1])}
            proto = one_node.model("AdaptiveMaxPool", 8, feeds, with_index=with_index)
            size = proto.graph.input.pop()  # OpenVINO's other way is only for a size that the model has
            proto.graph.initializer.append(numpy_helper.from_array(feeds.pop("output_size"), size.name))
            assert np.isnan(pooled(proto, feeds)).all() == is_kept


def test_wrong_batch_numbers_of_its_own_roi_pooling() -> None:
    """What docs/guides/openvino.md says; a number that equals the batch size reads what lies behind the map."""
    x = np.ones((2, 1, 4, 4), np.float32)
    feeds = {"X": x, "rois": np.array([[-1, 0, 0, 3, 3]], np.float32)}
    proto = one_node.model("MaxRoiPool", 22, feeds, pooled_shape=[2, 2])
    assert not pooled(proto, feeds).any()
    feeds["rois"][0, 0] = len(x) + 1
    with pytest.raises(RuntimeError, match="takes incorrect roi_ind"):
        pooled(proto, feeds)


DIVERGENCES = {
    "adaptive_max_pool_8_double": "values through float32",
    "adaptive_max_pool_8_double_extremes": "",
    "adaptive_max_pool_8_size_0": "",
    "adaptive_max_pool_8_size_of_float": "",
    "adaptive_max_pool_8_integers": "",
}
"""The required cases that OpenVINO answers otherwise, with the way that gives its answer, where one does."""


def processor_converts_to_bfloat16() -> bool:
    """Whether OpenVINO has an instruction for that. It makes subnormal numbers 0."""
    features = Path("/proc/cpuinfo")
    return features.exists() and "avx512_bf16" in features.read_text().split()


def test_the_conformance_cases_through_the_extension() -> None:
    """Each case's own file. Doubles and subnormal bfloat16 may change; wrong sizes and integers are not rejected."""
    cases = [case for case in all_cases() if case.operator == "AdaptiveMaxPool" and case.required]
    results = list(run_cases(partial(execute, OpenVino), cases))
    wrong = {result.case.name: "; or ".join(result.answers) for result in results if result.outcome is not Outcome.PASS}
    assert wrong == DIVERGENCES | (
        {"adaptive_max_pool_8_bfloat16_extremes": ""} if processor_converts_to_bfloat16() else {}
    )


def test_an_index_type_that_there_is_not_is_refused() -> None:
    feeds = {"X": np.zeros((1, 1, 2, 2), np.float32), "output_size": np.array([1, 1])}
    proto = one_node.model("AdaptiveMaxPool", 8, feeds, with_index=True, index_element_type="u32")
    core = ov.Core()
    core.add_extension(onnx_maxpool.openvino_extensions())
    with pytest.raises(RuntimeError, match='index_element_type is "u32", expected "i64" or "i32"'):
        core.read_model(proto.SerializeToString())
