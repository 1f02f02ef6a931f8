"""What `Predictor`, `collate`, `split` and `onnx-maxpool batch` reject: more rows of the tables of bad arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pyarrow as pa
import pyarrow.parquet as pq
from onnx import parser
from words.bad_arguments import EDGES, BadArgument, X, wrong
from words.bad_commands import BadCommand

import onnx_maxpool
from onnx_maxpool import InputError, RowError

BOXES = np.zeros((1, 4), np.float32)
TWO_OF_ROIS = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[N,C,H,W] X, float[A,5] first, float[B,5] second) => (float[R,C,2,2] Y) {
        rois = Concat <axis = 0> (first, second)
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    }""")


IN_A_FUNCTION = parser.parse_model("""<ir_version: 8, opset_import: ["": 15, "local": 1]>
    g (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y) { Y = local.pool (X, rois) }
    <domain: "local", opset_import: ["": 17]>
    pool (x, rois) => (y) { n = LayerNormalization (x, x)  y = MaxRoiPool <pooled_shape = [2, 2]> (n, rois) }""")


A_SCORE_PER_ROI = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[N,C,H,W] X, float[R,5] rois, float[R,1,1,1] score) => (float[R,C,2,2] Y) {
        pooled = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        Y = Mul (pooled, score)
    }""")


DETECTIONS = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[1,C,H,W] X, float[R,5] detections) => (float[R,C,2,2] Y)
    <int64[1] first = {0}, int64[1] fourth = {4}, int64[1] axis = {1}> {
        boxes = Slice (detections, first, fourth, axis)
        any = Slice (detections, first, axis, axis)
        zeros = Sub (any, any)
        rois = Concat <axis = 1> (zeros, boxes)
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    }""")
"""Boxes and scores: the model adds the batch numbers by itself."""


def predictor(proto: onnx.ModelProto | None = None, **options: Any) -> Callable[[], object]:
    return lambda: onnx_maxpool.Predictor(proto or head(), **options)


