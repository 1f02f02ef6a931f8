"""Every row of the table of bad inputs, through every interface, and what a converted model rejects in a run.

A converted model says which operator, which input, and what was required.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper, parser
from support.older_runtimes import runtime_is_before
from support.one_node import SPELLINGS, Array, model, reference
from support.portable_runtimes import in_onnxruntime, in_openvino
from support.processes import run_python
from words.bad_conversions import BAD_CONVERTED, BOX, HEADER, NO_IMAGE, NO_NUMBER, Bad, X, rois
from words.bad_inputs import BAD_INPUTS
from words.bad_nodes import BadInput, Found, Interface

import onnx_maxpool
from onnx_maxpool import OperatorError, Predictor, RowError, to_portable
from onnx_maxpool.adapters.portable import arithmetic, library, roi, windows
from onnx_maxpool.adapters.portable.guards import GUARDS, name_guards, said_by_guard
from onnx_maxpool.cli.main import main
from onnx_maxpool.operators.registry import OPERATORS, newest_versions

asks_every_form = pytest.mark.slow("asks every form a thousand bad inputs")

ort_errors = ort.capi.onnxruntime_pybind11_state

FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "MaxRoiPool": onnx_maxpool.max_roi_pool,
    "RoiPooling": onnx_maxpool.roi_pooling,
    "MaxPooling1": onnx_maxpool.max_pooling,
    "AdaptiveMaxPool": onnx_maxpool.adaptive_max_pool,
}
INDEX_DTYPES = {"i32": np.int32, "u32": np.uint32}

ROWS = {bad.name: bad for bad in BAD_INPUTS}


def through(interface: Interface) -> Any:
    rows = {name: bad for name, bad in ROWS.items() if interface in bad.interfaces}
    return pytest.mark.parametrize("bad", rows.values(), ids=rows)


def model_of(bad: BadInput) -> onnx.ModelProto:
    return model(bad.operator, bad.opset, bad.inputs, with_index=bad.with_index, **bad.attributes)


def cannot_infer_the_index(bad: BadInput) -> bool:
    """Whether a bad node's index is of another type than the default, and this ONNX Runtime is too old to infer it.

    Then that may be what is rejected, before what is wrong with the node.
    """
    asked = SPELLINGS.get(str(bad.attributes.get("index_element_type")))
    default = {"MaxPooling1": "uint32", "AdaptiveMaxPool": "int64"}.get(bad.operator)
    return bad.with_index and asked not in (None, default) and runtime_is_before(1, 28)


@pytest.fixture
def feeds(bad: BadInput, tmp_path: Path) -> dict[str, Array]:
    """The row's inputs in memory of their own: what the table makes gigabytes of one cell, as a file with no blocks."""
    arrays = dict(bad.inputs)
    for name, array in arrays.items():
        if array.nbytes > 2**30:
            arrays[name] = np.memmap(tmp_path / name, array.dtype, "w+", shape=array.shape)
    return arrays


@asks_every_form
def test_the_table_is_whole() -> None:
    """No two rows have one name, and every operator has rows of every kind, which stay away from few interfaces."""
    assert len(ROWS) == len(BAD_INPUTS)
    assert {(bad.operator, bad.found) for bad in BAD_INPUTS} == {
        (row.name, found) for row in OPERATORS for found in Found
    }
    for bad in BAD_INPUTS:
        assert set(bad.interfaces) >= {"native", "reference" if bad.found is Found.RUN else "python"}
        assert bad.said.startswith(bad.operator)
        assert all("expected" in said or "missing" in said for said in (bad.said, bad.said_unchecked))


def check_loading(bad: BadInput, feeds: dict[str, Array], implementation: Any) -> None:
    """What a session says, or the check before it is made."""
    if bad.found is Found.RUN:
        session = onnx_maxpool.load(model_of(bad), implementation=implementation)
        with pytest.raises(ort_errors.InvalidArgument) as from_run:
            onnx_maxpool.run(session, feeds)
        assert str(from_run.value).endswith(f"Name:'pool' Status Message: {bad.said}")
        return
    with pytest.raises(OperatorError) as from_check:
        onnx_maxpool.load(model_of(bad), implementation=implementation)
    assert str(from_check.value) == f"node 'pool' in graph: {bad.said}"


@asks_every_form
@through("native")
def test_native(bad: BadInput, feeds: dict[str, Array]) -> None:
    check_loading(bad, feeds, "native")


