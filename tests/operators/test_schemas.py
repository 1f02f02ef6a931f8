"""The schemas in onnx.defs: compared with the registry, known to onnx's checker, and inferred through."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import checker, defs, helper, parser, shape_inference
from support.one_node import DOMAINS, model

import onnx_maxpool
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.registry import OPERATORS, OperatorVersion, newest_version
from onnx_maxpool.types import dtype_of, type_name

onnx_maxpool.register_schemas()

OURS = [row for row in OPERATORS if row.domain]


def schema_of(row: OperatorVersion) -> defs.OpSchema:
    return defs.get_schema(row.name, row.since_version, row.domain)


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.title)
def test_a_schema_is_what_its_row_says(row: OperatorVersion) -> None:
    schema = schema_of(row)
    assert schema.since_version == row.since_version
    constraints = {
        c.type_param_str: {t[len("tensor(") : -1] for t in c.allowed_type_strs} for c in schema.type_constraints
    }
    index = {"TIndex": set(row.index_types)} if row.index_types else {}
    assert constraints == {**{name: set(types) for name, types in row.types.items()}, **index}


@pytest.mark.parametrize("row", OPERATORS, ids=lambda row: row.title)
def test_a_schema_is_what_its_operator_says(row: OperatorVersion) -> None:
    """For MaxRoiPool that is ONNX's own schema."""
    schema, definition = schema_of(row), operator(row.name)
    assert {p.name: p.type_str for p in schema.inputs} == dict(definition.inputs)
    assert tuple(p.name for p in schema.outputs) == definition.outputs
    attributes = definition.attributes_of(row)
    assert set(schema.attributes) == set(attributes)
    for name, attribute in attributes.items():
        found = schema.attributes[name]
        assert str(found.type).removeprefix("AttrType.") == attribute.kind
        assert found.required == attribute.required
        if attribute.default is not None and not callable(attribute.default):
            default = helper.get_attribute_value(found.default_value)
            assert (default.decode() if isinstance(default, bytes) else default) == attribute.default


@pytest.mark.parametrize("row", OURS, ids=lambda row: row.title)
def test_everything_is_documented(row: OperatorVersion) -> None:
    schema = schema_of(row)
    texts = [schema.doc, *(p.description for p in (*schema.inputs, *schema.outputs))]
    texts += [a.description for a in schema.attributes.values()] + [c.description for c in schema.type_constraints]
    assert all(text.strip().endswith(".") for text in texts)


def test_registering_twice_changes_nothing() -> None:
    before = len(defs.get_all_schemas_with_history())
    onnx_maxpool.register_schemas()
    assert len(defs.get_all_schemas_with_history()) == before


@pytest.mark.parametrize("reached_by", ["register_schemas()", "reference_ops()"])
def test_a_process_that_registers_can_import_onnx_reference_and_ends(reached_by: str) -> None:
    code = f"import onnx_maxpool; onnx_maxpool.{reached_by}; import onnx.reference"
    code += "; import onnx; assert onnx.defs.has('MaxPooling1', 'directml')"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


@pytest.mark.parametrize("opset", [2, 3, 4, 5, 6, 99])
@pytest.mark.parametrize("element_type", ["float", "int8", "uint64"])
def test_an_opset_import_selects_the_version(opset: int, element_type: str) -> None:
    """P6: int8 since version 3, uint64 since 5; between versions the older one holds."""
    x = np.zeros((1, 1, 2, 2), dtype_of(element_type))
    proto = typed(model("MaxPooling1", opset, {"X": x}, window_size=[2, 2]), [1, 1, 2, 2])
    if opset >= {"float": 2, "int8": 3, "uint64": 5}[element_type]:
        checker.check_model(proto, full_check=True)
    else:
        with pytest.raises(shape_inference.InferenceError, match=f"unsupported type: tensor\\({element_type}\\)"):
            checker.check_model(proto, full_check=True)


@pytest.mark.parametrize(("opset", "accepted"), [(3, False), (4, False), (5, True)])
def test_uint64_indices_since_version_5(opset: int, accepted: bool) -> None:
    """P5."""
    x = np.zeros((1, 1, 2, 2), np.float32)
    proto = model("MaxPooling1", opset, {"X": x}, with_index=True, window_size=[2, 2], index_element_type="u64")
    typed(proto, [1, 1, 2, 2])
    if accepted:
        checker.check_model(proto, full_check=True)
    else:
        with pytest.raises(checker.ValidationError, match="Unrecognized attribute: index_element_type"):
            checker.check_model(proto)


def typed(proto: onnx.ModelProto, *shapes: Any) -> onnx.ModelProto:
    """The model with shapes for its inputs, and of the inputs' rank for its outputs, as the checker wants."""
    for value, dims in zip(proto.graph.input, shapes, strict=True):
        element_type = value.type.tensor_type.elem_type
        value.CopyFrom(helper.make_tensor_value_info(value.name, element_type, dims))
    for value in proto.graph.output:
        element_type = value.type.tensor_type.elem_type
        value.CopyFrom(helper.make_tensor_value_info(value.name, element_type, [None] * len(shapes[0])))
    return proto


