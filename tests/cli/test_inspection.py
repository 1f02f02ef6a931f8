"""What `inspect` finds in a model, and the inputs that are drawn for one."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from builders import MODELS
from onnx import TensorProto, helper, numpy_helper
from words.bad_batches import IN_A_FUNCTION

from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.cli.inputs import model_inputs, parse_dims
from onnx_maxpool.cli.inspection import inspect_model
from onnx_maxpool.errors import InputError
from onnx_maxpool.types import dtype_of, type_name

DIMS = {"N": 2, "C": 3, "H": 20, "W": 30, "R": 50}


def parsed(graph: str, opset: int = 22) -> onnx.ModelProto:
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": {opset}, "custom": 1]> {graph}')


@pytest.mark.parametrize(
    ("name", "opset", "since", "element_type", "runs"),
    [
        ("max_roi_pool_1_float16", 11, 1, "float16", True),
        ("max_roi_pool_1_float", 11, 1, "float", True),
        ("max_roi_pool_1_double", 11, 1, "double", False),
        ("max_roi_pool_22_float", 22, 22, "float", False),
        ("max_roi_pool_22_bfloat16", 22, 22, "bfloat16", False),
    ],
)
def test_facts_of_a_single_operator(name: str, opset: int, since: int, element_type: str, runs: bool) -> None:
    facts = inspect_model(MODELS[name].builder())
    (node,) = facts.nodes
    assert facts.refusal is None
    assert (node.place, node.opset, node.since_version) == ("graph", opset, since)
    assert node.attributes == {"pooled_shape": [7, 7], "spatial_scale": 0.0625}
    assert [(fact.parameter, fact.element_type, fact.shape) for fact in (*node.inputs, *node.outputs)] == [
        ("X", element_type, ("N", "C", "H", "W")),
        ("rois", element_type, ("R", 5)),
        ("Y", element_type, ("R", "C", 7, 7)),
    ]
    # What stock ONNX Runtime runs may grow from release to release; 1.23 to 1.31 answer this.
    (answer,) = node.stock
    assert answer.element_types == (element_type,)
    if runs:
        assert answer.refusal is None
    else:
        assert "MaxRoiPool" in (answer.refusal or "")
        assert (answer.refusal or "").startswith("[ONNXRuntimeError] : ")


@pytest.mark.parametrize("name", ["", "pool"])
def test_the_refusal_is_what_the_session_of_the_model_says(name: str) -> None:
    model = MODELS["max_roi_pool_1_double"].builder()
    model.graph.node[0].name = name
    with pytest.raises(Exception, match=f"node with name '{name}'") as refused:
        ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (answer,) = inspect_model(model).nodes[0].stock
    assert answer.refusal == str(refused.value)


def test_a_function_is_reported_once_per_call() -> None:
    nodes = inspect_model(MODELS["roi_in_function"].builder()).nodes
    place = "function onnx_maxpool.example::PoolBoxes"
    assert [node.place for node in nodes] == [f"{place}, call 1", f"{place}, call 2"]
    assert [node.attributes["spatial_scale"] for node in nodes] == [0.25, 0.125]
    assert [node.inputs[0].element_type for node in nodes] == ["float", "float"]


def test_a_function_of_another_opset_has_the_operators_of_its_own() -> None:
    model = MODELS["roi_in_function"].builder()
    model.functions[0].opset_import[0].version = 21
    facts = inspect_model(model)
    assert facts.refusal is None
    assert [(node.opset, node.since_version) for node in facts.nodes] == [(21, 1)] * 2
    assert [node.attributes["spatial_scale"] for node in facts.nodes] == [0.25, 0.125]
    assert [node.inputs[0].element_type for node in facts.nodes] == ["float", "float"]


def test_a_function_that_cannot_be_converted_is_reported_as_written() -> None:
    facts = inspect_model(IN_A_FUNCTION)
    (node,) = facts.nodes
    assert facts.refusal is None
    assert (node.place, node.opset, node.since_version) == ("function local::pool", 17, 1)
    assert [fact.element_type for fact in node.inputs] == ["unknown", "unknown"]


@pytest.mark.parametrize(
    ("name", "places"),
    [
        ("roi_in_loop", ["graph, 'Loop' body"]),
        ("roi_in_if", ["graph, 'If' then_branch", "graph, 'If' else_branch"]),
    ],
)
def test_subgraphs_are_searched(name: str, places: list[str]) -> None:
    assert [node.place for node in inspect_model(MODELS[name].builder()).nodes] == places


def test_an_unknown_type_asks_for_every_type_of_the_version() -> None:
    model = parsed(
        """g (float[1,1,8,8] a, float[2,5] b) => (float[2,1,2,2] Y)
        { x = custom.Op (a) r = custom.Op (b) y = MaxRoiPool <pooled_shape = [2, 2]> (x, r) Y = custom.Op (y) }""",
        opset=21,
    )
    (node,) = inspect_model(model).nodes
    assert [fact.element_type for fact in node.inputs] == ["unknown", "unknown"]
    assert [answer.element_types for answer in node.stock] == [("float16",), ("float",), ("double",)]
    assert [answer.refusal is None for answer in node.stock] == [True, True, False]


def test_types_are_unknown_where_inference_fails() -> None:
    model = parsed(
        """g (float[1,1,8,8] X, float[2,5] rois) => (float[2,1,2,2] Z)
        { Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois) Z = unheard.Op (Y) }"""
    )
    facts = inspect_model(model)
    assert facts.refusal is None
    assert [fact.element_type for fact in (*facts.nodes[0].inputs, *facts.nodes[0].outputs)] == [
        "float",
        "float",
        "unknown",
    ]


def test_a_refused_model_says_why() -> None:
    model = parsed("g (float[1,1,8,8] X, float[2,5] rois) => (float[2,1,2,2] Y) { Y = MaxRoiPool (X, rois) }")
    facts = inspect_model(model)
    assert "pooled_shape" in (facts.refusal or "")
    assert "pooled_shape" in (facts.nodes[0].stock[0].refusal or "")


def test_a_model_without_our_operators_has_no_nodes() -> None:
    facts = inspect_model(parsed("g (float[2] X) => (float[2] Y) { Y = Relu (X) }"))
    assert (facts.nodes, facts.refusal) == ((), None)


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith("max_roi_pool_")])
def test_random_rois_are_in_range(name: str) -> None:
    model = MODELS[name].builder()
    inputs = model_inputs(model, dims=DIMS, seed=7)
    dtype = dtype_of(type_name(model.graph.input[0].type.tensor_type.elem_type))
    assert [(array.shape, array.dtype) for array in inputs.values()] == [((2, 3, 20, 30), dtype), ((50, 5), dtype)]
    rois = inputs["rois"].astype(np.float64)
    assert set(rois[:, 0]) == {0, 1}
    assert (rois[:, 1:3] <= rois[:, 3:5]).all()
    assert (rois[:, 1:] >= 0).all()
    step = 1 + 2.0**-7  # bfloat16 rounds to 8 bits
    assert (rois[:, 3:5] <= np.array([29, 19]) * 16 * step).all()
    assert (rois[:, 3:5].max(axis=0) > np.array([29, 19]) * 8).all()  # not all in a corner
    again = model_inputs(model, dims=DIMS, seed=7)
    assert all(array.tobytes() == again[name].tobytes() for name, array in inputs.items())
    assert model_inputs(model, dims=DIMS, seed=8)["X"].tobytes() != inputs["X"].tobytes()


@pytest.mark.parametrize(
    ("dims", "nodes"),
    [
        ("50,5", "half = Cast <to = 10> (rois)  boxes = Identity (half)"),
        ("1,50,5", "axis = Constant <value_ints = [0]> ()  part = Squeeze (rois, axis)  boxes = Cast <to = 10> (part)"),
        (
            "10,5,5",
            "rows = Constant <value_ints = [-1, 5]> ()  part = Cast <to = 10> (rois)  boxes = Reshape (part, rows)",
        ),
    ],
)
def test_random_rois_of_an_input_that_is_cast_or_reshaped(dims: str, nodes: str) -> None:
    """As tools make it that turn a model to float16 and keep the types of its inputs."""
    model = parsed(
        f"""g (float16[3000,1,20,30] X, float[{dims}] rois) => (float16[50,1,2,2] Y)
        {{ {nodes} Y = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.0625> (X, boxes) }}"""
    )
    rois = model_inputs(model)["rois"].reshape(-1, 5)
    assert 1000 < rois[:, 0].max() < 2048  # which float16 holds
    assert (rois[:, 3:5].max(axis=0) > np.array([29, 19]) * 8).all()


@pytest.mark.parametrize(
    ("inputs", "nodes"),
    [
        ("float[50,5] a", "k = Constant <value = float[5] {1, 800, 600, 800, 600}> ()  boxes = Mul (a, k)"),
        ("float[50,5] a", "k = Constant <value = float {4}> ()  b = Mul (k, a)  boxes = Sub (b, k)"),
        ("float16[50,5] a", "b = Cast <to = 1> (a)  k = Constant <value = float {-4}> ()  boxes = Div (b, k)"),
        (
            "int64[50] a, float[50,4] b",
            """one = Constant <value_ints = [1]> ()  c = Unsqueeze (a, one)  d = Cast <to = 1> (c)
            k = Constant <value = float[1,4] {1, 2, 3, 4}> ()  e = Add (b, k)  boxes = Concat <axis = 1> (d, e)""",
        ),
        ("float[50,3] a, float[50,2] b", "boxes = Concat <axis = -1> (a, b)"),
        ("float[20,5] a, float[30,5] b", "boxes = Concat <axis = 0> (a, b)"),
        ("float[10,5] a, int64[50] k", "boxes = Gather (a, k)"),
        (
            "float[60,5] a",
            """ten = Constant <value_ints = [10]> ()  end = Constant <value_ints = [60]> ()
            rows = Constant <value_ints = [0]> ()  boxes = Slice (a, ten, end, rows)""",
        ),
    ],
)
def test_random_rois_that_the_model_makes_of_inputs(inputs: str, nodes: str) -> None:
    """What the operator gets of them is computed by ONNX's reference."""
    model = parsed(
        f"""g (float[3,1,20,30] X, {inputs}) => (float[50,5] boxes, float[50,1,2,2] Y)
        {{ {nodes} Y = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.0625> (X, boxes) }}"""
    )
    (rois,) = reference_evaluator(model).run(["boxes"], dict(model_inputs(model)))
    assert set(rois[:, 0]) == {0, 1, 2}
    assert rois[:, 1:].min() > -0.5  # rounded
    largest = rois[:, 3:].max(axis=0)
    assert (largest > np.array([29, 19]) * 8).all()
    assert (largest < np.array([29, 19]) * 16 + 0.5).all()


