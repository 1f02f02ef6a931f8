"""A row as an ONNX model, of one node or of a graph: for our library, and for runtimes that read ONNX."""

from __future__ import annotations

from collections.abc import Mapping
from functools import singledispatch

import onnx
from onnx import helper

from onnx_maxpool.benchmark.inputs import graph_constants
from onnx_maxpool.benchmark.rows import AdaptiveCase, Case, GraphCase, RoiCase, Row, SlidingCase
from onnx_maxpool.graph.building import Declared, as_array, one_node, parsed
from onnx_maxpool.types import Array, dtype_of, element_type

ONNX_OPSET = 12
"""The newest that stock runtimes pool ROIs in is below 22; 12 brings the integer types of MaxPool."""
FORM_OPSETS = {"": 17, "org.openvinotoolkit": 8, "directml": 5}
"""What our portable forms are made from: the one without control flow wants a newer opset of ai.onnx."""


def our_model(row: Row, inputs: Mapping[str, Array]) -> onnx.ModelProto:
    """The row's operator, as this package has it."""
    if isinstance(row.case, GraphCase):
        return graph_model(row.case, row.type, ONNX_OPSET)
    if isinstance(row.case, RoiCase) and row.type == "bfloat16":
        return model(our_node(row.case), row, inputs, {"": 22})
    return model(our_node(row.case), row, inputs, {"": ONNX_OPSET, "org.openvinotoolkit": 8, "directml": 5})


def model_for_forms(row: Row, inputs: Mapping[str, Array]) -> onnx.ModelProto:
    """The same in the opsets that our portable forms are made from."""
    if isinstance(row.case, GraphCase):
        return graph_model(row.case, row.type, FORM_OPSETS[""])
    return model(our_node(row.case), row, inputs, FORM_OPSETS)


def standard_model(row: Row, inputs: Mapping[str, Array]) -> onnx.ModelProto:
    """The same in operators of the ONNX standard; raises ValueError where it has none."""
    if isinstance(row.case, GraphCase):
        return graph_model(row.case, row.type, ONNX_OPSET)
    return model(standard_node(row.case), row, inputs, {"": ONNX_OPSET})


def idle_model(inputs: Mapping[str, Array]) -> onnx.ModelProto:
    """A graph with these inputs whose only node reads no cell. Shapes are left open, so that no optimizer folds it."""
    declared = ", ".join(f"{element_type(array)}[] {name}" for name, array in inputs.items())
    return parsed(f"idle ({declared}) => (int64[] Y) {{ Y = Shape (X) }}", opset=13)


def graph_model(case: GraphCase, type_: str, opset: int) -> onnx.ModelProto:
    """Conv, MaxRoiPool and MatMul, which the standard has as we do."""
    shape, sides = ", ".join(map(str, case.input_shape)), [case.pooled, case.pooled]
    text = f"""row ({type_}[{shape}] X, {type_}[{case.rois}, 5] rois) => ({type_}[{case.rois}, {case.features}] Y) {{
        map = Conv (X, kernel)
        pooled = MaxRoiPool <pooled_shape = {sides}, spatial_scale = {case.scale}> (map, rois)
        flat = Flatten (pooled)
        Y = MatMul (flat, weights)
    }}"""
    return parsed(text, graph_constants(case, dtype_of(type_)), opset=opset)


def model(node: onnx.NodeProto, row: Row, inputs: Mapping[str, Array], opsets: Mapping[str, int]) -> onnx.ModelProto:
    """A model of one node, whose inputs are the arrays that it reads and whose outputs have no declared shape."""
    values = {**{name: as_array(inputs[name]) for name in node.input}, node.output[0]: Declared(row.type)}
    used = {domain: version for domain, version in opsets.items() if domain in ("", node.domain)}
    return one_node(node, values, used, name="row")


@singledispatch
def our_node(case: Case) -> onnx.NodeProto:
    """The node of this package's operator."""
    raise TypeError(f"no operator for {case!r}")


@our_node.register
def _(case: RoiCase) -> onnx.NodeProto:
    return standard_node(case)


@our_node.register
def _(case: AdaptiveCase) -> onnx.NodeProto:
    outputs = ["Y", "Indices"]
    return helper.make_node("AdaptiveMaxPool", ["X", "output_size"], outputs, domain="org.openvinotoolkit")


@our_node.register
def _(case: SlidingCase) -> onnx.NodeProto:
    return helper.make_node(
        "MaxPooling1",
        ["X"],
        sliding_outputs(case),
        domain="directml",
        window_size=case.window,
        strides=case.strides,
        start_padding=case.padding,
        end_padding=case.padding,
    )


@singledispatch
def standard_node(case: Case) -> onnx.NodeProto:
    """The node of the standard's operator."""
    raise TypeError(f"no operator for {case!r}")


@standard_node.register
def _(case: RoiCase) -> onnx.NodeProto:
    pooled = [case.pooled, case.pooled]
    return helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], pooled_shape=pooled, spatial_scale=case.scale)


@standard_node.register
def _(case: AdaptiveCase) -> onnx.NodeProto:
    sliding = case.as_sliding()
    if sliding is None:
        raise ValueError("ONNX has no adaptive pooling into parts of unequal size")
    return standard_node(sliding)


@standard_node.register
def _(case: SlidingCase) -> onnx.NodeProto:
    pads = [*case.padding, *case.padding]
    return helper.make_node(
        "MaxPool", ["X"], sliding_outputs(case), kernel_shape=case.window, strides=case.strides, pads=pads
    )


def sliding_outputs(case: SlidingCase) -> list[str]:
    """The outputs' names."""
    return ["Y", "Indices"] if case.indices else ["Y"]
