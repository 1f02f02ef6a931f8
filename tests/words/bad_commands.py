"""Arguments that `onnx-maxpool` rejects, with the words that say so: a table of docs/errors.md.

Only data: test_errors.py tries each row.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, external_data_helper, numpy_helper, parser
from words.bad_arguments import OPERATORS, X, model


@dataclass(frozen=True)
class BadCommand:
    """Arguments that `onnx-maxpool` rejects, in the folder that `write_files` fills."""

    what: str
    command: str
    said: str
    code: int = 2
    """The exit code: 1 where the command line is right."""


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
    pool.graph.initializer.append(numpy_helper.from_array(X, "weights"))
    weights = pool.graph.initializer[0]
    (folder / "big.onnx.data").write_bytes(weights.raw_data)
    external_data_helper.set_external_data(weights, "big.onnx.data")
    weights.ClearField("raw_data")
    onnx.save_model(pool, folder / "big_v1.onnx")
    (folder / "out.onnx.data").mkdir()
    for name, graph in {"identity": "Y) { Y = Identity (X) }", "relu": "Z) { Z = Relu (X) }"}.items():
        text = f'<ir_version: 8, opset_import: ["": 22]> g (float[1] X) => (float[1] {graph}'
        onnx.save_model(parser.parse_model(text), folder / f"{name}.onnx")
    np.save(folder / "x.npy", X)
    np.save(folder / "double.npy", X.astype(np.float64))
    (folder / "empty.npz").touch()
    (folder / "folder").mkdir()
    (folder / "data").mkdir()
    (folder / "data" / "input_0.pb").write_bytes(TensorProto(data_type=99, name="X").SerializeToString())
    (folder / "others").mkdir()
    (folder / "others" / "output_7.pb").touch()


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
        "an unknown dimension",
        "run pool.onnx --dim Q=1",
        "--dim Q: no random input has that dimension, only N, R",
    ),
    BadCommand("a dimension twice", "run pool.onnx --dim R=3 --dim R=4", "--dim R=4: dimension 'R' is given twice"),
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
        "an unknown input",
        f"{RUN} --input Z=x.npy",
        "--input Z=x.npy: the model has no input 'Z', only X, rois",
    ),
    BadCommand("an input twice", f"{RUN} --input X=x.npy --input X=x.npy", "--input X=x.npy: input 'X' is given twice"),
    BadCommand(
        "an input of another type",
        f"{RUN} --input X=double.npy",
        "--input X=double.npy: input 'X' is double, expected float",
    ),
    BadCommand(
        "an empty file",
        f"{RUN} --input empty.npz",
        "--input empty.npz: empty.npz is not a readable .npz file: File is not a zip file",
    ),
    BadCommand(
        "a tensor of a type that ONNX does not have",
        f"{RUN} --input X=data/input_0.pb",
        "--input X=data/input_0.pb: data/input_0.pb is not a readable .pb file: "
        "its element type is 99, expected one of ONNX's",
    ),
    BadCommand(
        "a folder with such a tensor",
        f"{RUN} --input data",
        "--input data: data/input_0.pb is not a readable .pb file: its element type is 99, expected one of ONNX's",
    ),
    BadCommand("a folder without inputs", f"{RUN} --input folder", "--input folder: the folder has no input_0.pb"),
    BadCommand(
        "a file where a folder is to be", f"{RUN} --save-inputs x.npy", "--save-inputs x.npy: expected a folder"
    ),
    BadCommand("an output file of another kind", f"{RUN} --out y.npy", "--out y.npy: expected FILE.npz or a folder"),
    BadCommand(
        "outputs beside those of another model",
        f"{RUN} --out others",
        "others has output_7.pb, expected only outputs of this model: give another folder",
    ),
    BadCommand(
        "bfloat16 in a file that does not hold it",
        "run bf16.onnx --out y.npz",
        "--out y.npz: output 'Y' is bfloat16, which a .npz file cannot contain: give a folder",
    ),
    BadCommand(
        "a library that does not exist",
        f"{RUN} --library other.so",
        "--library other.so: no such file, expected a library of custom operators",
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
        "cannot write x.npy/report.json: x.npy is a file, expected a folder",
    ),
    BadCommand(
        "a time limit that is no number",
        "conformance --time-limit nan",
        "--time-limit nan: expected 0.1 to 86400 seconds",
    ),
    BadCommand(
        "a memory limit of nothing",
        "conformance --memory 0",
        "--memory 0: expected 0.1 to 100000 GB",
    ),
    BadCommand(
        "an unknown operator",
        "conformance --operator Relu",
        f"--operator Relu: expected one of {OPERATORS.replace(' or', ',')}",
    ),
    BadCommand(
        "a pattern that no case matches",
        "conformance --case nowhere",
        "--case nowhere: no case has such a name",
    ),
    BadCommand(
        "a class that is no backend",
        "conformance --backend os:path",
        "os:path: expected a class of onnx.backend.base.Backend",
    ),
    BadCommand(
        "no Python",
        "conformance --python ./x.npy",
        "./x.npy: Permission denied, expected a Python interpreter",
    ),
    BadCommand(
        "expectations to write and to compare with",
        "conformance --save-expected new.txt --expect old.txt",
        "--save-expected and --expect: expected one of them",
    ),
    BadCommand(
        "a file of expectations that does not exist",
        "conformance --expect missing.txt",
        "missing.txt: no such file",
    ),
    BadCommand(
        "an earlier report that is none",
        "conformance --against x.npy",
        "x.npy: expected a report that onnx-maxpool conformance --json wrote",
    ),
    BadCommand(
        "a list of cases and a backend to ask",
        "conformance --list --backend native",
        "--list: expected no --backend or report beside it but --json, as no backend runs",
    ),
    BadCommand(
        "a folder for cases that is not empty",
        "conformance --export .",
        "--export .: the folder is not empty, expected a new or an empty one",
    ),
    BadCommand("a file in place of it", "conformance --export x.npy", "--export x.npy is a file, expected a folder"),
    BadCommand(
        "cases to write and a backend to ask",
        "conformance --export cases --backend native",
        "--export cases: expected no --list, --backend or report beside it, as no backend runs",
    ),
    BadCommand(
        "a text that no row contains",
        "bench --rows nothing",
        "--rows nothing: no row has that in its name",
    ),
    BadCommand(
        "results to report again and rows to time",
        "bench --from results.jsonl --quick",
        "--from and --quick: expected one of them, because --from times nothing",
    ),
    BadCommand("a picture of another format", "demo --out demo.jpg", "--out demo.jpg: expected FILE.png"),
    BadCommand("a picture on the standard output", "demo --out -", "--out -: expected FILE.png"),
    BadCommand(
        "results to report again that bench did not write",
        "bench --from pool.onnx",
        "pool.onnx: expected a file that bench --json wrote, without --grid",
    ),
    BadCommand(
        "an unknown operator",
        "bench --grid --operator Relu",
        "--operator Relu: expected a part of MaxRoiPool, AdaptiveMaxPool, MaxPooling1 with indices, "
        "MaxPooling1 without indices",
    ),
    BadCommand(
        "an unknown operator",
        "convert pool.onnx out.onnx --only RoiPool",
        "--only RoiPool: expected one of MaxRoiPool, RoiPooling, MaxPooling1, AdaptiveMaxPool",
    ),
    BadCommand(
        "an unknown dimension",
        "convert pool.onnx out.onnx --dim Q=1",
        "--dim Q: no input has that dimension, only N, R",
    ),
    BadCommand(
        "dimensions without a size",
        "convert m.onnx out.onnx --no-control-flow --dim H=4",
        "node 'Y' in graph: MaxRoiPool-22: X has shape [N,C,4,W], expected a known shape without control flow: "
        "give --dim N=SIZE --dim C=SIZE --dim W=SIZE --dim R=SIZE",
    ),
    BadCommand(
        "a model in the place of itself", "convert m.onnx m.onnx", "m.onnx exists: give --overwrite to replace it"
    ),
    BadCommand("a folder for the model", "convert pool.onnx folder", "folder is a folder, expected a file"),
    BadCommand(
        "a model whose data would replace that of the original",
        "convert big_v1.onnx big.onnx",
        "cannot write big.onnx: this would replace big.onnx.data, which big_v1.onnx needs, "
        "expected another name or folder",
    ),
    BadCommand(
        "a model whose data would replace a folder",
        "convert big_v1.onnx out.onnx",
        "cannot write out.onnx: out.onnx.data is no file, expected none or a file, in which its data goes",
    ),
)
