"""Inputs of `onnx-maxpool batch` in files, and its output read back."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
from support.child import run_python, start_python
from support.one_node import assert_same
from support.processes import descendants, wait_until
from support.ragged import HEAD, oracle, ragged_rows

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