@pytest.mark.parametrize("kind", ["int64", "uint8", "int8"])
def test_random_rois_of_integers(kind: str) -> None:
    model = parsed(
        f"""g (float[3,1,20,30] X, {kind}[50,5] rois) => (float[50,1,2,2] Y)
        {{ boxes = Cast <to = 1> (rois) Y = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.0625> (X, boxes) }}"""
    )
    rois = model_inputs(model)["rois"]
    assert rois.dtype == kind
    assert set(rois[:, 0]) == {0, 1, 2}
    assert (rois[:, 1:3] <= rois[:, 3:5]).all()
    assert (rois[:, 1:] >= 0).all()
    assert rois[:, 3].max() > 100


def test_a_random_batch_number_does_not_round_out_of_range() -> None:
    model = MODELS["max_roi_pool_22_bfloat16"].builder()
    rois = model_inputs(model, dims={**DIMS, "N": 300, "C": 1, "R": 2000})["rois"]
    batches = rois[:, 0].astype(np.float64)
    assert 200 < batches.max() < 300


def test_rois_keep_to_the_smallest_of_several_maps() -> None:
    model = parsed(
        """g (float[4,1,40,40] fine, float[2,1,10,20] coarse, float[99,5] rois) => (float Y1, float Y2)
        {
            Y1 = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.25> (fine, rois)
            half = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (coarse)
            Y2 = MaxRoiPool <pooled_shape = [2, 2], spatial_scale = 0.0625> (half, rois)
        }"""
    )
    rois = model_inputs(model)["rois"]
    assert rois[:, 0].max() == 1
    assert 32 < rois[:, 4].max() <= 4 * 16
    assert 72 < rois[:, 3].max() <= 9 * 16