def inferred(node: str, inputs: str, *, opset: int | None = None, initializers: str = "", **options: Any) -> list[str]:
    """What ONNX infers for `Y`, and `Indices` if there are any, of a node in its textual syntax: `float[N,C,?,4]`."""
    name = node.split()[0]
    domain = DOMAINS[name]
    version = opset or max(row.since_version for row in OURS if row.name == name)
    outputs = "Y, Indices" if newest_version(name).index_types else "Y"
    body = node.replace(name, f"{domain}.{name}")
    text = f"""
        <ir_version: 10, opset_import: ["": 22, "{domain}": {version}]>
        g ({inputs}) => ({outputs}) {initializers} {{ {outputs} = {body} }}
    """
    found = shape_inference.infer_shapes(parser.parse_model(text), strict_mode=True, **options).graph.output
    return [described(value.type) for value in found]


def described(found: onnx.TypeProto) -> str:
    tensor = found.tensor_type
    name = type_name(tensor.elem_type)
    if not tensor.HasField("shape"):
        return name
    dims = [str(d.dim_value) if d.HasField("dim_value") else d.dim_param or "?" for d in tensor.shape.dim]
    # ONNX makes up symbols for the unknown dimensions of a graph's outputs.
    return f"{name}[{','.join('?' if dim.startswith('unk__') else dim for dim in dims)}]"


def test_roi_pooling_is_inferred() -> None:
    node = "RoiPooling <pooled_size = [7, 5]> (X, rois)"
    assert inferred(node, "float[N,C,H,W] X, float[1,1,R,5] rois") == ["float[R,C,7,5]"]
    assert inferred(node, "float16[2,3,H,W] X, float16[1,1,4,5] rois") == ["float16[4,3,7,5]"]
    assert inferred(node, "float[2,3,H,W] X, float[] rois") == ["float[?,3,7,5]"]
    assert inferred(node, "float[] X, float[1,1,R,5] rois") == ["float[R,?,7,5]"]


def test_max_pooling1_is_inferred() -> None:
    """P3, P5."""
    node = "MaxPooling1 <window_size = [3, 2], strides = [2, 1], start_padding = [1, 1]> (X)"
    assert inferred(node, "float[N,C,9,8] X") == ["float[N,C,4,8]", "uint32[N,C,4,8]"]
    # A symbol stays where there is one output for each cell.
    assert inferred(node, "float[N,C,H,W] X") == ["float[N,C,?,W]", "uint32[N,C,?,W]"]
    node = 'MaxPooling1 <window_size = [2, 2, 2], index_element_type = "u64"> (X)'
    assert inferred(node, "int64[1,2,3,4,5] X") == ["int64[1,2,2,3,4]", "uint64[1,2,2,3,4]"]
    node = "MaxPooling1 <window_size = [2, 2]> (X)"
    assert inferred(node, "int8[1,2,3,4] X", opset=4) == ["int8[1,2,2,3]", "uint32[1,2,2,3]"]


def test_adaptive_max_pool_is_inferred() -> None:
    """A1, A3: sizes from an initializer, from a constant, from a computed shape; else only the rank."""
    node = "AdaptiveMaxPool (X, size)"
    four = "float[N,C,H,W] X"
    known = ["float[N,C,2,3]", "int64[N,C,2,3]"]
    assert inferred(node, four, initializers="<int64[2] size = {2, 3}>") == known
    assert inferred(node, four, initializers="<int32[2] size = {2, 3}>") == known
    assert inferred(node, f"{four}, int64[2] size") == ["float[N,C,?,?]", "int64[N,C,?,?]"]
    narrow = 'AdaptiveMaxPool <index_element_type = "i32"> (X, size)'
    assert inferred(narrow, "double[N,C,L] X, int32[1] size") == ["double[N,C,?]", "int32[N,C,?]"]


def adaptive_text(body: str) -> onnx.ModelProto:
    return parser.parse_model(
        '<ir_version: 10, opset_import: ["": 22, "org.openvinotoolkit": 8]> '
        f"g (bfloat16[N,C,H,W] X, float[A,B,7,W] like) => (Y) {{ {body} }}"
    )


def test_adaptive_sizes_from_other_nodes() -> None:
    pool = "Y = org.openvinotoolkit.AdaptiveMaxPool (X, size)"
    proto = adaptive_text(f"size = Constant <value = int64[2] {{4, 5}}> () {pool}")
    (y,) = shape_inference.infer_shapes(proto).graph.output
    assert described(y.type) == "bfloat16[N,C,4,5]"
    proto = adaptive_text(f"size = Shape <start = 2> (like) {pool}")
    (y,) = shape_inference.infer_shapes(proto, data_prop=True).graph.output
    assert described(y.type) == "bfloat16[N,C,7,W]"
    (y,) = shape_inference.infer_shapes(proto).graph.output
    assert described(y.type) == "bfloat16[N,C,?,?]"


