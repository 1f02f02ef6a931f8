"""to_portable without control flow, on whole models: subgraphs, functions, sizes by name, and the sample models.

Those are run in OpenCV and tract, too, where these are installed.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from builders import MODELS
from onnx import TensorProto, helper, numpy_helper, parser
from support import one_node
from support.portable_runtimes import Feeds, Run, assert_equal, in_onnxruntime, in_openvino
from support.processes import run_python

import onnx_maxpool
from onnx_maxpool import OperatorError, to_portable
from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.types import Array

pytestmark = [
    pytest.mark.slow("compiles whole models in two runtimes, and starts others"),
    pytest.mark.extras,
]

NESTED = """
<ir_version: 10, opset_import: ["" : 18, "directml" : 5, "local" : 1]>
nested (float[N, 3, 8, 8] X, float[1, 1, R, 5] rois, bool flag) => (float[r, c, a, b] Y)
{
    Y = If (flag) <
        then_branch = yes () => (float[r, c, a, b] yes_Y) {
            yes_Y = directml.RoiPooling <pooled_size = [2, 2], spatial_scale = 1.0> (X, rois)
        },
        else_branch = no () => (float[r, c, a, b] no_Y) { no_Y = local.Negative <side: ints = [2, 2]> (X, rois) }
    >
}
<domain: "local", opset_import: ["" : 18, "directml" : 5]>
Negative <side> (x, r) => (y)
{ z = directml.RoiPooling <pooled_size: ints = @side, spatial_scale = 1.0> (x, r) y = Neg(z) }
"""


def test_dims_subgraphs_and_functions() -> None:
    proto = parser.parse_model(NESTED)
    model = to_portable(proto, control_flow=False, dims={"N": 2, "R": 4})
    assert not model.functions
    assert [dim.dim_value for dim in model.graph.input[1].type.tensor_type.shape.dim] == [1, 1, 4, 5]
    x, rois = one_node.random_rois(np.random.default_rng(5), np.dtype("f"), (2, 3, 8, 8), 4, 1.0, special=False)
    for flag in (True, False):
        feeds: dict[str, Array] = {"X": x, "rois": rois[None, None], "flag": np.array(flag)}
        assert_equal(in_onnxruntime(model, feeds), reference_evaluator(proto).run(None, dict(feeds)))


def test_sizes_may_be_numpys() -> None:
    model = to_portable(parser.parse_model(NESTED), control_flow=False, dims={"N": np.int64(2), "R": np.uint8(4)})
    assert [dim.dim_value for dim in model.graph.input[1].type.tensor_type.shape.dim] == [1, 1, 4, 5]


def test_a_negative_size_is_unknown() -> None:
    proto = parser.parse_model(NESTED)
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    with pytest.raises(OperatorError, match=r"X has shape \[X\.0,.*\], expected a known shape .*: give X\.0 in dims"):
        to_portable(proto, control_flow=False, dims={"R": 4})
    shape = to_portable(proto, control_flow=False, dims={"R": 4, "X.0": 2}).graph.output[0].type.tensor_type.shape
    assert [dim.dim_value for dim in shape.dim] == [4, 3, 2, 2]


def test_sizes_of_what_is_optional_or_in_a_sequence() -> None:
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["": 18]>
        g (seq(float[N,3,8,8]) maps, optional(float[R,5]) boxes) => (float[r,3,2,2] Y) {
            zero = Constant <value = int64 {0}> ()
            X = SequenceAt (maps, zero)
            rois = OptionalGetElement (boxes)
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }""")
    shape = to_portable(proto, control_flow=False, dims={"N": 2, "R": 4}).graph.output[0].type.tensor_type.shape
    assert [dim.dim_value for dim in shape.dim] == [4, 3, 2, 2]


