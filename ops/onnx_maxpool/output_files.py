"""Make room for the files that a command is to write, before the work whose results they take."""

from __future__ import annotations

from pathlib import Path

from onnx_maxpool.model_inputs import InputError


def prepare_files(*paths: Path | None) -> None:
    """Make the folders of files that are yet to be written; None is a file that nobody wants.

    Raises InputError for a path that is a folder, and OSError where a folder cannot be made.
    """
    for path in paths:
        if path is None:
            continue
        if path.is_dir():
            raise InputError(f"{path} is a folder, expected a file")
        path.parent.mkdir(parents=True, exist_ok=True)
