"""What MaxRoiPool must refuse, and that the native library and the reference do so in the same words."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from roi_cases import dtype_of, model, reference

import onnx_maxpool
from onnx_maxpool import OperatorError
from onnx_maxpool.registration import register

MAP = np.zeros((2, 1, 4, 4), np.float32)
GOOD_ROI = [0, 0, 0, 1, 1]

BAD_TENSORS: dict[str, tuple[Any, Any, str]] = {
    "X rank": (MAP[0], [GOOD_ROI], "X has shape [1,4,4], expected 4 dimensions (N, C, H, W)"),
    "rois rank": (MAP, [[GOOD_ROI]], "rois has shape [1,1,5], expected (R, 5) with columns batch, x1, y1, x2, y2"),
    "rois columns": (MAP, [GOOD_ROI[:4]], "rois has shape [1,4], expected (R, 5) with columns batch, x1, y1, x2, y2"),
    "rois scalar": (MAP, 3.0, "rois has shape [], expected (R, 5) with columns batch, x1, y1, x2, y2"),
    "batch N": (MAP, [GOOD_ROI, [2, 0, 0, 1, 1]], "rois row 1 has batch 2, expected a batch number from 0 to 1"),
    "batch -1": (MAP, [[-1, 0, 0, 1, 1]], "rois row 0 has batch -1, expected a batch number from 0 to 1"),
    "batch nan": (MAP, [[np.nan, 0, 0, 1, 1]], "rois row 0 has batch nan, expected a batch number from 0 to 1"),
    "batch inf": (MAP, [[np.inf, 0, 0, 1, 1]], "rois row 0 has batch inf, expected a batch number from 0 to 1"),
    "batch huge": (MAP, [[1e20, 0, 0, 1, 1]], "rois row 0 has batch 1e+20, expected a batch number from 0 to 1"),
    "batch fraction": (MAP, [[-1.3, 0, 0, 1, 1]], "rois row 0 has batch -1.3, expected a batch number from 0 to 1"),
    "no images": (MAP[:0], [GOOD_ROI], "rois row 0 has batch 0, expected no ROI, as X has batch size 0"),
    "nan x1": (MAP, [GOOD_ROI, [1, np.nan, 0, 1, 1]], "rois row 1 has x1 nan, expected a number"),
    "nan y1": (MAP, [[0, 0, np.nan, 1, np.nan]], "rois row 0 has y1 nan, expected a number"),
    "nan x2": (MAP, [[0, 0, 0, np.nan, 1]], "rois row 0 has x2 nan, expected a number"),
    "nan y2": (MAP, [[0, 0, 0, 1, np.nan], [9, 0, 0, 1, 1]], "rois row 0 has y2 nan, expected a number"),
}


@pytest.mark.parametrize("bad", BAD_TENSORS.values(), ids=BAD_TENSORS)
@pytest.mark.parametrize("element_type", ["float", "double"])
def test_bad_tensors(bad: tuple[Any, Any, str], element_type: str) -> None:
    x, rois, words = bad
    feeds = {"X": x.astype(dtype_of(element_type)), "rois": np.array(rois, dtype_of(element_type))}
    message = f"MaxRoiPool: {words}"
    with pytest.raises(OperatorError) as from_reference:
        reference(model(element_type), feeds["X"], feeds["rois"])
    assert str(from_reference.value) == message
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument) as from_native:
        onnx_maxpool.load(model(element_type)).run(None, feeds)
    assert str(from_native.value).endswith(f"Name:'pool' Status Message: {message}")


@pytest.mark.parametrize("element_type", ["float16", "bfloat16"])
def test_values_of_narrow_types_are_printed_as_they_are(element_type: str) -> None:
    dtype = dtype_of(element_type)
    feeds = {"X": MAP.astype(dtype), "rois": np.array([[2.7, 0, 0, 1, 1]], dtype)}
    with pytest.raises(OperatorError) as from_reference:
        reference(model(element_type), feeds["X"], feeds["rois"])
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument) as from_native:
        onnx_maxpool.run(onnx_maxpool.load(model(element_type)), feeds)
    assert str(from_native.value).endswith(str(from_reference.value))


def test_an_output_of_too_many_bytes() -> None:
    feeds = {"X": MAP, "rois": np.zeros((3, 5), np.float32)}
    proto = model(pooled_shape=(2**31 - 1, 2**31 - 1))
    message = "MaxRoiPool: Y would have shape [3,1,2147483647,2147483647], expected fewer than 2^63 bytes"
    with pytest.raises(OperatorError) as from_reference:
        reference(proto, feeds["X"], feeds["rois"])
    assert str(from_reference.value) == message
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument) as from_native:
        onnx_maxpool.load(proto).run(None, feeds)
    assert str(from_native.value).endswith(message)


def test_an_output_beyond_memory_is_an_error() -> None:
    session = onnx_maxpool.load(model(pooled_shape=(2**28, 2**28)))
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.Fail, match="allocate"):
        session.run(None, {"X": MAP, "rois": np.zeros((1, 5), np.float32)})


SIDES = "expected two integers from 1 to 2147483647"
SCALE = "expected a finite number greater than 0"
BAD_ATTRIBUTES: dict[str, tuple[dict[str, Any], str]] = {
    "one side": ({"pooled_shape": [7]}, f"MaxRoiPool: pooled_shape is [7], {SIDES}"),
    "three sides": ({"pooled_shape": [7, 7, 7]}, f"MaxRoiPool: pooled_shape is [7,7,7], {SIDES}"),
    "zero side": ({"pooled_shape": [0, 7]}, f"MaxRoiPool: pooled_shape is [0,7], {SIDES}"),
    "negative side": ({"pooled_shape": [7, -7]}, f"MaxRoiPool: pooled_shape is [7,-7], {SIDES}"),
    "huge side": ({"pooled_shape": [2**31, 1]}, f"MaxRoiPool: pooled_shape is [2147483648,1], {SIDES}"),
    "zero scale": ({"spatial_scale": 0.0}, f"MaxRoiPool: spatial_scale is 0, {SCALE}"),
    "negative scale": ({"spatial_scale": -0.0625}, f"MaxRoiPool: spatial_scale is -0.0625, {SCALE}"),
    "nan scale": ({"spatial_scale": float("nan")}, f"MaxRoiPool: spatial_scale is nan, {SCALE}"),
    "infinite scale": ({"spatial_scale": float("inf")}, f"MaxRoiPool: spatial_scale is inf, {SCALE}"),
}


@pytest.mark.parametrize("bad", BAD_ATTRIBUTES.values(), ids=BAD_ATTRIBUTES)
def test_bad_attribute_values(bad: tuple[dict[str, Any], str]) -> None:
    attributes, message = bad
    proto = model(**attributes)
    with pytest.raises(OperatorError) as from_reference:
        reference(proto, MAP, np.array([GOOD_ROI], np.float32))
    assert str(from_reference.value) == message
    with pytest.raises(OperatorError) as from_check:
        onnx_maxpool.load(proto)
    assert str(from_check.value) == f"node 'pool' in graph: {message}"
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.RuntimeException) as from_native:
        onnx_maxpool.load(proto, check=False)
    assert str(from_native.value).endswith(message)


def test_a_mistyped_attribute_is_no_missing_one() -> None:
    """ONNX Runtime holds a custom operator's attributes to no schema."""
    for attributes, words in [
        ({"spatial_scale": 2}, "attribute spatial_scale is INT, expected FLOAT"),
        ({"spatial_scale": "2"}, "attribute spatial_scale is STRING, expected FLOAT"),
        ({"spatial_scale": [2.0]}, "attribute spatial_scale is FLOATS, expected FLOAT"),
        ({"pooled_shape": 7}, "attribute pooled_shape is INT, expected INTS"),
        ({"pooled_shape": [7.0, 7.0]}, "attribute pooled_shape is FLOATS, expected INTS"),
    ]:
        with pytest.raises(ort.capi.onnxruntime_pybind11_state.RuntimeException, match=words):
            onnx_maxpool.load(model(**attributes), check=False)
        with pytest.raises(OperatorError, match=words):
            onnx_maxpool.load(model(**attributes))


