"""`load`, `register`, `library_path`, and what sessions do with a model that has our operators.

Models import ai.onnx with or without a node of it: where none is imported, ONNX Runtime assumes opset 1000, and prints
a warning. What an older ONNX Runtime cannot do is expected to fail there, and nowhere else.
"""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import conftest
import numpy as np
import onnx
import onnxruntime as ort
import onnxruntime_extensions
import pytest
from builders import MODELS
from onnx import TensorProto, helper, numpy_helper, parser
from support import known_sessions, one_node
from support.one_node import Array, assert_same, random_rois, reference_rois, roi_model

import onnx_maxpool
from onnx_maxpool import ModelError, OperatorError
from onnx_maxpool.adapters import onnxruntime as ort_adapter
from onnx_maxpool.conformance import all_cases

X, ROIS = random_rois(np.random.default_rng(0), np.dtype(np.float32), (2, 6, 12, 14), 20, 1.0)


def run(session: ort.InferenceSession) -> Array:
    output: Array = session.run(None, {"X": X, "rois": ROIS})[0]
    return output


def test_a_model_from_a_path_bytes_and_a_proto(tmp_path: Path) -> None:
    proto = roi_model()
    path = tmp_path / "model.onnx"
    onnx.save_model(proto, path)
    expected = reference_rois(proto, X, ROIS)
    for source in (path, str(path), path.read_bytes(), proto):
        assert_same(run(onnx_maxpool.load(source)), expected)


def with_weights(proto: onnx.ModelProto, weights: Array) -> onnx.ModelProto:
    """Y + weights, the weights an initializer."""
    graph = proto.graph
    graph.node[0].output[0] = "pooled"
    graph.node.append(helper.make_node("Add", ["pooled", "weights"], ["Y"]))
    graph.initializer.append(numpy_helper.from_array(weights, "weights"))
    return proto


def test_external_data(tmp_path: Path) -> None:
    weights = np.arange(6, dtype=np.float32).reshape(6, 1, 1)
    expected = reference_rois(roi_model(), X, ROIS) + weights
    path = tmp_path / "model.onnx"
    onnx.save_model(
        with_weights(roi_model(), weights), path, save_as_external_data=True, location="w", size_threshold=0
    )
    assert_same(run(onnx_maxpool.load(path)), expected)


@pytest.mark.parametrize("is_parsed", [False, True])
def test_external_data_in_a_folder_that_the_options_name(is_parsed: bool, tmp_path: Path) -> None:
    """Of a model that is given as bytes: ONNX Runtime has an entry for it."""
    weights = np.arange(6, dtype=np.float32).reshape(6, 1, 1)
    path = tmp_path / "model.onnx"
    onnx.save_model(
        with_weights(roi_model(), weights), path, save_as_external_data=True, location="w", size_threshold=0
    )
    options = known_sessions.one_thread()
    options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(tmp_path))
    model = onnx.load_model(path, load_external_data=False) if is_parsed else path.read_bytes()
    expected = reference_rois(roi_model(), X, ROIS) + weights
    assert_same(run(onnx_maxpool.load(model, options)), expected)
    (tmp_path / "w").write_bytes(b"short")
    with pytest.raises(ModelError, match="the model: tensor 'weights' has its data in 'w', bytes 0 to 24, expected no"):
        onnx_maxpool.load(model, options)


