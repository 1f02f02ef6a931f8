"""Files that are written as a whole, and paths that are not text."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from onnx_maxpool.errors import printable


def replaced_by(path: Path) -> Path:
    """Where the file goes that takes the place of what stands at `path`: where that is a link, to what it leads to."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def check_utf_8(path: str | os.PathLike[str], error: type[Exception]) -> None:
    """Raise `error`, which takes a message, for a path that is not UTF-8: on Linux names are any bytes."""
    text = os.fsdecode(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        said = f"{printable(text)} is not UTF-8, expected a path that is, as ONNX Runtime and Arrow take no other"
        raise error(said) from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what takes the place of `path` when the block ends; where the block raises, `path` stays.

    It has the name of `path`, in a folder of its own. A file that is replaced keeps its permissions. Raises OSError
    where the folder cannot be written to.
    """
    target = replaced_by(path)
    # Not with the file's name in the folder's, which would be too long where that one is nearly so.
    with tempfile.TemporaryDirectory(prefix=".unfinished-", dir=target.parent) as folder:
        unfinished = Path(folder, path.name)
        yield unfinished
        if target.exists():
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
