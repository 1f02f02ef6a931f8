"""Files that are written as a whole."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def replaced_by(path: Path) -> Path:
    """Where the file goes that takes the place of what stands at `path`: where that is a link, to what it leads to."""
    return Path(os.path.realpath(path)) if path.is_symlink() else path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write what takes the place of `path` when the block ends; where the block raises, `path` stays.

    It has the name of `path`, in a folder of its own. A file that is replaced keeps its permissions. Raises OSError
    where the folder cannot be written to.
    """
    target = replaced_by(path)
    with tempfile.TemporaryDirectory(prefix=f"{target.name}.", dir=target.parent) as folder:
        unfinished = Path(folder, path.name)
        yield unfinished
        if target.exists():
            shutil.copymode(target, unfinished)
        unfinished.replace(target)