@asks_every_form
@through("python")
def test_python(bad: BadInput, feeds: dict[str, Array]) -> None:
    check_loading(bad, feeds, "python")


@asks_every_form
@through("unchecked")
def test_unchecked(bad: BadInput) -> None:
    """The native library by itself, as from other languages: it makes no kernel."""
    if cannot_infer_the_index(bad):
        with pytest.raises(ort_errors.Fail, match="Type Error"):
            onnx_maxpool.load(model_of(bad), check=False)
        return
    with pytest.raises(ort_errors.RuntimeException) as from_library:
        onnx_maxpool.load(model_of(bad), check=False)
    assert str(from_library.value).endswith(f": {bad.said_unchecked}")


@asks_every_form
@through("reference")
def test_reference(bad: BadInput, feeds: dict[str, Array]) -> None:
    with pytest.raises(OperatorError) as from_reference:
        reference(model_of(bad), feeds)
    assert str(from_reference.value) == bad.said


@asks_every_form
@through("functions")
def test_functions(bad: BadInput, feeds: dict[str, Array]) -> None:
    settings = dict(bad.attributes)
    if bad.with_index:
        settings["return_indices"] = True
        if "index_element_type" in settings:
            settings["index_dtype"] = INDEX_DTYPES[settings.pop("index_element_type")]
    for _ in range(2):  # a refusal is not remembered as a session
        with pytest.raises(OperatorError) as from_function:
            FUNCTIONS[bad.operator](*feeds.values(), **settings)
        words = str(from_function.value)
        older = cannot_infer_the_index(bad) and words.endswith("as another needs ONNX Runtime 1.28 or newer")
        assert older or words == bad.said


@asks_every_form
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


BEYOND_MEMORY: Mapping[str, tuple[dict[str, Any], dict[str, Array]]] = {
    "MaxRoiPool": ({"pooled_shape": [2**28, 2**28]}, {"rois": np.zeros((1, 5), np.float32)}),
    "RoiPooling": ({"pooled_size": [2**28, 2**28]}, {"rois": np.zeros((1, 1, 1, 5), np.float32)}),
    "MaxPooling1": (
        {"window_size": [2**28] * 2, "start_padding": [2**28 - 1] * 2, "end_padding": [2**28 - 1] * 2},
        {},
    ),
    "AdaptiveMaxPool": ({}, {"output_size": np.array([2**28, 2**28])}),
}