def test_sizes_of_inner_values_that_no_longer_hold() -> None:
    """The inputs got other sizes, and the values behind them kept what was declared: ONNX Runtime runs such a model."""
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 18]>
        g (float[4,3,12,10] X, float[6,5] rois) => (float[6,3,2,2] Y) <float[1,3,8,8] x> {
            x = Relu (X)
            Y = MaxRoiPool <pooled_shape = [2, 2]> (x, rois)
        }""")
    x, rois = one_node.random_rois(np.random.default_rng(5), np.dtype("f"), (4, 3, 12, 10), 6, 1.0, special=False)
    feeds: dict[str, Array] = {"X": x, "rois": rois}
    expected = reference_evaluator(model).run(None, dict(feeds))
    for control_flow in (True, False):
        converted = to_portable(model, control_flow=control_flow)
        onnx.shape_inference.infer_shapes(converted, strict_mode=True)
        assert_equal(in_onnxruntime(converted, feeds), expected)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "N"
    with pytest.raises(OperatorError, match="give N in dims"):
        to_portable(model, control_flow=False)


def test_sizes_of_inner_values_that_only_the_model_knows() -> None:
    """Behind an operator that ONNX does not have."""
    model = parser.parse_model("""<ir_version: 10, opset_import: ["": 18, "com.microsoft": 1]>
        g (float[1,3,8,8] X, float[6,5] rois) => (float[6,3,2,2] Y) <float[1,3,8,8] x> {
            x = com.microsoft.Gelu (X)
            Y = MaxRoiPool <pooled_shape = [2, 2]> (x, rois)
        }""")
    assert "MaxRoiPool" not in {node.op_type for node in to_portable(model, control_flow=False).graph.node}


COMPUTED = """<ir_version: 10, opset_import: ["": 18]>
    g (float[N, 192] flat, float[R, 5] rois) => (float[R, 3, 2, 2] Y) {
        shape = Shape (flat)
        axis = Constant <value_ints = [0]> ()
        images = Gather (shape, axis)
        rest = Constant <value = int64[3] {3, 8, 8}> ()
        sides = Concat <axis = 0> (images, rest)
        X = Reshape (flat, sides)
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    }"""


def test_a_shape_that_the_graph_computes() -> None:
    """As exporters write a Reshape."""
    proto = parser.parse_model(COMPUTED)
    x, rois = one_node.random_rois(np.random.default_rng(5), np.dtype("f"), (2, 3, 8, 8), 4, 1.0, special=False)
    feeds: dict[str, Array] = {"flat": x.reshape(2, -1), "rois": rois}
    expected = reference_evaluator(proto).run(None, dict(feeds))
    assert_equal(in_onnxruntime(to_portable(proto, control_flow=False, dims={"N": 2, "R": 4}), feeds), expected)


def test_a_shape_that_nobody_knows() -> None:
    """Its names are those that ONNX's inference made up, so only the model can tell it, as the message says."""
    text = COMPUTED.replace("rest = Constant <value = int64[3] {3, 8, 8}> ()", "")
    proto = parser.parse_model(text.replace("float[R, 5] rois", "float[R, 5] rois, int64[3] rest"))
    with pytest.raises(OperatorError, match=r"X has shape \[[2,?]+\], .*: declare the shape of 'X' in value_info"):
        to_portable(proto, control_flow=False, dims={"N": 2, "R": 4})
    proto.graph.value_info.append(helper.make_tensor_value_info("X", TensorProto.FLOAT, [2, 3, 8, 8]))
    converted = to_portable(proto, control_flow=False, dims={"N": 2, "R": 4})
    assert "MaxRoiPool" not in {node.op_type for node in converted.graph.node}


def test_one_message_names_all_that_is_not_known() -> None:
    """The sizes of all nodes, of inputs that only ONNX Runtime knows how to follow too, and shapes that none tells."""
    proto = parser.parse_model("""<ir_version: 10, opset_import: ["": 18, "com.microsoft": 1]>
        g (float[N,3,H,?] image, float[R,5] rois, float[B] other, int64[2] sides, float[K,5] boxes)
        => (float[r,3,2,2] Y, float[r,3,2,2] Z, float[B] same) {
            X = com.microsoft.Gelu (image)
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
            some = Reshape (boxes, sides)
            Z = MaxRoiPool <pooled_shape = [2, 2]> (X, some)
            same = Identity (other)
        }""")
    with pytest.raises(OperatorError) as error:
        to_portable(proto, control_flow=False)
    assert str(error.value) == (
        "node 'Y' in graph: MaxRoiPool-1: X has shape [?,?,?,?], expected a known shape without control flow: "
        "give N, H, image.3, R, K in dims"
    )
    dims = {"N": 1, "H": 8, "image.3": 8, "R": 4, "K": 6}
    with pytest.raises(OperatorError, match=r"control flow: declare the shape of 'X' and 'some' in value_info$"):
        to_portable(proto, control_flow=False, dims=dims)


def test_an_output_without_a_declared_type_gets_one() -> None:
    proto = parser.parse_model(ADAPTIVE.format(inputs="float[1, 1, 5, 6] X", sizes="given"))
    proto.graph.output[0].ClearField("type")
    feeds = {"X": np.arange(30, dtype=np.float32).reshape(1, 1, 5, 6)}
    expected = reference_evaluator(proto).run(None, dict(feeds))
    assert_equal(in_onnxruntime(to_portable(proto, control_flow=False), feeds), expected)


