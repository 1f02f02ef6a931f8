"""A model's outputs as a summary and as files."""

from __future__ import annotations

import errno
import os
import re
import tempfile
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from google.protobuf.message import DecodeError
from onnx import TensorProto, numpy_helper

from onnx_maxpool.errors import InputError, OutputError
from onnx_maxpool.files import check_utf_8, replaced_by, replacing
from onnx_maxpool.graph.reading import external_files, has_external_data
from onnx_maxpool.graph.writing import write_with_data
from onnx_maxpool.types import Array

TestData = Literal["input", "output"]


@dataclass(frozen=True)
class Summary:
    """An array's values in brief, NaN left out of the first three; None where nothing is left."""

    least: float | None
    greatest: float | None
    mean: float | None
    nans: int


def summary(array: Array) -> Summary:
    """The summary of a numeric or bool array; of any other, and of an empty one, there is nothing to say."""
    if array.dtype.kind in "OUSc":
        return Summary(None, None, None, 0)
    values = array.astype(np.float64)
    numbers = values[~np.isnan(values)]
    nans = values.size - numbers.size
    if not numbers.size:
        return Summary(None, None, None, nans)
    with np.errstate(invalid="ignore"):  # the mean of inf and -inf is a NaN, and may be
        return Summary(float(numbers.min()), float(numbers.max()), float(numbers.mean()), nans)


def prepare_out(path: Path, types: Mapping[str, str]) -> None:
    """Make room for `save_outputs`, before the run. `types` are the outputs' as ONNX Runtime names them.

    Raises InputError for a map, for a bfloat16 output and a `.npz` file, whose format has no such type, and for a file
    name of any other kind; OutputError where it cannot be written, where a device or a pipe has the file's name, and
    for a folder with more outputs than the model has.
    """
    for name, kind in types.items():
        if "map(" in kind:
            raise InputError(f"--out {path}: output {name!r} is {kind}, expected tensors")
    if path.suffix == ".npz":
        for name, kind in types.items():
            if kind == "tensor(bfloat16)":
                raise InputError(
                    f"--out {path}: output {name!r} is bfloat16, which a .npz file cannot contain: give a folder"
                )
        prepare_replacement(path)
        return
    if path.suffix in (".npy", ".pb", ".onnx") or path.is_file():
        raise InputError(f"--out {path}: expected FILE.npz or a folder")
    _prepare_test_data(path, "output", list(types), {name for name, kind in types.items() if "seq(" in kind})


def prepare_inputs(path: Path, names: Collection[str]) -> None:
    """Make the folder for `save_test_data`, before the run. Raises InputError for a file, and OutputError as above."""
    if path.suffix in (".npy", ".npz", ".pb", ".onnx") or path.is_file():
        raise InputError(f"--save-inputs {path}: expected a folder")
    _prepare_test_data(path, "input", names)


def _prepare_test_data(
    path: Path, kind: TestData, names: Collection[str], sequences: Collection[str] = frozenset()
) -> None:
    """Raises OutputError for a folder that already has more: who reads it would take these for the model's, too.

    How many tensors the `sequences` among the names have is not known before the run. So where there are any, a file of
    an earlier run is known by the name of its tensor.
    """
    prepare_folders(path)
    expected = [f"{kind}_{i}.pb" for i in range(len(names) - len(sequences))]
    for entry in sorted(path.glob(f"{kind}_*.pb")):
        if entry.name not in expected and not (sequences and _is_of(entry, names, sequences)):
            raise OutputError(f"{path} has {entry.name}, expected only {kind}s of this model: give another folder")


def _is_of(path: Path, names: Collection[str], sequences: Collection[str]) -> bool:
    """Whether a file holds a tensor that has one of the names, or the name that a tensor of a sequence is saved by."""
    if not path.is_file():
        return False
    try:
        name = str(TensorProto.FromString(path.read_bytes()).name)  # which is bytes where it is not UTF-8
    except DecodeError:
        return False
    return name in names or re.sub(r"\[[0-9]+\]\Z", "", name) in sequences


def save_outputs(outputs: Mapping[str, Array], path: Path) -> list[Path]:
    """Write `outputs` to a `.npz` file by name, or to a folder as TensorProtos `output_0.pb`, `output_1.pb`, ...

    The folder's layout is that of ONNX's test data. Returns the files written. `prepare_out` was there before: so what
    the folder has beside them is of an earlier run, whose sequences were longer, and is removed.
    """
    if path.suffix == ".npz":
        return [_save_npz(outputs, path)]
    files = save_test_data(outputs, path, "output")
    for left in {*path.glob("output_*.pb")} - {*files}:
        left.unlink()
    return files


def save_test_data(arrays: Mapping[str, Array], path: Path, kind: TestData) -> list[Path]:
    """Write `arrays` to a folder in the layout of ONNX's test data: `input_0.pb`, `input_1.pb`, ..., with their names.

    Returns the files written.
    """
    files = []
    for i, (name, array) in enumerate(arrays.items()):
        files.append(path / f"{kind}_{i}.pb")
        files[-1].write_bytes(numpy_helper.from_array(array, name).SerializeToString())
    return files


