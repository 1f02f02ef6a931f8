"""Rows with images and ROIs of their own, a model for them, and what each row's outputs are.

In memory for `Predictor`; as inputs of `onnx-maxpool batch` in files, with the command's output read back.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
from onnx.reference import ReferenceEvaluator
from support.one_node import Array, assert_same
from support.processes import descendants, run_python, start_python, wait_until

import onnx_maxpool
from onnx_maxpool.batch.compute import PartResult
from onnx_maxpool.batch.inputs import Part

HEAD = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    head (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,3] pooled, float[N,C,1,1] best) {
        pooled = MaxRoiPool <pooled_shape = [2, 3], spatial_scale = 0.5> (X, rois)
        best = GlobalMaxPool (X)
    }""")
"""An output with an entry per ROI, and one with an entry per row."""

SLOW = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    slow (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,2,3] pooled, float[N,C,1,1] best) {
        pooled = MaxRoiPool <pooled_shape = [2, 3], spatial_scale = 0.5> (X, rois)
        most = GlobalMaxPool (X)
        greatest = ReduceMax (X)
        cells = Constant <value_ints = [50000000]> ()
        flat = Constant <value_ints = [-1]> ()
        one = Reshape (greatest, flat)
        many = Expand (one, cells)
        again = ReduceMax <keepdims = 0> (many)
        best = Min (most, again)
    }""")
"""The same outputs, after some 50 ms."""


def ragged_rows(count: int, shapes: tuple[tuple[int, ...], ...] = ((3, 12, 16),)) -> dict[str, Any]:
    """Columns of images in these shapes by turns, with 0, 1, 2, 3 boxes by turns, and a column of the caller's."""
    rng = np.random.default_rng(count)
    images = [rng.standard_normal(shapes[i % len(shapes)], np.float32) for i in range(count)]
    corners = [np.sort(rng.uniform(0, 30, (i % 4, 2, 2)), axis=1) for i in range(count)]
    boxes = [each.reshape(-1, 4).astype(np.float32) for each in corners]
    return {"id": [f"row {i}" for i in range(count)], "X": images, "rois": boxes}


def oracle(proto: onnx.ModelProto, image: Array, boxes: Array) -> list[Array]:
    """The outputs for one row by ONNX's reference evaluator, which has the ROI operators from us."""
    evaluator = ReferenceEvaluator(proto, new_ops=onnx_maxpool.reference_ops())
    outputs = evaluator.run(None, {"X": image[None], "rois": np.insert(boxes[:, -4:], 0, 0, axis=1)})
    assert isinstance(outputs, list)
    return outputs


