"""Compute a part and write its file: what the processes of every engine do."""

from __future__ import annotations

import itertools
import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from onnx_maxpool.adapters.predictor import Predictor
from onnx_maxpool.batch.inputs import FILE_COLUMN, ROW_COLUMN, Part, Rows, read_rows
from onnx_maxpool.batch.tensors import ARROW_TYPES, runs_of, tensor_column, tensor_field
from onnx_maxpool.errors import InputError, OutputError, RowError
from onnx_maxpool.graph.batching import Batching

OnError = Literal["fail", "skip"]
Cause = Literal["row", "output", "model", "worker"]
"""What an error is about: rows, the file that is to hold their outputs, a model that cannot be loaded (any more), or a
process that died."""
PART_KEY = b"onnx_maxpool.part"
"""In the metadata of a part's file: which rows it is of."""
FAILED_FOLDER = "_failed"
"""Of the parts' failed rows. Readers of Parquet folders pass over names that begin so."""


@dataclass(frozen=True)
class PartResult:
    """What became of a part. Plain values, as they travel between processes."""

    number: int
    rows: int = 0
    """Rows written."""
    failed: int = 0
    """Rows skipped."""
    error: str | None = None
    """Why there is no part; it names the row and the file."""
    cause: Cause = "row"
    """What kind of error it is."""


@dataclass(frozen=True)
class Computer:
    """Computes parts. Pickles; the process that computes the first part makes the session."""

    predictor: Predictor
    folder: str
    """Of the output, which all processes write to."""
    others: pa.Schema
    """Of the input's columns that are no inputs of the model."""
    batch_size: int
    on_error: OnError

    def __call__(self, part: Part) -> PartResult:
        """Compute a part, but for one that is there already."""
        done = self.finished(part)
        if done is not None:
            return done
        try:
            _ = self.predictor.session
        except Exception as error:  # ONNX Runtime's have no common class
            return PartResult(part.number, error=f"the model cannot be loaded: {error}", cause="model")
        try:
            return self._compute(part)
        except OutputError as error:
            return PartResult(part.number, error=str(error), cause="output")
        except InputError as error:
            return PartResult(part.number, error=str(error))
        except Exception as error:  # of files, Arrow and ONNX Runtime, which have no common class
            return PartResult(part.number, error=f"{part.place}: {error}")

    def finished(self, part: Part) -> PartResult | None:
        """What is known of a part whose file is there, whole, and as `on_error` wants it."""
        try:
            footer = pq.read_metadata(Path(self.folder, part.name))
            held = json.loads(footer.metadata[PART_KEY])
        except (OSError, pa.ArrowInvalid, KeyError, ValueError):
            return None
        whole = held["part"] == _plain(part) and footer.num_rows + held["failed"] == part.rows
        if not whole or (held["failed"] and self.on_error == "fail"):
            return None
        return PartResult(part.number, footer.num_rows, held["failed"])

    def _compute(self, part: Part) -> PartResult:
        path = Path(self.folder, part.name)
        unfinished = path.with_name(f".{part.name}.{uuid.uuid4().hex}")
        failures: list[dict[str, Any]] = []
        try:
            written = self._write(part, unfinished, failures)
            with writing(path, part.place):
                write_failures(path.parent / FAILED_FOLDER / f"{part.name}.jsonl", failures)
                unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
        return PartResult(part.number, written, len(failures))

    def _write(self, part: Part, path: Path, failures: list[dict[str, Any]]) -> int:
        """Write a part's rows, and note those that are skipped; how many were written."""
        schema = output_schema(self.predictor.batching, self.others)
        written = 0
        with PartWriter(path, schema, self.others.names, part.place) as writer:
            for rows in read_rows(part, self.predictor.batching, self.batch_size):
                kept, outputs = self._predict(rows, failures)
                written += writer.write(rows, kept, outputs)
            writer.note({"part": _plain(part), "failed": len(failures)})
        return written

    def _predict(self, rows: Rows, failures: list[dict[str, Any]]) -> tuple[list[int], dict[str, Any]]:
        """The outputs of the rows that do not fail, and which these are. Raises InputError where one must not."""
        kept = list(range(len(rows.origins)))
        try:
            return kept, self.predictor(rows.columns)
        except RowError as error:
            bad = error.failures
        except InputError as error:
            (file, first), (last_file, last) = rows.origins[0], rows.origins[-1]
            raise InputError(f"{file}, row {first}, to {last_file}, row {last}: {error}") from None
        named = [dict(zip(("file", "row"), rows.origins[i], strict=True), message=bad[i]) for i in bad]
        if self.on_error == "fail":
            raise InputError("{file}, row {row}: {message}".format(**named[0]))
        failures.extend(named)
        kept = [row for row in kept if row not in bad]
        columns = {name: _rows(values, kept) for name, values in rows.columns.items()}
        return kept, self.predictor(columns) if kept else {}


