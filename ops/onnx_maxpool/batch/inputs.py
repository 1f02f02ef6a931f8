"""The rows of a batch run's input: which there are, how they are divided into parts, and their columns."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from onnx_maxpool.adapters.collation import BOX_COLUMNS, EXPECTED_BOXES
from onnx_maxpool.adapters.columns import expected_shape
from onnx_maxpool.batch.tensors import ARROW_TYPES, check_permutation, extension, known_dims, rows_of, value_type
from onnx_maxpool.errors import InputError, listing, shape
from onnx_maxpool.files import check_utf_8
from onnx_maxpool.graph.batching import Batching, BatchInput
from onnx_maxpool.npz import read_npz
from onnx_maxpool.types import Dims

FILE_COLUMN, ROW_COLUMN = "input_file", "input_row"
"""The columns of the output that say which row of which file of the input each row comes from."""


@dataclass(frozen=True)
class Part:
    """Rows that are computed together, and make one file of the output."""

    number: int
    files: tuple[str, ...]
    """A Parquet file, or .npz files, each of which is a row."""
    row_groups: tuple[int, ...]
    """Of the Parquet file, in a row."""
    first: int
    """The number of the first row in its Parquet file."""
    rows: int

    @property
    def name(self) -> str:
        """Of its file."""
        return f"part-{self.number:06}.parquet"

    @property
    def place(self) -> str:
        """How messages name its rows."""
        if self.rows == 0:
            return f"{self.files[0]}, which has no rows"
        if not self.row_groups:
            return f"{self.files[0]} to {Path(self.files[-1]).name}"
        return f"{self.files[0]}, rows {self.first} to {self.first + self.rows - 1}"


@dataclass(frozen=True)
class Rows:
    """Some rows of a part."""

    origins: list[tuple[str, int]]
    """The file and the row in it."""
    columns: dict[str, Any]
    """The model's inputs."""
    others: pa.RecordBatch
    """The columns that are no inputs."""


@dataclass(frozen=True)
class Input:
    """A checked input."""

    parts: tuple[Part, ...]
    others: pa.Schema
    """Of the columns that are no inputs of the model."""
    digest: str
    """Changes when a file does: names, sizes and times."""

    @property
    def rows(self) -> int:
        """Of all parts."""
        return sum(part.rows for part in self.parts)


def find_input(path: Path, batching: Batching, part_rows: int) -> Input:
    """The parts of a Parquet file, or of a folder of Parquet or of .npz files, checked as far as their headers say.

    A part has consecutive row groups of one file, or .npz files, with `part_rows` rows at most; a larger row group is a
    part of its own, and so is an input without rows. Raises InputError for an input without files, for files that would
    be left out, for a file whose path is not UTF-8, which the output could not name, and for columns that are not what
    the model takes.
    """
    if not path.is_dir():
        files = [path] if path.suffix == ".parquet" and path.exists() else []
    else:
        # What begins so is no data by custom, as in the folders that `batch` writes.
        files = sorted(file for file in path.iterdir() if file.name[0] not in "._" and file.suffix in READERS)
    kinds = sorted({file.suffix for file in files})
    if not files:
        of_another_kind = "is a folder without such files" if path.is_dir() else "is another kind of file"
        found = of_another_kind if path.exists() else "is no such file"
        raise InputError(f"{path} {found}, expected a .parquet file or a folder of .parquet or of .npz files")
    if path.is_dir():
        _refuse_strays(path, files)
    if len(kinds) > 1:
        raise InputError(f"{path} has both {' and '.join(kinds)} files, expected one kind")
    digest = hashlib.sha256()
    for file in files:
        check_utf_8(file.absolute(), InputError)
        status = file.stat()
        digest.update(f"{file.name}\0{status.st_size}\0{status.st_mtime_ns}\n".encode())
    find = _parquet_parts if kinds == [".parquet"] else _npz_parts
    others, parts = find(files, batching, part_rows)
    return Input(tuple(parts), others, digest.hexdigest())


def _refuse_strays(folder: Path, files: Sequence[Path]) -> None:
    """Raise InputError for what in a folder looks like data of the same kind and would be left out."""
    endings = STRAYS[files[0].suffix]
    for entry in sorted(set(folder.iterdir()) - set(files)):
        if entry.name[0] in "._":
            continue
        if entry.suffix.lower() in endings:
            raise InputError(f"{entry} would be left out, expected a name that ends in {files[0].suffix}")
        with suppress(OSError):  # of a folder that is not ours to look into
            names = {each.name for each in entry.iterdir()} if entry.is_dir() else set()
            if RUN_FILE not in names and any(Path(name).suffix.lower() in endings for name in names):
                raise InputError(f"{entry} has files that would be left out, expected all files in {folder} itself")


def read_rows(part: Part, batching: Batching, batch_size: int) -> Iterator[Rows]:
    """A part's rows, `batch_size` at a time. Raises OSError and ValueError where a file cannot be read."""
    return READERS[Path(part.files[0]).suffix](part, batching, batch_size)