def test_a_proto_too_large_to_serialize(monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit is protobuf's, 2 GiB; it is lowered here, and then protobuf is not asked."""
    weights = np.arange(6, dtype=np.float32).reshape(6, 1, 1)
    proto = with_weights(roi_model(), weights)
    before = proto.SerializeToString()
    monkeypatch.setattr(ort_adapter, "PROTOBUF_LIMIT", 100)
    session = onnx_maxpool.load(proto)
    assert_same(run(session), reference_rois(roi_model(), X, ROIS) + weights)
    assert proto.SerializeToString() == before


def test_a_model_beyond_protobufs_limit_whatever_the_current_folder_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, rois = known_sessions.X, known_sessions.ROIS
    proto = one_node.model("MaxRoiPool", 22, {"X": x, "rois": rois}, pooled_shape=(7, 7), spatial_scale=0.5)
    proto.graph.initializer.append(numpy_helper.from_array(x, "X"))
    del proto.graph.input[0]
    (tmp_path / "weights").write_text("another file")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("onnx_maxpool.adapters.onnxruntime.PROTOBUF_LIMIT", 100)
    before = proto.SerializeToString()
    (y,) = onnx_maxpool.load(proto, known_sessions.one_thread()).run(None, {"rois": rois})
    assert_same(y, known_sessions.EXPECTED)
    assert proto.SerializeToString() == before
    assert (tmp_path / "weights").read_text() == "another file"


def test_a_model_of_more_than_2_gib(tmp_path: Path) -> None:
    """The weights' file has no blocks on disk, and no cell of it is read but one."""
    size = 2**29 + 1024
    proto = roi_model()
    graph = proto.graph
    graph.node[0].output[0] = "pooled"
    graph.node.append(helper.make_node("Gather", ["weights", "last"], ["cell"]))
    graph.node.append(helper.make_node("Add", ["pooled", "cell"], ["Y"]))
    graph.initializer.append(numpy_helper.from_array(np.array([size - 1]), "last"))
    weights = graph.initializer.add(name="weights", data_type=TensorProto.FLOAT, dims=[size])
    weights.data_location = TensorProto.EXTERNAL
    weights.external_data.add(key="location", value="weights")
    weights.external_data.add(key="length", value=str(4 * size))
    with open(tmp_path / "weights", "wb") as file:
        file.truncate(4 * size)
        file.seek(4 * size - 4)
        file.write(np.float32(3).tobytes())
    path = tmp_path / "model.onnx"
    onnx.save_model(proto, path)
    options = ort.SessionOptions()
    options.add_session_config_entry("session.disable_prepacking", "1")
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL  # folding would read the weights
    assert_same(run(onnx_maxpool.load(path, options)), reference_rois(roi_model(), X, ROIS) + np.float32(3))


def test_registering_twice_is_harmless() -> None:
    options = ort.SessionOptions()
    onnx_maxpool.register(options)
    onnx_maxpool.register(options)
    options.register_custom_ops_library(onnx_maxpool.library_path())
    expected = reference_rois(roi_model(), X, ROIS)
    for _ in range(2):  # load registers, too
        assert_same(run(onnx_maxpool.load(roi_model(), options)), expected)


def test_one_options_object_has_one_bin_edges_setting() -> None:
    words = "registered with bin_edges 'double', expected other options for 'exact'"
    options = ort.SessionOptions()
    onnx_maxpool.register(options, bin_edges="double")
    with pytest.raises(ValueError, match=words):
        onnx_maxpool.register(options, bin_edges="exact")
    onnx_maxpool.register(options, bin_edges="double")  # the error left the first registration as it was
    onnx_maxpool.register(options)  # which holds where no setting is given
    options.add_session_config_entry("onnx_maxpool.bin_edges", "exact")
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument, match=words):
        options.register_custom_ops_library(onnx_maxpool.library_path())


def test_the_config_entry_is_the_setting_where_none_is_given() -> None:
    proto = roi_model(pooled_shape=(1, 7))
    x = np.arange(60, dtype=np.float32).reshape(1, 1, 1, 60)
    rois = np.array([[0, 0, 0, 56, 0]], np.float32)
    for entry in ("onnx", "exact"):
        options = ort.SessionOptions()
        options.add_session_config_entry("onnx_maxpool.bin_edges", entry)
        sessions = [onnx_maxpool.load(proto, options), onnx_maxpool.load(proto, options, implementation="python")]
        for session in sessions:
            assert_same(session.run(None, {"X": x, "rois": rois})[0], reference_rois(proto, x, rois, bin_edges=entry))


def test_an_unknown_bin_edges_setting() -> None:
    expected = "expected 'onnx', 'exact' or 'double'"
    with pytest.raises(ValueError, match=f"bin_edges is 'float32', {expected}"):
        onnx_maxpool.register(ort.SessionOptions(), bin_edges="float32")  # type: ignore[arg-type]
    for entry, printed in (("float32", "float32"), ("default", "default"), ("\x1b[2J", r"\\x1b\[2J")):
        options = ort.SessionOptions()
        options.add_session_config_entry("onnx_maxpool.bin_edges", entry)
        with pytest.raises(Exception, match=rf"onnx_maxpool\.bin_edges is '{printed}', {expected}"):
            options.register_custom_ops_library(onnx_maxpool.library_path())


@pytest.mark.parametrize("ours_first", [True, False])
def test_beside_onnxruntime_extensions(ours_first: bool) -> None:
    libraries = [onnx_maxpool.library_path(), onnxruntime_extensions.get_library_path()]
    options = ort.SessionOptions()
    for library in libraries if ours_first else reversed(libraries):
        options.register_custom_ops_library(library)
    proto = roi_model()
    proto.opset_import.append(helper.make_opsetid("ai.onnx.contrib", 1))
    proto.graph.node.append(helper.make_node("NegPos", ["Y"], ["neg", "pos"], domain="ai.onnx.contrib"))
    proto.graph.output.append(helper.make_tensor_value_info("pos", TensorProto.FLOAT, None))
    session = ort.InferenceSession(proto.SerializeToString(), options, ["CPUExecutionProvider"])
    y, positive = session.run(None, {"X": np.nan_to_num(X, neginf=-9), "rois": ROIS})
    np.testing.assert_array_equal(positive, np.maximum(y, 0))