def sized_sample(name: str, folder: Path) -> tuple[Path, dict[str, Array], dict[str, int]]:
    """A sample model, its inputs, and the sizes that its symbolic dimensions have in them."""
    path, *_ = MODELS[name].write(folder)
    inputs = MODELS[name].inputs()
    declared = {value.name: value.type.tensor_type.shape.dim for value in onnx.load(path).graph.input}
    dims = {
        dim.dim_param: size
        for value, array in inputs.items()
        for dim, size in zip(declared[value], array.shape, strict=True)
        if dim.dim_param
    }
    return path, inputs, dims


@pytest.mark.parametrize(
    ("name", "run"),
    [
        ("fast_rcnn_head", in_onnxruntime),
        ("fast_rcnn_head", in_openvino),
        ("region_search", in_onnxruntime),
        ("spatial_pyramid", in_openvino),
    ],
)
def test_whole_models(name: str, run: Run, tmp_path: Path) -> None:
    """With the numbers of the native library."""
    path, inputs, dims = sized_sample(name, tmp_path)
    model = to_portable(path, control_flow=False, dims=dims)
    assert not {"Loop", "If"} & {node.op_type for node in model.graph.node}
    assert_equal(run(model, inputs), onnx_maxpool.run(onnx_maxpool.load(path), inputs))


WORKER = Path(__file__).resolve().parents[2] / "scripts" / "runtime_worker.py"


def of_an_extra(runtime: str, module: str) -> Any:
    """Where scripts/check runs the tests, conftest.py rejects that one is missing."""
    missing = importlib.util.find_spec(module) is None
    return pytest.param(runtime, marks=pytest.mark.skipif(missing, reason=f"{module} is not installed"))


OTHERS = [of_an_extra("opencv", "cv2"), of_an_extra("tract", "tract")]


def run_in(runtime: str, model: onnx.ModelProto, feeds: Feeds, folder: Path) -> list[Array]:
    """What a runtime gives, in another process, as some crash."""
    job = folder / "job" / "0000"
    job.mkdir(parents=True)
    onnx.save_model(model, job / "model.onnx")
    np.savez(job / "inputs.npz", **feeds)
    done = run_python(WORKER, runtime, job.parent, "0")
    assert done.returncode == 0, done.stderr
    assert not (job / "error.txt").exists(), (job / "error.txt").read_text()
    with np.load(job / "outputs.npz") as file:
        return [file[key] for key in file.files]


def in_float(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with float in the place of double: OpenCV multiplies no matrices of doubles."""
    narrow = onnx.ModelProto()
    narrow.CopyFrom(model)
    for node in narrow.graph.node:
        for attribute in node.attribute:
            if attribute.name == "to" and attribute.i == TensorProto.DOUBLE:
                attribute.i = TensorProto.FLOAT
    for tensor in narrow.graph.initializer:
        if tensor.data_type == TensorProto.DOUBLE:
            array = numpy_helper.to_array(tensor).astype(np.float32)
            tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))
    for value in narrow.graph.output:
        if value.type.tensor_type.elem_type == TensorProto.DOUBLE:
            value.type.tensor_type.elem_type = TensorProto.FLOAT
    return narrow


@pytest.mark.parametrize("runtime", OTHERS)
def test_fast_rcnn_head(runtime: str, tmp_path: Path) -> None:
    """With the numbers of the native library: this head is exact in float32. Others are in test_whole_models."""
    path, inputs, dims = sized_sample("fast_rcnn_head", tmp_path)
    model = to_portable(path, control_flow=False, dims=dims)
    assert_equal(run_in(runtime, model, inputs, tmp_path), onnx_maxpool.run(onnx_maxpool.load(path), inputs))


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino", *OTHERS])
def test_region_search(runtime: str, tmp_path: Path) -> None:
    """What MaxRoiPool gives is equal in every cell, scores to their last digits, and the same regions are found."""
    path, inputs, dims = sized_sample("region_search", tmp_path)
    model = in_float(onnx.load(path))
    model.graph.output.append(helper.make_tensor_value_info("pooled", TensorProto.FLOAT, None))
    scores, best, pooled = onnx_maxpool.run(onnx_maxpool.load(model), inputs)
    converted = to_portable(model, control_flow=False, dims=dims)
    actual: list[Any] = run_in(runtime, converted, inputs, tmp_path)
    np.testing.assert_allclose(actual[0], scores, rtol=2e-6)
    assert_equal(actual[1:], [best, pooled])


ADAPTIVE = """
<ir_version: 8, opset_import: ["" : 17, "org.openvinotoolkit" : 8]>
g ({inputs}) => (float[n, c, a, b] Y) <int64[2] given = {{3, 2}}>
{{ Y = org.openvinotoolkit.AdaptiveMaxPool(X, {sizes}) }}
"""