def _save_npz(outputs: Mapping[str, Array], path: Path) -> Path:
    # Not np.savez: it takes the names as keyword arguments, and `file` is already one of its own.
    with replacing(path) as unfinished, zipfile.ZipFile(unfinished, "w") as archive:
        for name, array in outputs.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                numbers_or_texts = array.astype(str) if array.dtype == object else array
                np.lib.format.write_array(stream, numbers_or_texts, allow_pickle=False)
    return path


def prepare_files(*paths: Path | None) -> None:
    """Make sure that files can be written, before the work that they are for; None is a file that nobody wants.

    Their folders are made. Raises OutputError for a path that is a folder, and where a file cannot be written.
    """
    for path in filter(None, paths):
        if path.is_dir():
            raise OutputError(f"{path} is a folder, expected a file")
        _prepare(path.parent, path)
        if path.exists() and not os.access(path, os.W_OK):
            raise OutputError(f"cannot write {path}: {os.strerror(errno.EACCES)}")


def prepare_folders(*paths: Path | None) -> None:
    """Make sure that folders are there and can be written to. Raises OutputError where that is not so."""
    for path in filter(None, paths):
        _prepare(path, path)


def _prepare(folder: Path, wanted: Path) -> None:
    """Make a folder, and try to write to it: nothing else tells on every system whether that is possible."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except FileExistsError as error:
        raise OutputError(f"cannot write {wanted}: {error.filename} is a file, expected a folder") from None
    except OSError as error:
        raise OutputError(f"cannot write {wanted}: {error.strerror}") from None


def prepare_replacement(path: Path) -> Path:
    """Make sure that a file can be put in the place of what stands at `path`, before the work that it is for.

    Returns where the file is to go, as `replaced_by` does. Raises OutputError for a path that is a folder, a device or
    a pipe, and where a file cannot be written.
    """
    target = replaced_by(path)
    if target.is_symlink():  # it is what no path leads out of
        raise OutputError(f"{path} is a link in a circle of links, expected a file")
    if path.is_dir():
        raise OutputError(f"{path} is a folder, expected a file")
    if path.exists() and not path.is_file():
        raise OutputError(f"{path} is a device or a pipe, expected a file")
    prepare_files(target)
    return target


def check_absent(path: Path, overwrite: bool) -> None:
    """Raise InputError for a file that is there, and that nobody has asked to replace."""
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists: give --overwrite to replace it")


def prepare_model(out: Path, model: Path, parsed: onnx.ModelProto, overwrite: bool) -> Path:
    """Make sure that `write_model` can write what `model` is converted to; returns where to.

    `parsed` is what `model` holds, its external data checked. Raises what `prepare_replacement` and `check_absent`
    raise, and OutputError where `model` would lose its data, where the data of the written model would not lie beside a
    link to it, and for a path that is not UTF-8, by which no model is read.
    """
    check_utf_8(replaced_by(out), OutputError)
    target = prepare_replacement(out)
    if has_external_data(parsed):
        _check_data(out, target, model, parsed)
        check_absent(data_of(target), overwrite)
    check_absent(out, overwrite)
    return target


def _check_data(out: Path, target: Path, model: Path, parsed: onnx.ModelProto) -> None:
    """Raise OutputError where the written model's data may not go where it would."""
    data = data_of(target)
    if data.exists() and not data.is_file():
        raise OutputError(f"cannot write {out}: {data} is no file, expected none or a file, in which its data goes")
    if target.resolve().parent != out.parent.resolve():
        raise OutputError(f"{out} is a link to {target}, expected no link, because external data lies beside the model")
    if target.resolve() == model.resolve():  # it is replaced with its data
        return
    needed = [model, *(model.parent / location for location in external_files(parsed))]
    for path in (target, *([] if data.is_symlink() else [data])):  # a link is replaced, not what it leads to
        if path.exists() and any(path.samefile(file) for file in needed):
            raise OutputError(
                f"cannot write {out}: this would replace {path}, which {model} needs, expected another name or folder"
            )


def data_of(path: Path) -> Path:
    """The file of a model's large tensors: `NAME.onnx.data`."""
    return path.with_name(f"{path.name}.data")


def write_model(model: onnx.ModelProto, path: Path, *, external_data: bool) -> None:
    """Write `model`; with `external_data` its large tensors go to one file beside it, `NAME.onnx.data`.

    What stands at `path`, and its data, is replaced when everything is written. `model` is changed. `prepare_model` was
    there before, and gave the path. Raises OSError where a file cannot be written.
    """
    data = data_of(path)
    with replacing(path) as unfinished:
        if not external_data:
            unfinished.write_bytes(model.SerializeToString())
            return
        write_with_data(model, unfinished, data.name)
        if (written := unfinished.with_name(data.name)).exists():
            written.replace(data)  # before the model, which names it