def test_integers_are_small_and_bools_are_bools() -> None:
    inputs = model_inputs(parsed("g (uint8[99] i, bool[99] b) => (uint8[99] Y) { Y = Identity (i) }"))
    assert (inputs["i"].dtype, set(inputs["i"])) == (np.uint8, set(range(10)))
    assert (inputs["b"].dtype, set(inputs["b"])) == (np.bool_, {False, True})


def test_an_initialized_input_is_left_alone() -> None:
    model = parsed("g (float[2] X, float[2] W) => (float[2] Y) { Y = Add (X, W) }")
    model.graph.initializer.append(numpy_helper.from_array(np.ones(2, np.float32), "W"))
    assert list(model_inputs(model)) == ["X"]


def test_files_of_every_kind(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4).astype(ml_dtypes.bfloat16)
    rois = np.zeros((2, 5), ml_dtypes.bfloat16)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "rois.pb").write_bytes(numpy_helper.from_array(rois).SerializeToString())
    np.savez(tmp_path / "both.npz", X=x, rois=rois)
    model = MODELS["max_roi_pool_22_bfloat16"].builder()
    for files in ([f"X={tmp_path}/x.npy", f"rois={tmp_path}/rois.pb"], [f"{tmp_path}/both.npz"]):
        read = model_inputs(model, files)
        assert [array.dtype for array in read.values()] == [ml_dtypes.bfloat16, ml_dtypes.bfloat16]
        assert [array.tobytes() for array in read.values()] == [x.tobytes(), rois.tobytes()]


