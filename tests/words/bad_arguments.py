"""Arguments that functions reject, with the words that say so: a table of docs/errors.md.

Only data: test_errors.py tries each row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
from onnx import helper, parser

import onnx_maxpool
from onnx_maxpool import InputError, OperatorError
from onnx_maxpool.adapters.torch import translation_table
from onnx_maxpool.graph.building import Declared, one_node
from onnx_maxpool.windows import adaptive_windows, roi_windows, sliding_windows


@dataclass(frozen=True)
class BadArgument:
    """A call that is rejected."""

    function: str
    what: str
    error: type[Exception]
    said: str
    call: Callable[[], object]


X = np.zeros((1, 1, 4, 4), np.float32)
ROIS = np.zeros((2, 5), np.float32)
WINDOWS = (np.zeros((2, 3), np.int64), np.ones((2, 3), np.int64))
wrong: Any = "exakt"
nothing: Any = None
EDGES = "onnx_maxpool: bin_edges is 'exakt', expected 'onnx', 'exact' or 'double'"
OPTIONS = (
    "onnx_maxpool: these session options are registered with bin_edges 'double', expected other options for 'exact'"
)


def model(opset: int = 22, kind: str = "float") -> onnx.ModelProto:
    return parser.parse_model(f"""<ir_version: 8, opset_import: ["": {opset}]>
        g ({kind}[N,C,H,W] X, {kind}[R,5] rois) => ({kind}[R,C,2,2] Y) {{
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }}""")


def of_unknown_type() -> onnx.ModelProto:
    """A MaxRoiPool between operators that ONNX does not know."""
    return parser.parse_model("""<ir_version: 8, opset_import: ["": 22, "other": 1]>
        g (float[N] A) => (float[R,C,2,2] B) {
            X, rois = other.Op (A)
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
            B = other.Op (Y)
        }""")


def of_unknown_rank() -> onnx.ModelProto:
    """An AdaptiveMaxPool of which types are declared, and no shapes."""
    node = helper.make_node("AdaptiveMaxPool", ["X", "size"], ["Y", ""], domain="org.openvinotoolkit")
    values = {"X": Declared("float"), "size": Declared("int64"), "Y": Declared("float")}
    return one_node(node, values, {"": 18, "org.openvinotoolkit": 8})


def static(
    x: str = "1, 2, 4, 4", rois: str = "3, 5", sides: str = "2, 2", opset: int = 17, **options: Any
) -> Callable[[], object]:
    """A MaxRoiPool that is converted without control flow."""
    text = f"""<ir_version: 8, opset_import: ["": {opset}]>
        g (float[{x}] X, float[{rois}] rois) => (float[r, c, a, b] Y) {{
            Y = MaxRoiPool <pooled_shape = [{sides}]> (X, rois)
        }}"""
    return lambda: onnx_maxpool.to_portable(parser.parse_model(text), control_flow=False, **options)


def static_with_computed_shape() -> object:
    """A MaxRoiPool on a map whose shape is an input of the model."""
    text = """<ir_version: 8, opset_import: ["": 17]>
        g (float[1, 2, 4, 4] X, int64[4] sides, float[3, 5] rois) => (float[r, c, a, b] Y) {
            map = Reshape (X, sides)
            Y = MaxRoiPool <pooled_shape = [2, 2]> (map, rois)
        }"""
    return onnx_maxpool.to_portable(parser.parse_model(text), control_flow=False)


def static_with_computed_size() -> object:
    """An AdaptiveMaxPool whose output size is an input of the model."""
    text = """<ir_version: 8, opset_import: ["": 17, "org.openvinotoolkit": 8]>
        g (float[1, 1, 5, 6] X, int64[2] size) => (float[n, c, a, b] Y) {
            Y = org.openvinotoolkit.AdaptiveMaxPool (X, size)
        }"""
    return onnx_maxpool.to_portable(parser.parse_model(text), control_flow=False)


def static_max_pool(attributes: str) -> Callable[[], object]:
    """ai.onnx's MaxPool, whose index the model has as an output."""
    text = f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[1, 1, 5, 6] X) => (float[n, c, a, b] Y, int64[n, c, a, b] Indices) {{
            Y, Indices = MaxPool <kernel_shape = [2, 2], {attributes}> (X)
        }}"""
    return lambda: onnx_maxpool.to_portable(parser.parse_model(text), control_flow=False, max_pool_indices=True)


def beside_bfloat16() -> ort.InferenceSession:
    """A model of values that ONNX Runtime does not run together by one of its functions."""
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (bfloat16[N] X, float[2] Z, string[N] T) => (bfloat16[N] Y, seq(float[1]) S, string[N] U) {
            Y = Identity (X)
            S = SplitToSequence <axis = 0> (Z)
            U = Identity (T)
        }""")
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def registered() -> ort.SessionOptions:
    options = ort.SessionOptions()
    onnx_maxpool.register(options, bin_edges="double")
    return options


