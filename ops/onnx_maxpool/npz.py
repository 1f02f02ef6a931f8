"""Arrays of an .npz file, which may be damaged, or of another kind."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from onnx_maxpool.types import Array


def read_npz(path: str | Path, wanted: Callable[[str], bool] = lambda name: True) -> dict[str, Array | None]:
    """A file's arrays by name, None in the place of those that are not wanted. Nothing is unpickled.

    Raises OSError for a file that cannot be opened, and ValueError that says why its content cannot be read.
    """
    # Not np.load: what it gives for a file of another kind differs with NumPy's version.
    with open(path, "rb") as stream:
        try:
            with zipfile.ZipFile(stream) as archive:
                members = {name.removesuffix(".npy"): name for name in archive.namelist()}
                return {name: _array(archive, member) if wanted(name) else None for name, member in members.items()}
        except Exception as error:  # of zipfile, its decompressors and NumPy, which have no common class
            raise ValueError(str(error) or type(error).__name__) from None


def _array(archive: zipfile.ZipFile, member: str) -> Array:
    with archive.open(member) as stream:
        array: Array = np.lib.format.read_array(stream, allow_pickle=False)
        return array