def test_dimensions_are_taken_from_files(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((2, 1, 8, 8), np.float32))
    model = parsed("g (float[N,1,8,8] X, float[N,4] Z) => (float Y, float V) { Y = Relu (X) V = Relu (Z) }")
    assert model_inputs(model, [f"X={tmp_path}/x.npy"])["Z"].shape == (2, 4)


def write_damaged(folder: Path) -> None:
    """Files with the name of an .npz file, and what damages one."""
    (folder / "empty.npz").touch()
    (folder / "renamed.npz").write_bytes((folder / "x.npy").read_bytes())
    np.savez_compressed(folder / "good.npz", X=np.zeros((1, 1, 2, 2), np.float32))
    content = (folder / "good.npz").read_bytes()
    (folder / "short.npz").write_bytes(content[:-30])
    data = content.index(b"X.npy") + len("X.npy") + content[28]  # behind the name are the extra field and the data
    (folder / "corrupt.npz").write_bytes(content[:data] + b"\xff" * 8 + content[data + 8 :])


@pytest.mark.parametrize(
    ("files", "dims", "message"),
    [
        ([], {"N": 1, "H": 4}, "symbolic dimensions have no size, give --dim C=SIZE --dim W=SIZE --dim R=SIZE"),
        ([], {**DIMS, "Q": 1}, "--dim Q: no random input has that dimension, only N, C, H, W, R"),
        (
            [],
            {**DIMS, "R": 2**61},
            "input 'rois' would have shape [2305843009213693952,5], expected fewer than 2^60 cells",
        ),
        (["Z={folder}/x.npy"], DIMS, "the model has no input 'Z', only X, rois"),
        (["X={folder}/x.npy"], DIMS, "input 'X' is double, expected float"),
        (["X={folder}/x.txt"], DIMS, "expected NAME=FILE.npy, NAME=FILE.pb, FILE.npz or a folder of input_0.pb, ..."),
        (["{folder}/x.npy"], DIMS, "expected NAME=FILE.npy, NAME=FILE.pb, FILE.npz or a folder of input_0.pb, ..."),
        (["X={folder}/bad.npy"], DIMS, "is not a readable .npy file"),
        (["X={folder}/bad.pb"], DIMS, "is not a readable .pb file"),
        (["{folder}/bad.npz"], DIMS, "bad.npz is not a readable .npz file: File is not a zip file"),
        (["{folder}/empty.npz"], DIMS, "empty.npz is not a readable .npz file: File is not a zip file"),
        (["{folder}/renamed.npz"], DIMS, "renamed.npz is not a readable .npz file: File is not a zip file"),
        (["{folder}/short.npz"], DIMS, "short.npz is not a readable .npz file: File is not a zip file"),
        (["{folder}/corrupt.npz"], DIMS, "corrupt.npz is not a readable .npz file: Error -3 while decompressing"),
    ],
)
def test_refused_inputs(tmp_path: Path, files: list[str], dims: dict[str, int], message: str) -> None:
    np.save(tmp_path / "x.npy", np.zeros((1, 1, 2, 2)))
    for kind in ("npy", "npz", "pb"):
        (tmp_path / f"bad.{kind}").write_text("neither an array nor a tensor")
    write_damaged(tmp_path)
    model = MODELS["max_roi_pool_22_float"].builder()
    with pytest.raises(InputError) as caught:
        model_inputs(model, [file.format(folder=tmp_path) for file in files], dims)
    assert message in str(caught.value)


