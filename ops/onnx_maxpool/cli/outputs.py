"""A model's outputs as a summary and as files."""

from __future__ import annotations

import errno
import os
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import onnx
from onnx import numpy_helper

from onnx_maxpool.errors import InputError, OutputError
from onnx_maxpool.types import Array


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

    Raises InputError for a bfloat16 output and a `.npz` file, whose format has no such type, and for a file name of any
    other kind; OutputError where it cannot be written.
    """
    if path.suffix == ".npz":
        for name, kind in types.items():
            if kind == "tensor(bfloat16)":
                raise InputError(f"--out {path}: output {name!r} is bfloat16, which .npz does not hold: give a folder")
        prepare_files(path)
        return
    if path.suffix in (".npy", ".pb", ".onnx") or path.is_file():
        raise InputError(f"--out {path}: expected FILE.npz or a folder")
    prepare_folders(path)


def prepare_inputs(path: Path) -> None:
    """Make the folder for `save_test_data`, before the run. Raises InputError for a file, and OutputError."""
    if path.suffix in (".npy", ".npz", ".pb", ".onnx") or path.is_file():
        raise InputError(f"--save-inputs {path}: expected a folder")
    prepare_folders(path)


def save_outputs(outputs: Mapping[str, Array], path: Path) -> list[Path]:
    """Write `outputs` to a `.npz` file by name, or to a folder as TensorProtos `output_0.pb`, `output_1.pb`, ...

    The folder's layout is that of ONNX's test data. Returns the files written. `prepare_out` was there before.
    """
    if path.suffix == ".npz":
        return [_save_npz(outputs, path)]
    return save_test_data(outputs, path, "output")


def save_test_data(arrays: Mapping[str, Array], path: Path, kind: Literal["input", "output"]) -> list[Path]:
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
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in outputs.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                np.lib.format.write_array(stream, array, allow_pickle=False)
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


def write_model(model: onnx.ModelProto, path: Path, *, external_data: bool) -> None:
    """Write `model`; with `external_data` its large tensors go to one file beside it, `NAME.onnx.data`.

    What stands at `path`, and its data, is replaced when everything is written. `model` is changed. Raises what
    `prepare_files` raises, and OSError where a file cannot be written.
    """
    prepare_files(path)
    data = f"{path.name}.data"
    with tempfile.TemporaryDirectory(prefix=f"{path.name}.", dir=path.parent) as folder:
        onnx.save_model(
            model,
            Path(folder, path.name),
            "protobuf",
            save_as_external_data=external_data,
            location=data,
            convert_attribute=True,
        )
        for name in (data, path.name):  # the model last, which names the data
            if Path(folder, name).exists():
                Path(folder, name).replace(path.with_name(name))
