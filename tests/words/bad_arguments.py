"""Arguments that functions and commands refuse, with the words that say so: two tables of docs/errors.md.

Data alone: test_bad_arguments.py tries each row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pyarrow as pa
import pyarrow.parquet as pq
from onnx import helper, parser

import onnx_maxpool
from onnx_maxpool import InputError, OperatorError, RowError
from onnx_maxpool.adapters.torch import translation_table
from onnx_maxpool.windows import adaptive_windows, roi_windows, sliding_windows


@dataclass(frozen=True)
class BadArgument:
    """A call that is refused."""

    function: str
    what: str
    error: type[Exception]
    said: str
    call: Callable[[], object]


X = np.zeros((1, 1, 4, 4), np.float32)
ROIS = np.zeros((2, 5), np.float32)
WINDOWS = (np.zeros((2, 3), np.int64), np.ones((2, 3), np.int64))
wrong: Any = "exakt"
EDGES = "onnx_maxpool: bin_edges is 'exakt', expected 'onnx', 'exact' or 'double'"
OPTIONS = (
    "onnx_maxpool: these session options are registered with bin_edges 'double', expected other options for 'exact'"
)


def model(x: str = "X", opset: int = 22) -> onnx.ModelProto:
    """A MaxRoiPool on the input `X`, or on what an operator makes of it that ONNX does not know: `x` is then `Z`."""
    return parser.parse_model(f"""<ir_version: 8, opset_import: ["": {opset}, "other": 1]>
        g (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y) {{
            Z = other.Op (X)
            Y = MaxRoiPool <pooled_shape = [2, 2]> ({x}, rois)
        }}""")


def of_unknown_rank() -> onnx.ModelProto:
    """An AdaptiveMaxPool of which types are declared, and no shapes."""
    node = helper.make_node("AdaptiveMaxPool", ["X", "size"], ["Y", ""], domain="org.openvinotoolkit")
    kinds = {"X": onnx.TensorProto.FLOAT, "size": onnx.TensorProto.INT64, "Y": onnx.TensorProto.FLOAT}
    x, size, y = (helper.make_tensor_value_info(name, kind, None) for name, kind in kinds.items())
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("org.openvinotoolkit", 8)]
    return helper.make_model(helper.make_graph([node], "g", [x, size], [y]), opset_imports=opsets, ir_version=8)


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


BOXES = np.zeros((1, 4), np.float32)
TWO_OF_ROIS = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[N,C,H,W] X, float[A,5] first, float[B,5] second) => (float[R,C,2,2] Y) {
        rois = Concat <axis = 0> (first, second)
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    }""")


def predictor(proto: onnx.ModelProto | None = None, **options: Any) -> Callable[[], object]:
    return lambda: onnx_maxpool.Predictor(proto or head(), **options)


