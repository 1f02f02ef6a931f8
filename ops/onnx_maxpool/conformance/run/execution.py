"""Give one model and its inputs to a backend, and say what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

import onnx

from onnx_maxpool.conformance.run import serving
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
    happened, outputs, text = serving.ask(backend, model, list(inputs.values()), device)
    return Execution(cast(Happened, happened), outputs, text)