def assert_rows_match(proto: onnx.ModelProto, batch: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    """Every row's outputs are those of a run of its own, bit for bit."""
    assert list(result["id"]) == list(batch["id"])
    for row, (image, boxes) in enumerate(zip(batch["X"], batch["rois"], strict=True)):
        pooled, best = oracle(proto, image, boxes)
        assert_same(result["pooled"][row], pooled)
        assert_same(result["best"][row], best[0])


def describe(predictor: onnx_maxpool.Predictor, batch: dict[str, Any]) -> tuple[dict[str, Any], int]:
    """What another process makes of a batch, and its session's threads: here, as spawned processes import this."""
    return predictor(batch), predictor.session.get_session_options().intra_op_num_threads


FORMS = ("fixed and variable shape tensors", "nested lists", "lists of fixed size")


def tensors(rows: list[Any], rank: int) -> tuple[pa.Field, pa.Array]:
    """A column of variable shape tensors, made here from Arrow's text and not by the package."""
    storage = pa.struct([("data", pa.list_(pa.float32())), ("shape", pa.list_(pa.int32(), rank))])
    values = [{"data": row.ravel().tolist(), "shape": list(row.shape)} for row in rows]
    metadata = {"ARROW:extension:name": "arrow.variable_shape_tensor", "ARROW:extension:metadata": "{}"}
    return pa.field("", storage, metadata=metadata), pa.array(values, storage)


def table(batch: dict[str, Any], form: str = FORMS[0]) -> pa.Table:
    """Rows as a table in one of Arrow's forms of tensors."""
    if form == FORMS[0]:
        boxes, boxes_column = tensors([part.reshape(-1, 4) for part in batch["rois"]], 2)
        images = pa.FixedShapeTensorArray.from_numpy_ndarray(np.stack(batch["X"]))
        fields = {"id": pa.field("id", pa.string()), "X": pa.field("X", images.type), "rois": boxes.with_name("rois")}
        columns = [pa.array(batch["id"]), images, boxes_column]
        return pa.table(columns, schema=pa.schema(list(fields.values())))
    box = pa.list_(pa.float32()) if form == FORMS[1] else pa.list_(pa.float32(), 4)
    image = pa.float32()
    for size in reversed(batch["X"][0].shape):
        image = pa.list_(image) if form == FORMS[1] else pa.list_(image, size)
    return pa.table(
        {
            "id": batch["id"],
            "X": pa.array([row.tolist() for row in batch["X"]], image),
            "rois": pa.array([row.tolist() for row in batch["rois"]], pa.large_list(box)),
        }
    )


def write_input(
    folder: Path, rows: int = 23, form: str = FORMS[0], group: int = 4, proto: onnx.ModelProto = HEAD
) -> dict[str, Any]:
    """Write head.onnx and in.parquet with these rows, whose columns are given back."""
    onnx.save_model(proto, folder / "head.onnx")
    batch = ragged_rows(rows)
    pq.write_table(table(batch, form), folder / "in.parquet", row_group_size=group)
    return batch


def arrays(column: pa.ChunkedArray) -> list[Any]:
    """An output's column as arrays; read here by Arrow's text."""
    found = []
    for chunk in column.chunks:
        storage = chunk.storage if isinstance(chunk, pa.ExtensionArray) else chunk
        for row in storage.to_pylist():
            found.append(np.array(row["data"], np.float32).reshape(row["shape"]))
    return found


def read_output(folder: Path) -> dict[str, Any]:
    """All parts' rows in the order of the input, by Arrow's own reader of folders."""
    output = pq.read_table(folder).sort_by([("input_file", "ascending"), ("input_row", "ascending")])
    plain = {name: output.column(name).to_pylist() for name in output.column_names if name not in ("pooled", "best")}
    return {**plain, "pooled": arrays(output.column("pooled")), "best": arrays(output.column("best"))}


def assert_output_matches(batch: dict[str, Any], output: dict[str, Any], rows: list[int] | None = None) -> None:
    """Each of these rows, or of all, is there once, and has the outputs of a run of its own."""
    rows = list(range(len(batch["X"]))) if rows is None else rows
    assert output["input_row"] == rows
    assert output["id"] == [batch["id"][row] for row in rows]
    for place, row in enumerate(rows):
        pooled, best = oracle(HEAD, batch["X"][row], batch["rois"][row])
        assert_same(output["pooled"][place], pooled)
        assert_same(output["best"][place], best[0])


def batch_command(folder: Path, *arguments: str, seconds: float = 120) -> tuple[int, str, str]:
    """`onnx-maxpool batch head.onnx in.parquet out ARGUMENTS` in a process: exit code, stdout and stderr."""
    places = [str(folder / name) for name in ("head.onnx", "in.parquet", "out")]
    done = run_python("-m", "onnx_maxpool", "batch", *places, *arguments, seconds=seconds)
    return done.returncode, done.stdout, done.stderr


class Command:
    """`onnx-maxpool batch` in a process, with its workers in sight."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.out = folder / "out"
        places = [str(folder / name) for name in ("head.onnx", "in.parquet", "out")]
        self.process = start_python("-m", "onnx_maxpool", "batch", *places, *arguments)
        self.ended: tuple[int, str] | None = None

    def __enter__(self) -> Command:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self.process.kill()
        _, err = self.process.communicate(timeout=120)
        self.ended = self.process.returncode, err

    def wait_for(self, pattern: str) -> None:
        wait_until(lambda: any(self.out.glob(pattern)) or self.process.poll() is not None)
        assert self.process.poll() is None, "it ended before it was killed"

    def workers(self) -> list[int]:
        return descendants(self.process.pid, "spawn_main")

    def kill_a_worker(self) -> None:
        os.kill(self.workers()[0], signal.SIGKILL)


@dataclass(frozen=True)
class DiesOn:
    """Computes nothing, and dies of one part."""

    number: int

    def __call__(self, part: Part) -> PartResult:
        if part.number == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        return PartResult(part.number, part.rows)