def head(batch: str = "N") -> onnx.ModelProto:
    return parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        head (float[{batch},C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y) {{
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }}""")


def predict(columns: Mapping[str, Any]) -> object:
    """On three rows of an image and a box, with some columns replaced."""
    batch = {"X": [X[0]] * 3, "rois": [BOXES] * 3, **columns}
    return onnx_maxpool.Predictor(head())({name: values for name, values in batch.items() if values is not None})


BAD_BATCHES = (
    ("a column missing", InputError, "the batch has no column 'rois', only X", {"rois": None}),
    (
        "a column of an output's name",
        InputError,
        "the batch has a column 'Y', expected none of that name, which an output has",
        {"Y": [0] * 3},
    ),
    (
        "columns of two lengths",
        InputError,
        "column 'rois' has 2 rows, expected 3, as column 'X' has",
        {"rois": [BOXES] * 2},
    ),
    ("a column of another type", InputError, "column 'X' is double, expected float", {"X": np.zeros((3, 1, 4, 4))}),
    (
        "a row of another type",
        RowError,
        "row 2: column 'X' is double, expected float",
        {"X": [X[0], X[0], X[0].astype(np.float64)]},
    ),
    ("words in a row", RowError, "row 1: column 'rois' is string, expected float", {"rois": [BOXES, ["a"], BOXES]}),
    (
        "boxes of three columns",
        RowError,
        "row 1: column 'rois' has shape [1,3], expected (r, 4) or (r, 5)",
        {"rois": [BOXES, BOXES[:, :3], BOXES]},
    ),
    (
        "an image of rank 2",
        RowError,
        "row 1: column 'X' has shape [4,4], expected [C,H,W]",
        {"X": [X[0], X[0, 0], X[0]]},
    ),
    (
        "lists that are ragged",
        RowError,
        "row 1: column 'rois' has parts of shapes [4] and [3], expected one",
        {"rois": [BOXES, [[0] * 4, [0] * 3], BOXES]},
    ),
    (
        "what the operator rejects",
        RowError,
        "row 0: MaxRoiPool: rois row 0 has x1 nan, expected a number; rows that fail too: 2",
        {"rois": [BOXES * np.nan, BOXES, BOXES * np.nan]},
    ),
)
"""What is wrong, the error, its message and the columns."""

OPERATORS = "MaxRoiPool, RoiPooling, MaxPooling1 or AdaptiveMaxPool"

BAD_ARGUMENTS = (
    BadArgument(
        "load",
        "an implementation that there is not",
        ValueError,
        "onnx_maxpool: implementation is 'pyhton', expected 'native', 'python' or functions by name",
        implementation("pyhton"),
    ),
    BadArgument(
        "load",
        "a function for an operator that there is not",
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
    BadArgument("max_roi_pool", "other bin edges", ValueError, EDGES, roi_pool((1, 1), bin_edges=wrong)),
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
        "an operator that there is not",
        OperatorError,
        f"to_portable: operator RoiPool, expected {OPERATORS}",
        lambda: onnx_maxpool.to_portable(model(), only=["RoiPool"]),
    ),
    BadArgument(
        "to_portable",
        "an opset that is too old",
        OperatorError,
        "node 'Y' in graph: to_portable: opset of ai.onnx is 10, expected 11 or newer, "
        "to which onnx.version_converter can raise it",
        lambda: onnx_maxpool.to_portable(model(opset=10)),
    ),
    BadArgument(
        "to_portable",
        "an input whose type ONNX does not infer",
        OperatorError,
        "node 'Y' in graph: MaxRoiPool-22: the type of X is not known, expected one that ONNX infers",
        lambda: onnx_maxpool.to_portable(model(x="Z")),
    ),
    BadArgument(
        "to_portable",
        "an input whose rank ONNX does not infer",
        OperatorError,
        "node 'Y' in graph: AdaptiveMaxPool: the rank of X is not known, expected one that ONNX infers",
        lambda: onnx_maxpool.to_portable(of_unknown_rank()),
    ),
    BadArgument(
        "to_python_ops",
        "an input whose type ONNX does not infer",
        OperatorError,
        "node 'Y' in graph: MaxRoiPool-22: the element type of X 'Z' is not known to ONNX's inference",
        lambda: onnx_maxpool.to_python_ops(model(x="Z")),
    ),
    BadArgument(
        "translation_table",
        "another target",
        OperatorError,
        'translation_table: target is "exakt", expected custom or portable',
        lambda: translation_table(wrong),
    ),
    BadArgument("Predictor", "other bin edges", ValueError, EDGES, predictor(bin_edges=wrong)),
    BadArgument(
        "Predictor",
        "two inputs that may hold ROIs",
        InputError,
        "ROIs may come from the inputs first or second, expected one: name it with rois",
        predictor(TWO_OF_ROIS),
    ),
    BadArgument(
        "Predictor",
        "an input that there is not",
        InputError,
        "rois is 'boxes', expected an input of the model: X or rois",
        predictor(rois="boxes"),
    ),
    BadArgument(
        "Predictor",
        "an input that holds no ROIs",
        InputError,
        "rois is 'X' of shape [N,C,H,W], expected one with 4 or 5 columns",
        predictor(rois="X"),
    ),
    BadArgument(
        "Predictor",
        "a number of threads that there is not",
        InputError,
        "threads is -1, expected an integer from 0 to 1024",
        predictor(threads=-1),
    ),
    BadArgument(
        "Predictor",
        "options that do not pickle",
        InputError,
        "session_options is SessionOptions, expected a mapping of names to values, which pickles",
        predictor(session_options=ort.SessionOptions()),
    ),
    BadArgument(
        "Predictor",
        "an option that there is not",
        InputError,
        "session_options has 'threads', expected an attribute of SessionOptions or a config entry",
        predictor(session_options={"threads": 3}),
    ),
    BadArgument(
        "Predictor",
        "an option of another type",
        InputError,
        "session_options has 'x' for 'intra_op_num_threads', expected a value of type int",
        predictor(session_options={"intra_op_num_threads": "x"}),
    ),
    BadArgument(
        "Predictor",
        "a batch that rows cannot fill",
        InputError,
        "input 'X' has shape [8,C,H,W], expected a batch of 1 or of any size",
        predictor(head("8")),
    ),
    *(
        BadArgument("Predictor()", what, error, said, lambda columns=columns: predict(columns))
        for what, error, said, columns in BAD_BATCHES
    ),
    BadArgument(
        "collate",
        "images of two shapes",
        RowError,
        "row 1: is float [1,4,5], expected float [1,4,4], as row 0 is",
        lambda: onnx_maxpool.collate([X[0], np.zeros((1, 4, 5), np.float32)], [BOXES, BOXES]),
    ),
    BadArgument(
        "collate",
        "boxes of rank 1",
        RowError,
        "row 1: boxes are float [4], expected (r, 4) or (r, 5)",
        lambda: onnx_maxpool.collate([X[0], X[0]], [BOXES, BOXES[0]]),
    ),
    BadArgument(
        "collate",
        "boxes of two types",
        RowError,
        "row 1: boxes are double [1,4], expected float, as those of row 0 are",
        lambda: onnx_maxpool.collate([X[0], X[0]], [BOXES, BOXES.astype(np.float64)]),
    ),
    BadArgument(
        "collate",
        "more images than boxes",
        InputError,
        "collate: 2 images and 1 boxes, expected as many of both, and one",
        lambda: onnx_maxpool.collate([X[0], X[0]], [BOXES]),
    ),
    BadArgument(
        "collate",
        "more images than a type numbers",
        InputError,
        "collate: 2050 images, expected at most 2049 with float16 boxes",
        lambda: onnx_maxpool.collate([X[0]] * 2050, [BOXES.astype(np.float16)] * 2050),
    ),
    BadArgument(
        "split",
        "an output of other entries",
        InputError,
        "split: the output has shape [3,2], expected 4 entries",
        lambda: onnx_maxpool.split(np.zeros((3, 2)), [1, 3]),
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
        "roi_windows: rois row 0 has a NaN, expected four numbers behind the batch number",
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
        "a region that there is not",
        ValueError,
        "plot_windows: windows have shape [2,3] and roi is 2, "
        "expected 1 dimension without roi, or 2 and roi the row of one region",
        lambda: onnx_maxpool.plot_windows(X[0, 0], (WINDOWS, WINDOWS), roi=2),
    ),
)


@dataclass(frozen=True)
class BadCommand:
    """Arguments that `onnx-maxpool` refuses, in the folder that `write_files` fills."""

    what: str
    command: str
    said: str


def write_files(folder: Path) -> None:
    onnx.save_model(model(), folder / "m.onnx")
    bfloat16 = parser.parse_model("""<ir_version: 10, opset_import: ["": 22]>
        g (bfloat16[1,1,4,4] X, bfloat16[2,5] rois) => (bfloat16[2,1,2,2] Y) {
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }""")
    onnx.save_model(bfloat16, folder / "bf16.onnx")
    pool = parser.parse_model("""<ir_version: 8, opset_import: ["": 22]>
        g (float[N,1,4,4] X, float[R,5] rois) => (float[R,1,2,2] Y) {
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }""")
    onnx.save_model(pool, folder / "pool.onnx")
    for name, graph in {"identity": "Y) { Y = Identity (X) }", "relu": "Z) { Z = Relu (X) }"}.items():
        text = f'<ir_version: 8, opset_import: ["": 22]> g (float[1] X) => (float[1] {graph}'
        onnx.save_model(parser.parse_model(text), folder / f"{name}.onnx")
    np.save(folder / "x.npy", X)
    np.save(folder / "double.npy", X.astype(np.float64))
    (folder / "folder").mkdir()
    boxes = pa.array([[[0, 0, 1, 1]]], pa.list_(pa.list_(pa.float32())))
    images = pa.FixedShapeTensorArray.from_numpy_ndarray(X)
    tables = {
        "rows": {"X": images, "rois": boxes},
        "images": {"X": images},
        "double": {"X": images, "rois": boxes.cast(pa.list_(pa.list_(pa.float64())))},
        "rank": {"X": boxes, "rois": boxes},
        "wide": {"X": images, "rois": pa.array([[[0, 0, 0]]], pa.list_(pa.list_(pa.float32(), 3)))},
        "large": {"X": pa.FixedShapeTensorArray.from_numpy_ndarray(np.zeros((1, 1, 5, 4), np.float32)), "rois": boxes},
        "named": {"X": images, "rois": boxes, "Y": boxes},
        "texts": {"X": ["a"], "rois": boxes},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    (folder / "broken.parquet").write_text("no Parquet")
    (folder / "mixed").mkdir()
    (folder / "mixed" / "a.npz").touch()
    (folder / "mixed" / "b.parquet").touch()


RUN = "run pool.onnx --dim N=1 --dim R=2"

BAD_COMMANDS = (
    BadCommand(
        "a size without a name",
        "run pool.onnx --dim 4",
        "--dim 4: expected NAME=SIZE, the size an integer from 0 to 9223372036854775807",
    ),
    BadCommand(
        "a size that is too large",
        "run pool.onnx --dim R=9223372036854775808",
        "--dim R=9223372036854775808: expected NAME=SIZE, the size an integer from 0 to 9223372036854775807",
    ),
    BadCommand(
        "sizes that are too large together",
        "run pool.onnx --dim N=1 --dim R=9223372036854775807",
        "input 'rois' would have shape [9223372036854775807,5], expected fewer than 2^60 cells",
    ),
    BadCommand(
        "a dimension that there is not",
        "run pool.onnx --dim Q=1",
        "--dim Q: no random input has that dimension, only N, R",
    ),
    BadCommand(
        "a dimension without a size",
        "run pool.onnx",
        "symbolic dimensions have no size, give --dim N=SIZE --dim R=SIZE",
    ),
    BadCommand(
        "a file of another kind",
        f"{RUN} --input X=x.txt",
        "--input X=x.txt: expected NAME=FILE.npy, NAME=FILE.pb, FILE.npz or a folder of input_0.pb, ...",
    ),
    BadCommand(
        "an input that there is not",
        f"{RUN} --input Z=x.npy",
        "--input Z=x.npy: the model has no input 'Z', only X, rois",
    ),
    BadCommand("an input twice", f"{RUN} --input X=x.npy --input X=x.npy", "--input X=x.npy: input 'X' is given twice"),
    BadCommand(
        "an input of another type",
        f"{RUN} --input X=double.npy",
        "--input X=double.npy: input 'X' is double, expected float",
    ),
    BadCommand("a folder without inputs", f"{RUN} --input folder", "--input folder: the folder has no input_0.pb"),
    BadCommand(
        "a file where a folder is to be", f"{RUN} --save-inputs x.npy", "--save-inputs x.npy: expected a folder"
    ),
    BadCommand("an output file of another kind", f"{RUN} --out y.npy", "--out y.npy: expected FILE.npz or a folder"),
    BadCommand(
        "bfloat16 in a file that does not hold it",
        "run bf16.onnx --out y.npz",
        "--out y.npz: output 'Y' is bfloat16, which .npz does not hold: give a folder",
    ),
    BadCommand(
        "a tolerance that is no number",
        "compare pool.onnx --tolerance inf",
        "--tolerance inf: expected a finite number",
    ),
    BadCommand(
        "models of other inputs",
        "compare m.onnx identity.onnx",
        "the second model has the inputs X, expected X, rois",
    ),
    BadCommand(
        "models of other outputs",
        "compare identity.onnx relu.onnx",
        "the second model has the outputs Z, expected Y",
    ),
    BadCommand(
        "models of inputs of another type",
        "compare m.onnx bf16.onnx",
        "the second model's input 'X' is bfloat16, expected float",
    ),
    BadCommand(
        "a folder where a file is to be",
        "conformance --html folder",
        "folder is a folder, expected a file",
    ),
    BadCommand(
        "a file where a folder is to be",
        "conformance --json x.npy/report.json",
        "[Errno 17] File exists: 'x.npy'",
    ),
    BadCommand(
        "a time limit that is no number",
        "conformance --time-limit nan",
        "--time-limit nan: expected 0.1 to 86400 seconds",
    ),
    BadCommand(
        "an operator that there is not",
        "conformance --operator Relu",
        f"--operator Relu: expected one of {OPERATORS.replace(' or', ',')}",
    ),
    BadCommand(
        "cases that there are not",
        "conformance --case nowhere",
        "--case nowhere: no case has such a name",
    ),
    BadCommand(
        "a class that is no backend",
        "conformance --backend os:path",
        "os:path: expected a class of onnx.backend.base.Backend",
    ),
    BadCommand(
        "a folder for cases that is not empty",
        "conformance --export .",
        "--export .: the folder holds files already, expected a new or an empty one",
    ),
    BadCommand("a file in place of it", "conformance --export x.npy", "--export x.npy is a file, expected a folder"),
    BadCommand(
        "cases to write and a backend to ask",
        "conformance --export cases --backend native",
        "--export cases: expected no --list, --backend or report beside it, as no backend runs",
    ),
    BadCommand(
        "rows that there are not",
        "bench --rows nothing",
        "--rows nothing: no row has that in its name",
    ),
    BadCommand(
        "an operator that there is not",
        "convert pool.onnx out.onnx --only RoiPool",
        f"to_portable: operator RoiPool, expected {OPERATORS}",
    ),
    BadCommand(
        "no input",
        "batch pool.onnx nothing out",
        "nothing is no such file, expected a .parquet file or a folder of .parquet or of .npz files",
    ),
    BadCommand(
        "an input folder without files",
        "batch pool.onnx folder out",
        "folder is a folder without such files, expected a .parquet file or a folder of .parquet or of .npz files",
    ),
    BadCommand(
        "two kinds of files", "batch pool.onnx mixed out", "mixed has both .npz and .parquet files, expected one kind"
    ),
    BadCommand(
        "a column that is missing",
        "batch pool.onnx images.parquet out",
        "images.parquet has no column 'rois', only X",
    ),
    BadCommand(
        "a column of another type",
        "batch pool.onnx double.parquet out",
        "double.parquet: column 'rois' is list<element: list<element: double>> of double, "
        "expected numbers of type float as tensors or nested lists",
    ),
    BadCommand(
        "a column of texts",
        "batch pool.onnx texts.parquet out",
        "texts.parquet: column 'X' is string, expected numbers of type float as tensors or nested lists",
    ),
    BadCommand(
        "a column of another rank",
        "batch pool.onnx rank.parquet out",
        "rank.parquet: column 'X' has shape [?,?], expected [1,4,4]",
    ),
    BadCommand(
        "a column of another shape",
        "batch pool.onnx large.parquet out",
        "large.parquet: column 'X' has shape [1,5,4], expected [1,4,4]",
    ),
    BadCommand(
        "boxes of three columns",
        "batch pool.onnx wide.parquet out",
        "wide.parquet: column 'rois' has shape [?,3], expected (r, 4) or (r, 5)",
    ),
    BadCommand(
        "a column of an output's name",
        "batch pool.onnx named.parquet out",
        "named.parquet has a column 'Y', expected none of that name, which the output has",
    ),
    BadCommand(
        "a type that Parquet does not hold",
        "batch bf16.onnx rows.parquet out",
        "'X' is bfloat16, which Arrow has no type for, expected another",
    ),
    BadCommand(
        "an output that is there and one to go on with",
        "batch pool.onnx rows.parquet out --resume --overwrite",
        "--resume and --overwrite, expected one of them",
    ),
    BadCommand(
        "an address for no cluster",
        "batch pool.onnx rows.parquet out --address auto",
        "--address auto: expected with --engine ray",
    ),
    BadCommand(
        "an output folder of others",
        "batch pool.onnx rows.parquet mixed",
        "mixed has files that batch did not write, expected an empty folder",
    ),
    BadCommand("a file for a folder", "batch pool.onnx rows.parquet x.npy", "x.npy is a file, expected a folder"),
)