def head(batch: str = "N") -> onnx.ModelProto:
    return parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        head (float[{batch},C,H,W] X, float[R,5] rois) => (float[R,C,2,2] Y) {{
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }}""")


def portable(columns: Mapping[str, Any]) -> object:
    """What is left of the head after a conversion to standard operators does not say which input holds ROIs."""
    return onnx_maxpool.Predictor(onnx_maxpool.to_portable(head()))({"X": [X[0]] * 3, **columns})


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
    ("None in a row", RowError, "row 1: column 'rois' is object, expected float", {"rois": [BOXES, None, BOXES]}),
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

BAD_ARGUMENTS = (
    BadArgument("Predictor", "other bin edges", ValueError, EDGES, predictor(bin_edges=wrong)),
    BadArgument(
        "Predictor",
        "a string in the place of a list",
        ValueError,
        "onnx_maxpool: providers is 'CPUExecutionProvider', expected a list of providers",
        predictor(providers="CPUExecutionProvider"),
    ),
    BadArgument(
        "Predictor",
        "ROIs in a local function that ONNX cannot convert to the model's opset",
        InputError,
        "node 'y' in function local::pool: ROIs may come from any input, as ONNX cannot inline the function: "
        "give the input's name as rois",
        predictor(IN_A_FUNCTION),
    ),
    BadArgument(
        "Predictor",
        "two inputs that may hold ROIs",
        InputError,
        "ROIs may come from the inputs first or second, expected one: give its name as rois",
        predictor(TWO_OF_ROIS),
    ),
    BadArgument(
        "Predictor",
        "boxes with scores, of which the model makes ROIs",
        InputError,
        "node 'Y' in graph: its batch numbers may not be the first column of input 'detections', expected a model that "
        "reads them there: if yours does, give the input's name as rois",
        predictor(DETECTIONS),
    ),
    BadArgument(
        "Predictor",
        "an input with an entry per ROI",
        InputError,
        "input 'score' has shape [R,1,1,1], with an entry per ROI of 'rois', expected an entry per row",
        predictor(A_SCORE_PER_ROI),
    ),
    BadArgument(
        "Predictor",
        "an unknown input",
        InputError,
        "rois is 'boxes', expected an input of the model: X or rois",
        predictor(rois="boxes"),
    ),
    BadArgument(
        "Predictor",
        "a number in the place of a name",
        InputError,
        "rois is 5, expected the name of an input, or several",
        predictor(rois=5),
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
        "a number of threads below 0",
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
        "an unknown option",
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
    BadArgument(
        "Predictor()",
        "boxes for a model whose operators are converted",
        RowError,
        "row 0: column 'rois' has shape [1,4], expected [5]; if it contains ROIs, give its name as rois; "
        "rows that fail too: 1, 2",
        lambda: portable({"rois": [BOXES] * 3}),
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
        "boxes of words",
        RowError,
        "row 1: boxes are string [1,4], expected numbers",
        lambda: onnx_maxpool.collate([X[0], X[0]], [BOXES, BOXES.astype(str)]),
    ),
    BadArgument(
        "collate",
        "a list with a word",
        RowError,
        "row 1: the list of boxes is string, expected float",
        lambda: onnx_maxpool.collate([X[0], X[0]], [BOXES, [[0, 0, 1, "a"]]]),
    ),
    BadArgument(
        "collate",
        "more images than boxes",
        InputError,
        "collate: 2 images and 1 boxes, expected the same number of both, at least one",
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
)


def write_tables(folder: Path) -> None:
    """What the commands find beside the files of `write_files`."""
    boxes = pa.array([[[0, 0, 1, 1]]], pa.list_(pa.list_(pa.float32())))
    images = pa.FixedShapeTensorArray.from_numpy_ndarray(X)
    permuted = pa.fixed_shape_tensor(pa.float32(), (4, 4, 1), permutation=[1, 2, 0])
    tables = {
        "rows": {"X": images, "rois": boxes},
        "images": {"X": images},
        "double": {"X": images, "rois": boxes.cast(pa.list_(pa.list_(pa.float64())))},
        "rank": {"X": boxes, "rois": boxes},
        "permuted": {"X": pa.ExtensionArray.from_storage(permuted, images.storage), "rois": boxes},
        "wide": {"X": images, "rois": pa.array([[[0, 0, 0]]], pa.list_(pa.list_(pa.float32(), 3)))},
        "large": {"X": pa.FixedShapeTensorArray.from_numpy_ndarray(np.zeros((1, 1, 5, 4), np.float32)), "rois": boxes},
        "named": {"X": images, "rois": boxes, "Y": boxes},
        "texts": {"X": ["a"], "rois": boxes},
    }
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    (folder / "broken.parquet").write_text("no Parquet")
    (folder / "damaged").mkdir()
    (folder / "damaged" / "_run.json").touch()
    (folder / "mixed").mkdir()
    (folder / "mixed" / "a.npz").touch()
    (folder / "mixed" / "b.parquet").touch()
    for name in ("stray/a.parquet", "stray/B.PARQUET", "nested/a.parquet", "nested/more/b.parquet"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()


BAD_COMMANDS = (
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
        "a file of another kind",
        "batch pool.onnx mixed/a.npz out",
        "mixed/a.npz is another kind of file, expected a .parquet file or a folder of .parquet or of .npz files",
    ),
    BadCommand(
        "a file that would be left out",
        "batch pool.onnx stray out",
        "stray/B.PARQUET would be left out, expected a name that ends in .parquet",
    ),
    BadCommand(
        "a folder that would be left out",
        "batch pool.onnx nested out",
        "nested/more has files that would be left out, expected all files in nested itself",
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
        "a column whose dimensions are not known for sure",
        "batch pool.onnx permuted.parquet out",
        "permuted.parquet: column 'X' has the permutation [1,2,0], expected one that is its own inverse, "
        "because pyarrow writes the inverse of others",
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
    BadCommand(
        "an output folder whose run cannot be known",
        "batch pool.onnx rows.parquet damaged --resume",
        "damaged/_run.json is damaged, expected what a run wrote: give --overwrite",
    ),
    BadCommand("a file for a folder", "batch pool.onnx rows.parquet x.npy", "x.npy is a file, expected a folder"),
)
