"""Other libraries of custom operators in the sessions of `run` and `compare`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import onnxruntime as ort
import typer

from onnx_maxpool.adapters.onnxruntime import ORT_ERRORS
from onnx_maxpool.adapters.python.extensions import extensions
from onnx_maxpool.errors import InputError

Libraries = Annotated[
    list[Path] | None,
    typer.Option(
        "--library",
        metavar="PATH",
        help="Register this library of custom operators too, for a model that needs it beside ours. "
        "Repeat the option for several.",
    ),
]


def register_libraries(options: ort.SessionOptions, paths: Sequence[Path]) -> None:
    """Make sessions with these options run the operators of these libraries.

    Raises InputError for a path that is no library of custom operators.
    """
    for path in paths:
        if not path.is_file():
            raise InputError(f"--library {path}: no such file, expected a library of custom operators")
        try:
            options.register_custom_ops_library(str(path.absolute()))  # a bare name is looked up elsewhere
        except ORT_ERRORS as error:
            raise InputError(f"--library {path}: expected a library of custom operators: {error}") from None


def without_extensions(paths: Sequence[Path]) -> list[Path]:
    """The libraries that are not onnxruntime-extensions' own, which sessions with Python operators already have.

    Raises ModuleNotFoundError without onnxruntime-extensions, which such sessions need.
    """
    return [path for path in paths if not path.samefile(extensions().get_library_path())] if paths else []