def test_a_type_of_a_newer_version() -> None:
    """ONNX Runtime would run it; the checker and the reference hold to the version."""
    words = "MaxRoiPool-1: X is bfloat16, expected float16, float or double"
    proto = model("bfloat16", 21)
    for array in proto.graph.input:
        array.type.tensor_type.ClearField("shape")
    with pytest.raises(OperatorError) as from_check:
        onnx_maxpool.load(proto)
    assert str(from_check.value) == f"node 'pool' in graph: {words}"
    dtype = dtype_of("bfloat16")
    with pytest.raises(OperatorError) as from_reference:
        reference(proto, MAP.astype(dtype), np.array([GOOD_ROI], dtype))
    assert str(from_reference.value) == words


def test_an_unknown_bin_edges_setting() -> None:
    with pytest.raises(ValueError, match="bin_edges is 'double', expected 'exact' or 'float32'"):
        register(ort.SessionOptions(), bin_edges="double")  # type: ignore[arg-type]
    options = ort.SessionOptions()
    options.add_session_config_entry("onnx_maxpool.bin_edges", "double")
    with pytest.raises(Exception, match=r"onnx_maxpool\.bin_edges is 'double', expected 'exact' or 'float32'"):
        options.register_custom_ops_library(onnx_maxpool.library_path())
