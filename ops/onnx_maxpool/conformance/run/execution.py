"""Give one model and its inputs to a backend, and say what came of it."""

from __future__ import annotations

import unittest
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import onnx

from onnx_maxpool.types import Array

Happened = Literal["answered", "raised", "unsupported", "crashed", "timed out"]


@dataclass(frozen=True)
class Execution:
    """What a backend did with a model and inputs."""

    happened: Happened
    outputs: tuple[Array, ...] = ()
    """Where it answered."""
    text: str = ""
    """Where it did not: its own words, or what the process died of."""
    seconds: float = 0.0


class UnsupportedError(NotImplementedError):
    """Raised by an adapter whose backend does not have the operator, the version, or the type."""


def execute(backend: Any, model: onnx.ModelProto, inputs: Mapping[str, Array], device: str = "CPU") -> Execution:
    """Run a model on a class in the way of `onnx.backend.base.Backend`, in this process. Never raises."""
    try:
        if not backend.is_compatible(model, device):
            return Execution("unsupported", text="is_compatible says no")
        outputs = backend.prepare(model, device).run(list(inputs.values()))
        return Execution("answered", () if outputs is None else tuple(np.asarray(output) for output in outputs))
    except Exception as error:
        return Execution("unsupported" if _says_unsupported(error) else "raised", text=_words(error))


def _says_unsupported(error: Exception) -> bool:
    """Whether a backend says that it lacks the operator, in one of the ways that onnx's own test runner takes.

    The runner's exception goes by its name: to import it is to import every test of onnx.
    """
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, NotImplementedError | unittest.SkipTest) or "BackendIsNotSupposedToImplementIt" in names


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:600]