def implementation(given: Any) -> Callable[[], object]:
    return lambda: onnx_maxpool.load(model(), implementation=given)


def roi_pool(*arguments: Any, **options: Any) -> Callable[[], object]:
    return lambda: onnx_maxpool.max_roi_pool(X, ROIS, *arguments, **options)


def planned(plan: Callable[..., object], *arguments: Any, **options: Any) -> Callable[[], object]:
    return lambda: plan(*arguments, **options)


OPERATORS = "MaxRoiPool, RoiPooling, MaxPooling1 or AdaptiveMaxPool"

BAD_ARGUMENTS = (
    BadArgument(
        "load",
        "an unknown implementation",
        ValueError,
        "onnx_maxpool: implementation is 'pyhton', expected 'native', 'python' or functions by name",
        implementation("pyhton"),
    ),
    BadArgument(
        "load",
        "a function for an unknown operator",
        ValueError,
        f"onnx_maxpool: implementation names 'RoiPool', expected {OPERATORS.replace(', ', ' or ')}",
        implementation({"RoiPool": max}),
    ),
    BadArgument(
        "load",
        "a number in the place of a function",
        ValueError,
        "onnx_maxpool: implementation has 3 for MaxRoiPool, expected a function",
        implementation({"MaxRoiPool": 3}),
    ),
    BadArgument(
        "load",
        "None in the place of a function",
        ValueError,
        "onnx_maxpool: implementation has None for MaxRoiPool, expected a function",
        implementation({"MaxRoiPool": None}),
    ),
    BadArgument(
        "load",
        "a string in the place of a list",
        ValueError,
        "onnx_maxpool: providers is 'CPUExecutionProvider', expected a list of providers",
        lambda: onnx_maxpool.load(model(), providers="CPUExecutionProvider"),
    ),
    BadArgument("load", "other bin edges", ValueError, EDGES, lambda: onnx_maxpool.load(model(), bin_edges=wrong)),
    BadArgument(
        "load",
        "options of other bin edges",
        ValueError,
        OPTIONS,
        lambda: onnx_maxpool.load(model(), registered(), bin_edges="exact"),
    ),
    BadArgument(
        "register",
        "other bin edges",
        ValueError,
        EDGES,
        lambda: onnx_maxpool.register(ort.SessionOptions(), bin_edges=wrong),
    ),
    BadArgument(
        "register",
        "options of other bin edges",
        ValueError,
        OPTIONS,
        lambda: onnx_maxpool.register(registered(), bin_edges="exact"),
    ),
    BadArgument(
        "register_python_ops",
        "options of other bin edges",
        ValueError,
        OPTIONS,
        lambda: onnx_maxpool.register_python_ops(registered(), bin_edges="exact"),
    ),
    BadArgument(
        "reference_ops", "other bin edges", ValueError, EDGES, lambda: onnx_maxpool.reference_ops(bin_edges=wrong)
    ),
    BadArgument(
        "run",
        "a sequence that the model gives beside bfloat16",
        InputError,
        "run: output 'S' is seq(tensor(float)), expected a tensor, as others are bfloat16",
        lambda: onnx_maxpool.run(beside_bfloat16(), {"X": [1], "Z": [1, 2]}, ["S"]),
    ),
    BadArgument(
        "run",
        "texts beside bfloat16",
        InputError,
        "run: input 'T' is string, expected an array of numbers, as others are bfloat16",
        lambda: onnx_maxpool.run(beside_bfloat16(), {"X": [1], "Z": [1, 2], "T": np.array(["a"])}),
    ),
    BadArgument("max_roi_pool", "other bin edges", ValueError, EDGES, roi_pool((1, 1), bin_edges=wrong)),
    BadArgument(
        "max_roi_pool",
        "None in the place of X",
        OperatorError,
        "MaxRoiPool-22: X is object, expected float16, float, double or bfloat16",
        lambda: onnx_maxpool.max_roi_pool(nothing, ROIS, (1, 1)),
    ),
    BadArgument(
        "max_roi_pool",
        "pooled_shape beyond 64 bits",
        OperatorError,
        "MaxRoiPool: pooled_shape is [1180591620717411303424,1], expected two integers from 1 to 2147483647",
        roi_pool((2**70, 1)),
    ),
    BadArgument(
        "max_roi_pool",
        "pooled_shape a number",
        OperatorError,
        "MaxRoiPool: pooled_shape is 7, expected a sequence of integers",
        roi_pool(7),
    ),
    BadArgument(
        "max_roi_pool",
        "pooled_shape of fractions",
        OperatorError,
        "MaxRoiPool: pooled_shape is (7.0, 7), expected a sequence of integers",
        roi_pool((7.0, 7)),
    ),
    BadArgument(
        "max_roi_pool",
        "spatial_scale beyond float32",
        OperatorError,
        "MaxRoiPool: spatial_scale is inf, expected a finite number greater than 0",
        roi_pool((1, 1), 1e300),
    ),
    BadArgument(
        "max_roi_pool",
        "spatial_scale beyond double",
        OperatorError,
        "MaxRoiPool: spatial_scale is inf, expected a finite number greater than 0",
        roi_pool((1, 1), 10**400),
    ),
    BadArgument(
        "max_roi_pool",
        "a negative spatial_scale beyond double",
        OperatorError,
        "MaxRoiPool: spatial_scale is -inf, expected a finite number greater than 0",
        roi_pool((1, 1), -(10**400)),
    ),
    BadArgument(
        "max_roi_pool",
        "spatial_scale a word",
        OperatorError,
        "MaxRoiPool: spatial_scale is '1/16', expected a number",
        roi_pool((1, 1), "1/16"),
    ),
    BadArgument(
        "max_pooling",
        "an index_dtype that is none",
        OperatorError,
        "MaxPooling1: index_dtype is 'q9', expected uint32 or uint64",
        lambda: onnx_maxpool.max_pooling(X, (2, 2), return_indices=True, index_dtype="q9"),
    ),
    BadArgument(
        "adaptive_max_pool",
        "an index_dtype of fractions",
        OperatorError,
        "AdaptiveMaxPool: index_dtype is float64, expected int64 or int32",
        lambda: onnx_maxpool.adaptive_max_pool(X, (2, 2), return_indices=True, index_dtype=float),
    ),
    BadArgument(
        "to_portable",
        "an unknown operator",
        OperatorError,
        f"to_portable: operator RoiPool, expected {OPERATORS}",
        lambda: onnx_maxpool.to_portable(model(), only=["RoiPool"]),
    ),
    BadArgument(
        "to_portable",
        "an opset that is too old",
        OperatorError,
        "node 'Y' in graph: to_portable: opset of ai.onnx is 10, expected 11 or newer: "
        "onnx.version_converter.convert_version(model, 13) raises it",
        lambda: onnx_maxpool.to_portable(model(opset=10)),
    ),
    BadArgument(
        "to_portable",
        "an input whose type ONNX does not infer",
        OperatorError,
        "node 'Y' in graph: MaxRoiPool-22: the type of X is not known, "
        "expected one that ONNX infers or value_info declares",
        lambda: onnx_maxpool.to_portable(of_unknown_type()),
    ),
    BadArgument(
        "to_portable",
        "an input whose rank ONNX does not infer",
        OperatorError,
        "node 'Y' in graph: AdaptiveMaxPool: the rank of X is not known, "
        "expected one that ONNX infers or value_info declares",
        lambda: onnx_maxpool.to_portable(of_unknown_rank()),
    ),
    BadArgument(
        "to_portable",
        "without control flow, a dimension without a size",
        OperatorError,
        "node 'Y' in graph: MaxRoiPool-1: rois has shape [R,5], "
        "expected a known shape without control flow: give R in dims",
        static(rois="R, 5"),
    ),
    BadArgument(
        "to_portable",
        "without control flow, a dimension without a name or a size",
        OperatorError,
        "node 'Y' in graph: MaxRoiPool-1: rois has shape [rois.0,5], "
        "expected a known shape without control flow: give rois.0 in dims",
        static(rois="?, 5"),
    ),
    BadArgument(
        "to_portable",
        "without control flow, a shape that no size of an input tells",
        OperatorError,
        "node 'Y' in graph: MaxRoiPool-1: X has shape [?,?,?,?], "
        "expected a known shape without control flow: declare the shape of 'map' in value_info",
        static_with_computed_shape,
    ),
    BadArgument(
        "to_portable",
        "`dims` with a name that no input has",
        OperatorError,
        "to_portable: dims has ROIS, expected R",
        static(rois="R, 5", dims={"ROIS": 3}),
    ),
    BadArgument(
        "to_portable",
        "`dims` for a model whose sizes are known",
        OperatorError,
        "to_portable: dims has R, expected none, as every dimension of the inputs has a size",
        static(dims={"R": 3}),
    ),
    BadArgument(
        "to_portable",
        "`dims` with a negative size",
        OperatorError,
        "to_portable: dims has R of -1, expected an integer from 0 to 9223372036854775807",
        static(rois="R, 5", dims={"R": -1}),
    ),
    BadArgument(
        "to_portable",
        "`dims` with a size beyond 64 bits",
        OperatorError,
        "to_portable: dims has R of 9223372036854775808, expected an integer from 0 to 9223372036854775807",
        static(rois="R, 5", dims={"R": 2**63}),
    ),
    BadArgument(
        "to_portable",
        "`dims` with a fraction",
        OperatorError,
        "to_portable: dims has R of 2.0, expected an integer from 0 to 9223372036854775807",
        static(rois="R, 5", dims={"R": 2.0}),
    ),
    BadArgument(
        "to_portable",
        "`dims` that make an input too large",
        OperatorError,
        "to_portable: with dims input 'rois' has shape [4611686018427387904,5], expected fewer than 2^60 cells",
        static(rois="R, 5", dims={"R": 2**62}),
    ),
    BadArgument(
        "to_portable",
        "without control flow, an opset that is too old",
        OperatorError,
        "node 'Y' in graph: to_portable: opset of ai.onnx is 12, "
        "expected 13 or newer without control flow: onnx.version_converter.convert_version(model, 13) raises it",
        static(opset=12),
    ),
    BadArgument(
        "to_portable",
        "without control flow, more bins than float32 can cut",
        OperatorError,
        "node 'Y' in graph: to_portable: 3000 bins along an axis, "
        "expected at most 2047, as edges are computed in float32",
        static(sides="3000, 1"),
    ),
    BadArgument(
        "to_portable",
        "without control flow, ROIs but no image",
        OperatorError,
        "node 'Y' in graph: MaxRoiPool: X has shape [0,2,4,4] and rois [3,5], expected no ROI, as X has batch size 0",
        static(x="0, 2, 4, 4"),
    ),
    BadArgument(
        "to_portable",
        "without control flow, an output size that is computed",
        OperatorError,
        "node 'Y' in graph: AdaptiveMaxPool: output_size is computed, "
        "expected a constant of the model, for a model without control flow",
        static_with_computed_size,
    ),
    BadArgument(
        "to_portable",
        "a MaxPool whose window has a cell again and again",
        OperatorError,
        "node 'Y' in graph: MaxPool: dilations is [0,1], expected integers of at least 1",
        static_max_pool("dilations = [0, 1]"),
    ),
    BadArgument(
        "to_portable",
        "a MaxPool whose windows go backward",
        OperatorError,
        "node 'Y' in graph: MaxPool: strides is [1,-1], expected integers of at least 1",
        static_max_pool("strides = [1, -1]"),
    ),
    BadArgument(
        "to_python_ops",
        "an input whose type ONNX does not infer",
        OperatorError,
        "node 'Y' in graph: MaxRoiPool-22: the element type of X 'X' is not known, "
        "expected one that ONNX infers or value_info declares",
        lambda: onnx_maxpool.to_python_ops(of_unknown_type()),
    ),
    BadArgument(
        "to_python_ops",
        "float16 in an opset without a Cast for it",
        OperatorError,
        "node 'Y' in graph: MaxRoiPool-1: opset of ai.onnx is 5, expected 6 or newer for float16 in Python",
        lambda: onnx_maxpool.to_python_ops(model(opset=5, kind="float16")),
    ),
    BadArgument(
        "translation_table",
        "another target",
        OperatorError,
        'translation_table: target is "exakt", expected custom or portable',
        lambda: translation_table(wrong),
    ),
    BadArgument(
        "windows.roi_windows",
        "no bins",
        OperatorError,
        "roi_windows: pooled_width is 0, expected at least 1",
        planned(roi_windows, ROIS, (2, 0), 1.0, (4, 4)),
    ),
    BadArgument(
        "windows.roi_windows",
        "rois of rank 3",
        OperatorError,
        "roi_windows: rois has shape [1,2,5], expected (R, 5)",
        planned(roi_windows, ROIS[None], (2, 2), 1.0, (4, 4)),
    ),
    BadArgument(
        "windows.roi_windows",
        "a coordinate that is NaN",
        OperatorError,
        "roi_windows: rois row 0 has a NaN, expected four numbers after the batch number",
        planned(roi_windows, ROIS * [1, 1, 1, np.nan, 1], (2, 2), 1.0, (4, 4)),
    ),
    BadArgument(
        "windows.roi_windows",
        "other bin edges",
        ValueError,
        EDGES,
        planned(roi_windows, ROIS, (2, 2), 1.0, (4, 4), bin_edges=wrong),
    ),
    BadArgument(
        "windows.adaptive_windows",
        "no output",
        OperatorError,
        "adaptive_windows: output_size is 0, expected at least 1",
        planned(adaptive_windows, 4, 0),
    ),
    BadArgument(
        "windows.sliding_windows",
        "a window of no cell",
        OperatorError,
        "sliding_windows: window is 0, expected at least 1",
        planned(sliding_windows, 4, 0, 1, 0, 0),
    ),
    BadArgument(
        "windows.sliding_windows",
        "no stride",
        OperatorError,
        "sliding_windows: stride is 0, expected at least 1",
        planned(sliding_windows, 4, 1, 0, 0, 0),
    ),
    BadArgument(
        "windows.sliding_windows",
        "a negative padding",
        OperatorError,
        "sliding_windows: end_padding is -1, expected at least 0",
        planned(sliding_windows, 4, 2, 1, 0, -1),
    ),
    BadArgument(
        "plot_windows",
        "a map of rank 4",
        ValueError,
        "plot_windows: feature_map has shape [1,1,4,4], expected 2 dimensions (H, W)",
        lambda: onnx_maxpool.plot_windows(X, (WINDOWS, WINDOWS), roi=0),
    ),
    BadArgument(
        "plot_windows",
        "an unknown region",
        ValueError,
        "plot_windows: windows have shape [2,3] and roi is 2, "
        "expected 1 dimension without roi, or 2 and roi the row of one region",
        lambda: onnx_maxpool.plot_windows(X[0, 0], (WINDOWS, WINDOWS), roi=2),
    ),
)
