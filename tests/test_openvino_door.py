"""One ONNX file with AdaptiveMaxPool: OpenVINO's own operator, ours in ONNX Runtime, and the reference."""

from __future__ import annotations

import numpy as np
import openvino as ov
import pool_cases
import pytest
from onnx import helper

import onnx_maxpool
from onnx_maxpool.comparison import first_difference


@pytest.mark.parametrize("spelling", ["i32", "i64", None])
@pytest.mark.parametrize("with_index", [True, False])
@pytest.mark.parametrize(("spatial", "sizes"), [((19,), (7,)), ((9, 13), (4, 5)), ((5, 6, 7), (2, 6, 3))])
def test_openvino_runtime_and_reference_agree(
    spelling: str | None, with_index: bool, spatial: tuple[int, ...], sizes: tuple[int, ...]
) -> None:
    """Without NaN, of which OpenVINO keeps one only where it is first."""
    rng = np.random.default_rng(1)
    feeds = {"X": rng.standard_normal((2, 3, *spatial)).astype(np.float32), "output_size": np.array(sizes)}
    attributes = {"index_element_type": spelling} if spelling else {}
    proto = pool_cases.model("AdaptiveMaxPool", 8, feeds, with_index=with_index, **attributes)
    dims = {"X": ["n", "c", *(f"side_{i}" for i in range(len(spatial)))], "output_size": [len(sizes)]}
    for value in proto.graph.input:
        value.CopyFrom(helper.make_tensor_value_info(value.name, value.type.tensor_type.elem_type, dims[value.name]))

    core = ov.Core()
    core.add_extension(onnx_maxpool.openvino_extensions())
    model = core.read_model(proto.SerializeToString())
    assert "AdaptiveMaxPool" in [operation.get_type_name() for operation in model.get_ops()]
    results = core.compile_model(model, "CPU", {"INFERENCE_PRECISION_HINT": "f32"})(feeds)
    expected = pool_cases.reference(proto, feeds)
    for i, array in enumerate(expected):
        assert first_difference(array, results[i]) is None
        assert first_difference(array, pool_cases.native(proto, feeds)[i]) is None