class PartWriter:
    """Writes a part's file. Raises OutputError that names the rows and the file where it cannot."""

    def __init__(self, path: Path, schema: pa.Schema, repeating: Sequence[str], place: str) -> None:
        self._path, self._schema, self._place = path, schema, place
        # Numbers of tensors hardly repeat, and to look whether they do takes longer than everything else.
        self._options: dict[str, Any] = {"use_dictionary": [FILE_COLUMN, *repeating], "write_statistics": False}

    def __enter__(self) -> PartWriter:
        with self._writing():
            self._file = self._path.open("xb")
            self._writer = pq.ParquetWriter(self._file, self._schema, **self._options)
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._writer.is_open = False  # or it would write to the closed file when it is collected
            with suppress(OSError):
                self._file.close()
            return
        try:
            with self._writing():
                self._writer.close()
                self._file.flush()
                os.fsync(self._file.fileno())
        finally:
            self._writer.is_open = False
            with self._writing():
                self._file.close()

    def write(self, rows: Rows, kept: Sequence[int], outputs: Mapping[str, Any]) -> int:
        """Write the kept ones of some rows, whose outputs these are; how many they are."""
        if not kept:
            return 0
        files, numbers = zip(*(rows.origins[row] for row in kept), strict=True)
        sizes = np.max([[np.size(part) for part in parts] for parts in outputs.values()], axis=0).tolist()
        for some in (piece for run in runs_of(sizes) for piece in _side_by_side(kept, run)):
            tensors = [tensor_column(values[some], self._schema.field(name)) for name, values in outputs.items()]
            others = rows.others.slice(kept[some.start], some.stop - some.start).columns
            columns = [pa.array(files[some]), pa.array(numbers[some]), *others, *tensors]
            batch = pa.RecordBatch.from_arrays(columns, schema=self._schema)
            with self._writing():
                self._writer.write_batch(batch)
        return len(kept)

    def note(self, facts: Mapping[str, Any]) -> None:
        """Put facts of the part into the file's metadata."""
        self._writer.add_key_value_metadata({PART_KEY: json.dumps(facts)})

    def _writing(self) -> AbstractContextManager[None]:
        return writing(self._path, self._place)


@contextmanager
def writing(path: Path, place: str = "") -> Iterator[None]:
    """Raise OutputError that names the file, and the rows if they are known, where the system cannot write."""
    try:
        yield
    except OSError as error:
        of_which = f"{place}: " if place else ""
        raise OutputError(f"{of_which}cannot write {path}: {error.strerror or error}") from error


def output_schema(batching: Batching, others: pa.Schema) -> pa.Schema:
    """The output's columns."""
    tensors = [tensor_field(output.name, output.type, output.dims or ()) for output in batching.outputs]
    return pa.schema([pa.field(FILE_COLUMN, pa.string()), pa.field(ROW_COLUMN, pa.int64()), *others, *tensors])


def check_columns(batching: Batching) -> None:
    """Raise InputError for an input or output that Arrow has no column for."""
    kinds = {each.name: each.type for each in batching.inputs} | {each.name: each.type for each in batching.outputs}
    for name, kind in kinds.items():
        if kind not in ARROW_TYPES:
            raise InputError(f"'{name}' is {kind}, which Arrow has no type for, expected another")
    for output in batching.outputs:
        if output.dims is None:
            raise InputError(f"output '{output.name}' has no known rank, expected a model that declares or implies it")


def write_failures(path: Path, failures: Sequence[Mapping[str, Any]]) -> None:
    """Write a part's failed rows, a line each; without any, no file."""
    if not failures:
        path.unlink(missing_ok=True)
        return
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    unfinished.write_text("".join(f"{json.dumps(failure)}\n" for failure in failures))
    unfinished.replace(path)


def _side_by_side(kept: Sequence[int], run: range) -> Iterator[slice]:
    """The places in `kept` whose rows were neighbours: Arrow can slice any column, but take rows from few types."""
    for _, group in itertools.groupby(run, lambda place: kept[place] - place):
        places = list(group)
        yield slice(places[0], places[-1] + 1)


def _rows(values: Any, kept: Sequence[int]) -> Any:
    return values[list(kept)] if isinstance(values, np.ndarray) else [values[row] for row in kept]


def _plain(part: Part) -> dict[str, Any]:
    """A part as JSON gives it back."""
    return {"number": part.number, "first": part.first, "rows": part.rows, "files": [part.files[0], part.files[-1]]}
