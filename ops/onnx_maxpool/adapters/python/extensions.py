"""onnxruntime-extensions, which runs Python code in ONNX Runtime: a dependency, but not of every installation."""

from __future__ import annotations

import sys
from types import ModuleType

NEWEST_PYTHON = (3, 13)
"""For which onnxruntime-extensions has a wheel, up to 0.15.2; it has no source distribution. pip installs none for a
newer one, as pyproject.toml says."""


def extensions() -> ModuleType:
    """The module `onnxruntime_extensions`. Raises ModuleNotFoundError where it is not installed, with what to do."""
    try:
        import onnxruntime_extensions  # not before it is needed: it imports torch wherever that is installed
    except ModuleNotFoundError as error:
        if error.name != "onnxruntime_extensions":
            raise
        raise ModuleNotFoundError(missing(), name=error.name) from None
    return onnxruntime_extensions  # type: ignore[no-any-return]


def missing() -> str:
    """What is said where it is not installed."""
    needed = "operators in Python need onnxruntime-extensions"
    here, newest = (".".join(map(str, version[:2])) for version in (sys.version_info, NEWEST_PYTHON))
    if sys.version_info[:2] <= NEWEST_PYTHON:
        return f"{needed}: pip install onnxruntime-extensions"
    return f"{needed}, which up to 0.15.2 has no wheel for Python {here}: use Python {newest} or older"