@asks_every_form
@pytest.mark.parametrize("operator", BEYOND_MEMORY)
def test_an_output_beyond_memory(operator: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Fewer than 2^63 bytes, and more than there are: whoever allocates says so, and nothing crashes."""
    attributes, others = BEYOND_MEMORY[operator]
    inputs = {"X": np.zeros((1, 1, 4, 4), np.float32), **others}
    opset = next(row.since_version for row in newest_versions() if row.name == operator)
    proto = model(operator, opset, inputs, **attributes)
    with pytest.raises(ort_errors.Fail, match="allocate"):
        onnx_maxpool.load(proto).run(None, inputs)
    with pytest.raises(Exception, match="allocate"):
        FUNCTIONS[operator](*inputs.values(), **attributes)
    onnx.save_model(proto, tmp_path / "model.onnx")
    arguments = []
    for name, array in inputs.items():
        np.save(tmp_path / name, array)
        arguments += ["--input", f"{name}={tmp_path / name}.npy"]
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "model.onnx"), *arguments])
    _, err = capsys.readouterr()
    assert (ended.value.code, err.count("\n"), "allocate" in err) == (1, 1, True)


@asks_every_form
def test_an_output_beyond_memory_in_the_reference() -> None:
    """2^48 bytes: beyond what a process can address."""
    inputs = {"X": np.zeros((1, 2**20, 1, 1), np.float32), "rois": np.zeros((1, 5), np.float32)}
    proto = model("MaxRoiPool", 22, inputs, pooled_shape=[2**13, 2**13])
    with pytest.raises(MemoryError, match=r"^MaxRoiPool: Unable to allocate"):
        reference(proto, inputs)
    with pytest.raises(ort_errors.InvalidArgument, match="Name:'pool' Status Message: MaxRoiPool: Unable to allocate"):
        onnx_maxpool.load(proto, implementation="python").run(None, inputs)


SCRATCH_SCRIPT = """
import resource, sys
import numpy as np, onnxruntime as ort
import onnx_maxpool
from support.one_node import roi_model
options = ort.SessionOptions()
options.intra_op_num_threads = 1
session = onnx_maxpool.load(roi_model(pooled_shape=(2**11, 2**10)), options)
feeds = {"X": np.ones((1, 32, 4, 4), "f"), "rois": np.array([[0, 0, 0, 3, 3]], "f")}
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 2**28 + 2**26,) * 2)  # room for the output of 2^28 bytes
(y,) = session.run(None, feeds)
print(y.shape, y.min(), y.max())
del y
small = session.run(None, {**feeds, "rois": feeds["rois"][:0]})[0]
print(small.shape)
"""


@asks_every_form
@pytest.mark.skipif(sys.platform != "linux", reason="the limit on memory is Linux's")
def test_scratch_beyond_memory() -> None:
    """The output is there, and what the fastest way wants besides is not: it is pooled in one that wants nothing."""
    done = run_python("-c", SCRATCH_SCRIPT)
    assert (done.returncode, done.stdout) == (0, "(1, 32, 2048, 1024) 1.0 1.0\n(0, 32, 2048, 1024)\n"), done.stderr


each_converted = pytest.mark.parametrize(
    "bad", BAD_CONVERTED, ids=[f"{i} {bad.guard}" for i, bad in enumerate(BAD_CONVERTED)]
)


def converted(bad: Bad) -> onnx.ModelProto:
    return to_portable(parser.parse_model(HEADER + bad.model))


def test_every_guard_has_a_sentence_and_is_asked() -> None:
    texts = [*arithmetic.FOR_ANY, *windows.FOR_ANY, *roi.TEXTS, *windows.window_texts(2)]
    guards = {name for text in texts for name in re.findall(r"(\w+) = portable\.Require\(", text)}
    assert guards == set(GUARDS) == {bad.guard for bad in BAD_CONVERTED}


@each_converted
def test_the_runtimes_message_has_the_sentence(bad: Bad) -> None:
    model = converted(bad)
    with pytest.raises(Exception, match="Concat") as error:
        in_onnxruntime(model, dict(bad.inputs))
    assert said_by_guard(str(error.value)) == bad.said
    with pytest.raises(Exception, match=re.escape(bad.said) if bad.openvino_reads_it else "Transpose"):
        in_openvino(model, dict(bad.inputs))


@each_converted
def test_the_command_says_only_the_sentence(bad: Bad, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    onnx.save_model(converted(bad), tmp_path / "model.onnx")
    np.savez(tmp_path / "inputs.npz", **bad.inputs)
    with pytest.raises(SystemExit) as ended:
        main(["run", str(tmp_path / "model.onnx"), "--input", str(tmp_path / "inputs.npz")])
    assert (ended.value.code, *capsys.readouterr()) == (1, "", f"{bad.said}\n")


def test_a_predictor_says_only_the_sentence() -> None:
    text = """g (float[N,1,H,W] X, float[R,5] rois) => (float[R,1,2,2] Y) {
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    }"""
    predictor = Predictor(to_portable(parser.parse_model(HEADER + text)), rois="rois")
    boxes = [BOX[:, 1:], np.array([[0, 0, np.nan, 1]], np.float32)]
    with pytest.raises(RowError) as error:
        predictor({"X": list(X), "rois": boxes})
    assert str(error.value) == f"row 1: {NO_NUMBER}"


def test_in_a_function_it_is_the_same() -> None:
    """As the translation of a torch model has it."""
    call = helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], library.DOMAIN, pooled_shape=[2, 2])
    function = library.whole_function(call, [], "pool", "float", 18, "onnx")
    name_guards(function.node, "MaxRoiPool", "pool")
    values = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("X", "rois", "Y")]
    node = helper.make_node("pool", ["X", "rois"], ["Y"], domain=library.PUBLIC_DOMAIN)
    graph = helper.make_graph([node], "g", values[:2], values[2:])
    imports = [helper.make_opsetid("", 18), helper.make_opsetid(library.PUBLIC_DOMAIN, 1)]
    model = helper.make_model(graph, opset_imports=imports, functions=[function], ir_version=8)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    with pytest.raises(Exception, match="Concat") as error:
        session.run(None, rois(2, 0, 0, 1, 1))
    assert said_by_guard(str(error.value)) == NO_IMAGE.replace("(Y)", "(pool)")


def test_other_messages_are_not_a_guards() -> None:
    assert said_by_guard("while running Concat node. Name:'joined' Status Message: MaxRoiPool (Y): no") is None