def test_rois_on_a_map_of_unknown_shape_are_refused() -> None:
    model = parsed(
        """g (float[1,1,8,8] a, float[2,5] rois) => (float Y)
        { x = custom.Op (a) Y = MaxRoiPool <pooled_shape = [2, 2]> (x, rois) }"""
    )
    with pytest.raises(InputError, match="input 'rois' contains ROIs for 'x', whose shape is not known"):
        model_inputs(model)


def test_rois_on_a_map_whose_shape_the_model_declares() -> None:
    """By the names of dimensions, whose sizes only the call knows."""
    model = parsed(
        """g (float[N,1,H,9] a, float[50,5] rois) => (float Y) <float[N,1,H,9] x>
        { x = custom.Op (a) Y = MaxRoiPool <pooled_shape = [2, 2]> (x, rois) }"""
    )
    rois = model_inputs(model, dims={"N": 3, "H": 7})["rois"]
    assert set(rois[:, 0]) == {0, 1, 2}
    assert 4 < rois[:, 4].max() <= 6 < rois[:, 3].max() <= 8


def test_an_unnamed_dimension_goes_by_input_and_axis() -> None:
    value = helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 3])
    graph = helper.make_graph([helper.make_node("Relu", ["X"], ["Y"])], "g", [value], [onnx.ValueInfoProto(name="Y")])
    model = helper.make_model(graph)
    with pytest.raises(InputError, match=r"--dim X\.0=SIZE"):
        model_inputs(model)
    assert model_inputs(model, dims={"X.0": 4})["X"].shape == (4, 3)


def test_a_negative_size_is_unknown() -> None:
    """As older exporters write it."""
    model = MODELS["max_roi_pool_22_float"].builder()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1
    with pytest.raises(InputError, match=r"give --dim X\.0=SIZE$"):
        model_inputs(model, dims={name: size for name, size in DIMS.items() if name != "N"})
    sizes = {("X.0" if name == "N" else name): size for name, size in DIMS.items()}
    assert model_inputs(model, dims=sizes)["X"].shape[0] == DIMS["N"]


def test_files_of_the_other_byte_order(tmp_path: Path) -> None:
    x = np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4)
    np.save(tmp_path / "x.npy", x.astype(x.dtype.newbyteorder()))
    read = model_inputs(MODELS["max_roi_pool_22_float"].builder(), [f"X={tmp_path}/x.npy"], {"R": 2})["X"]
    assert (read.dtype.isnative, read.tobytes()) == (True, x.tobytes())


@pytest.mark.parametrize("argument", ["N", "N=", "=3", "N=-1", "N=x", "N=1.5", "N=٤", f"N={2**63}", f"N={'9' * 5000}"])
def test_refused_dims(argument: str) -> None:
    with pytest.raises(InputError, match="expected NAME=SIZE"):
        parse_dims([argument])


DIMS_BY_OPERATOR = {
    "roi_pooling": DIMS,
    "max_pooling1": {"N": 2, "C": 3, "D": 8, "H": 9, "W": 10},
    "adaptive_max_pool": {"N": 2, "C": 3, "D": 8, "H": 9, "W": 10},
}


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith(tuple(DIMS_BY_OPERATOR))])
def test_every_operator_accepts_its_random_inputs(name: str) -> None:
    model = MODELS[name].builder()
    symbols = {dim.dim_param for value in model.graph.input for dim in value.type.tensor_type.shape.dim}
    dims = next(dims for prefix, dims in DIMS_BY_OPERATOR.items() if name.startswith(prefix))
    for seed in range(5):
        inputs = model_inputs(model, dims={key: size for key, size in dims.items() if key in symbols}, seed=seed)
        reference_evaluator(model).run(None, inputs)


def test_facts_of_an_operator_with_an_index() -> None:
    facts = inspect_model(MODELS["max_pooling1_5_float"].builder())
    assert facts.refusal is None
    (node,) = facts.nodes
    assert (node.domain, node.operator, node.opset, node.since_version) == ("directml", "MaxPooling1", 5, 5)
    assert node.attributes["index_element_type"] == "u64"
    dims = ("N", "C", "Dout", "Hout", "Wout")
    assert [(tensor.parameter, tensor.element_type, tensor.shape) for tensor in (*node.inputs, *node.outputs)] == [
        ("X", "float", ("N", "C", "D", "H", "W")),
        ("Y", "float", dims),
        ("Indices", "uint64", dims),
    ]
    (answer,) = node.stock
    assert answer.refusal is not None
    assert "MaxPooling1" in answer.refusal