def _parquet_parts(files: Sequence[Path], batching: Batching, part_rows: int) -> tuple[pa.Schema, list[Part]]:
    parts: list[Part] = []
    first_schema: pa.Schema | None = None
    for file in files:
        try:
            with pq.ParquetFile(file) as opened:
                schema, metadata = opened.schema_arrow, opened.metadata
                counts = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        except (pa.ArrowInvalid, OSError) as error:
            raise InputError(f"{file} is no readable Parquet file: {error}") from None
        if first_schema is None:
            check_schema(file, schema, batching)
            first_schema = schema
        elif not schema.equals(first_schema):
            raise InputError(f"{file} has other columns or types than {files[0]}, expected the same in all files")
        row = group = 0
        while group < len(counts):
            end, rows = group + 1, counts[group]
            while end < len(counts) and rows + counts[end] <= part_rows:
                rows += counts[end]
                end += 1
            if rows:
                parts.append(Part(len(parts), (str(file.absolute()),), tuple(range(group, end)), row, rows))
            row, group = row + rows, end
    assert first_schema is not None, "there are files"
    if not parts:  # its file tells the output's columns
        parts.append(Part(0, (str(files[0].absolute()),), (), 0, 0))
    names = {each.name for each in batching.inputs}
    return pa.schema([field for field in first_schema if field.name not in names]), parts


def check_schema(file: Path, schema: pa.Schema, batching: Batching) -> None:
    """Raise InputError where a Parquet file's columns are not what the model takes."""
    reserved = {FILE_COLUMN, ROW_COLUMN, *(output.name for output in batching.outputs)}
    names = {each.name for each in batching.inputs}
    for name in schema.names:
        if schema.names.count(name) > 1:
            raise InputError(f"{file} has two columns '{name}', expected one")
        if name in reserved and name not in names:
            raise InputError(f"{file} has a column '{name}', expected none of that name, which the output has")
    for each in batching.inputs:
        if each.name not in schema.names:
            held = listing(schema.names) if len(schema) else "none"
            raise InputError(f"{file} has no column '{each.name}', only {held}")
        check_field(f"{file}: column '{each.name}'", schema.field(each.name), each)


def check_field(label: str, field: pa.Field, each: BatchInput) -> None:
    """Raise InputError for a column of another type than an input's, or of dimensions that cannot be its."""
    found = value_type(field)
    if found != ARROW_TYPES[each.type]:
        kind = extension(field) or field.type
        holds = f"{kind} of {found}" if found is not None and found != field.type else kind
        raise InputError(f"{label} is {holds}, expected numbers of type {each.type} as tensors or nested lists")
    check_permutation(label, field)
    dims, known = (None, None) if each.kind == "rois" else each.dims, known_dims(field)
    if dims is not None and not _may_be(known, dims):
        raise InputError(f"{label} has shape {shape(known)}, {expected_shape(each, len(known))}")
    if each.kind == "rois" and isinstance(known[1], int) and known[1] not in BOX_COLUMNS:
        raise InputError(f"{label} has shape {shape(known)}, {EXPECTED_BOXES}")


def _may_be(known: Dims, dims: Dims) -> bool:
    pairs = zip(known, dims, strict=False)
    return len(known) == len(dims) and not any(isinstance(k, int) and isinstance(d, int) and k != d for k, d in pairs)


def _read_parquet(part: Part, batching: Batching, batch_size: int) -> Iterator[Rows]:
    (file,) = part.files
    names = [each.name for each in batching.inputs]
    row = part.first
    with pq.ParquetFile(file, pre_buffer=False, memory_map=True) as opened:
        for batch in opened.iter_batches(batch_size, row_groups=list(part.row_groups), use_threads=False):
            columns = {name: rows_of(batch.column(name), batch.schema.field(name)) for name in names}
            origins = [(file, row + i) for i in range(len(batch))]
            yield Rows(origins, columns, batch.drop_columns(names))
            row += len(batch)


def _npz_parts(files: Sequence[Path], batching: Batching, part_rows: int) -> tuple[pa.Schema, list[Part]]:
    _check_first_npz(files, batching)
    groups = [files[i : i + part_rows] for i in range(0, len(files), part_rows)]
    return pa.schema([]), [
        Part(i, tuple(str(file.absolute()) for file in group), (), 0, len(group)) for i, group in enumerate(groups)
    ]


def _read_npz(part: Part, batching: Batching, batch_size: int) -> Iterator[Rows]:
    for start in range(0, len(part.files), batch_size):
        files = part.files[start : start + batch_size]
        rows = [_npz(file, batching) for file in files]
        columns = {each.name: [row[each.name] for row in rows] for each in batching.inputs}
        yield Rows([(file, 0) for file in files], columns, pa.RecordBatch.from_struct_array(_no_columns(len(files))))


def _no_columns(rows: int) -> pa.StructArray:
    return pa.array([{}] * rows, pa.struct([]))


def _check_first_npz(files: Sequence[Path], batching: Batching) -> None:
    """Raise InputError where the first file that can be read lacks an input. One that cannot is a row that fails."""
    for file in files:
        try:
            held = read_npz(file, lambda name: False)
        except (ValueError, OSError):
            continue
        for each in batching.inputs:
            if each.name not in held:
                raise InputError(f"{file}: column '{each.name}' {_missing(held)}")
        return


def _missing(held: Collection[str]) -> str:
    return f"is missing, the file has {listing(sorted(held)) if held else 'no array'}"


def _npz(file: str, batching: Batching) -> Mapping[str, Any]:
    """The model's inputs in an .npz file; for what is not there, a ValueError that says so. Nothing is unpickled."""
    names = [each.name for each in batching.inputs]
    try:
        held = read_npz(file, names.__contains__)
    except (ValueError, OSError) as error:
        return dict.fromkeys(names, ValueError(f"cannot be read: {error}"))
    return {name: held[name] if name in held else ValueError(_missing(held)) for name in names}


READERS = {".parquet": _read_parquet, ".npz": _read_npz}
STRAYS = {".parquet": (".parquet", ".parq", ".pq"), ".npz": (".npz",)}
"""Endings of names, in small letters, that data of each kind has."""
RUN_FILE = "_run.json"
"""Says of which run a folder is the output."""
