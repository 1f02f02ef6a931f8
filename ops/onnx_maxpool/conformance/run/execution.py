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
    """Run a model on a class in the way of `onnx.backend.base.Backend`, in this process. Never raises.

    The class gets copies of the inputs: what it writes into them is not what others are asked.
    """
    try:
        happened, outputs, text = serving.ask(backend, model, [array.copy() for array in inputs.values()], device)
    except SystemExit as error:  # a process of its own would be over
        return Execution("crashed", text=f"SystemExit: {error.code}")
    return Execution(cast(Happened, happened), outputs, text)