def test_an_unknown_rank() -> None:
    """The list of sizes has as many values as there are spatial dimensions; the windows too."""
    for name, node, feeds, expected in [
        ("AdaptiveMaxPool", {}, {"X": np.float32(0), "output_size": np.int64(0)}, ["float[?,?,?,?]", "int64[?,?,?,?]"]),
        ("MaxPooling1", {"window_size": [2, 2, 2]}, {"X": np.float32(0)}, ["float[?,?,?,?,?]", "uint32[?,?,?,?,?]"]),
        ("RoiPooling", {"pooled_size": [2, 3]}, {"X": np.float32(0), "rois": np.float32(0)}, ["float[?,?,2,3]"]),
    ]:
        arrays = {key: np.array(value) for key, value in feeds.items()}
        opset = max(row.since_version for row in OURS if row.name == name)
        proto = model(name, opset, arrays, with_index=len(expected) > 1, **node)
        if "output_size" in arrays:
            proto.graph.input[1].type.tensor_type.shape.dim.add(dim_value=2)
        found = shape_inference.infer_shapes(proto, strict_mode=True).graph.output
        assert [described(value.type) for value in found] == expected


def test_an_unnamed_index_has_no_type() -> None:
    proto = adaptive_text(
        "size = Constant <value = int64[2] {4, 5}> () Y = org.openvinotoolkit.AdaptiveMaxPool (X, size)"
    )
    proto.graph.node[1].output.append("")
    found = shape_inference.infer_shapes(proto, strict_mode=True).graph
    assert {value.name for value in (*found.value_info, *found.output)} == {"size", "Y"}


REFUSED = {
    "RoiPooling: X has shape [N,C,L], expected 4 dimensions (N, C, H, W)": (
        *("RoiPooling <pooled_size = [2, 2]> (X, rois)", "float[N,C,L] X, float[1,1,R,5] rois"),
    ),
    "RoiPooling: rois has shape [B,2,R,5], expected (1, 1, R, 5) with columns batch, x1, y1, x2, y2": (
        *("RoiPooling <pooled_size = [2, 2]> (X, rois)", "float[N,C,H,W] X, float[B,2,R,5] rois"),
    ),
    "RoiPooling: pooled_size is [2,0], expected two integers from 1 to 2147483647": (
        *("RoiPooling <pooled_size = [2, 0]> (X, rois)", "float[N,C,H,W] X, float[1,1,R,5] rois"),
    ),
    "MaxPooling1: X has shape [N,C,H,1], expected W of at least 2, as window_size is [2,2], start_padding [0,0] "
    "and end_padding [0,0]": ("MaxPooling1 <window_size = [2, 2]> (X)", "float[N,C,H,1] X"),
    "MaxPooling1: strides is [0,1], expected 2 integers from 1 to 2147483647": (
        *("MaxPooling1 <window_size = [2, 2], strides = [0, 1]> (X)", "float[N,C,H,W] X"),
    ),
    "AdaptiveMaxPool: X has shape [N,C], expected 3 to 5 dimensions (N, C and 1 to 3 spatial ones)": (
        *("AdaptiveMaxPool (X, size)", "float[N,C] X, int64[S] size"),
    ),
    "AdaptiveMaxPool: X has shape [N,C,H,0], expected spatial dimensions of at least 1": (
        *("AdaptiveMaxPool (X, size)", "float[N,C,H,0] X, int64[2] size"),
    ),
    "AdaptiveMaxPool: output_size has shape [3], expected [2], a size for each spatial dimension of X": (
        *("AdaptiveMaxPool (X, size)", "float[N,C,H,W] X, int64[3] size"),
    ),
    'AdaptiveMaxPool: index_element_type is "u32", expected "i64" or "i32"': (
        *('AdaptiveMaxPool <index_element_type = "u32"> (X, size)', "float[N,C,H,W] X, int64[2] size"),
    ),
}


@pytest.mark.parametrize("words", REFUSED)
def test_inference_refuses_what_the_operator_would(words: str) -> None:
    node, inputs = REFUSED[words]
    with pytest.raises(shape_inference.InferenceError) as refused:
        inferred(node, inputs)
    assert str(refused.value).endswith(f": {words}")


def test_inference_refuses_a_constant_size() -> None:
    with pytest.raises(shape_inference.InferenceError, match=r"output_size is \[2,0\], expected 2 integers from 1"):
        inferred("AdaptiveMaxPool (X, size)", "float[N,C,H,W] X", initializers="<int64[2] size = {2, 0}>")


def test_attributes_of_a_function() -> None:
    """In a local function an attribute may be the function's own, known only at the call."""
    proto = parser.parse_model("""
        <ir_version: 10, opset_import: ["": 22, "directml": 5, "local": 1]>
        g (float[N,C,9,8] X) => (float[N,C,a,b] Y) { Y = local.pool <window = [3, 2]> (X) }
        <domain: "local", opset_import: ["": 22, "directml": 5]>
        pool <window> (X) => (Y) { Y = directml.MaxPooling1 <window_size : ints = @window> (X) }
    """)
    checker.check_model(proto, full_check=True)
    onnx_maxpool.load(proto)