def dims_of_output(inputs: str) -> list[Any]:
    text = f"""<ir_version: 8, opset_import: ["" : 22]>
    g ({inputs}) => (float[a, b, c, d] Y) {{ Y = MaxRoiPool <pooled_shape = [3, 4]> (X, rois) }}"""
    proto = parser.parse_model(text)
    proto.graph.output[0].type.tensor_type.ClearField("shape")
    shape: list[Any] = onnx_maxpool.load(proto).get_outputs()[0].shape
    return shape


def test_shape_inference_keeps_symbolic_dimensions() -> None:
    assert dims_of_output("float[n, channels, h, w] X, float[regions, 5] rois") == ["regions", "channels", 3, 4]
    assert dims_of_output("float[1, 8, h, w] X, float[300, 5] rois") == [300, 8, 3, 4]


def test_shape_inference_without_shapes() -> None:
    first, second, height, width = dims_of_output("float[] X, float[] rois")
    assert (height, width) == (3, 4)
    assert first != second  # unknown dimensions are not equal ones


@pytest.mark.parametrize("as_initializers", [True, False])
def test_both_inputs_constant(as_initializers: bool) -> None:
    proto = roi_model()
    del proto.graph.input[:]
    for name, array in (("X", X), ("rois", ROIS)):
        tensor = numpy_helper.from_array(array, name)
        if as_initializers:
            proto.graph.initializer.append(tensor)
        else:
            proto.graph.node.insert(0, helper.make_node("Constant", [], [name], value=tensor))
    assert_same(onnx_maxpool.load(proto).run(None, {})[0], reference_rois(roi_model(), X, ROIS))


@pytest.mark.parametrize("extension", ["onnx", "ort"])
def test_an_optimized_model_is_saved_and_runs(tmp_path: Path, extension: str) -> None:
    path = tmp_path / f"optimized.{extension}"
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(path)
    onnx_maxpool.load(roi_model(), options)
    assert_same(run(onnx_maxpool.load(path, check=extension == "onnx")), reference_rois(roi_model(), X, ROIS))


LEVELS = ["ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL"]


@pytest.mark.parametrize("level", LEVELS)
def test_optimization_levels(level: str) -> None:
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    assert_same(run(onnx_maxpool.load(roi_model(), options)), reference_rois(roi_model(), X, ROIS))


def test_a_runtime_that_is_too_old() -> None:
    """The library itself rejects it, in the words of CreateStatus, the first function of every version's interface."""
    said = []

    @ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)
    def create_status(code: int, message: bytes) -> int:
        said.append((code, message.decode()))
        return 1

    interface = (ctypes.c_void_p * 1)(ctypes.cast(create_status, ctypes.c_void_p).value)
    get_api = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)(
        lambda version: ctypes.addressof(interface) if version == 1 else None
    )
    text = ctypes.create_string_buffer(b"1.22.1")
    version = ctypes.CFUNCTYPE(ctypes.c_void_p)(lambda: ctypes.addressof(text))
    pointers = [ctypes.cast(function, ctypes.c_void_p).value for function in (get_api, version)]
    base = (ctypes.c_void_p * 2)(*pointers)
    register = ctypes.CDLL(onnx_maxpool.library_path()).RegisterCustomOps
    register.restype = ctypes.c_void_p
    assert register(None, base) == 1
    (floor,) = re.findall(
        r'"onnxruntime>=([\d.]+)"', (Path(__file__).parent.parent.parent / "pyproject.toml").read_text()
    )
    assert said == [(1, f"onnx_maxpool: ONNX Runtime is 1.22.1, expected {floor} or newer")]


def of_each_operator() -> list[str]:
    names = {model.builder().graph.node[0].op_type: name for name, model in MODELS.items() if "_float" in name}
    return sorted(names.values())


@pytest.mark.parametrize("name", of_each_operator())
def test_a_session_prints_nothing(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    options = ort.SessionOptions()
    options.log_severity_level = 2  # warnings too
    session = onnx_maxpool.load(MODELS[name].builder(), options)
    session.run(None, MODELS[name].inputs())
    assert capfd.readouterr() == ("", "")


def test_a_function_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    onnx_maxpool.adaptive_max_pool(np.ones((1, 1, 3, 3), np.float32), (2, 2))
    assert capfd.readouterr() == ("", "")


def test_conformance_cases_import_it() -> None:
    assert all("" in {entry.domain for entry in case.model().opset_import} for case in all_cases())


REFUSED = OperatorError(f"expected the default, {conftest.NEEDS_NEWER_RUNTIME} 1.28 or newer")


@pytest.mark.parametrize("is_older", [True, False])
@pytest.mark.parametrize("error", [REFUSED, OperatorError("another")])
def test_expected_failures(is_older: bool, error: OperatorError, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conftest, "IS_OLDER_RUNTIME", is_older)
    call = conftest.pytest_runtest_call()
    next(call)
    outcome = pytest.xfail.Exception if is_older and error is REFUSED else OperatorError
    with pytest.raises(outcome, match=str(error)):
        call.throw(error)
