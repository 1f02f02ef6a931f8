"""What the adapters share: a backend is a function from a model and inputs to outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.types import Array

Run = Callable[[Sequence[Array]], Sequence[Array]]

Inputs = dict[str, Array]
"""A model's inputs by name, in the model's order."""


class Prepared(BackendRep):
    """A model that is ready to run."""

    def __init__(self, function: Run) -> None:
        self.function = function

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """The model's outputs for its inputs, both in the model's order."""
        return tuple(self.function(list(inputs)))


class Adapter(Backend):
    """A backend made of one function, on the CPU."""

    lacking: tuple[str, ...] = ()
    """How the runtime says that it lacks the operator, its version or its type: parts of its errors' text."""

    helpers: tuple[Callable[..., Any], ...] = ()
    """Functions that `run` calls."""

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """A model's outputs. Raises whatever the runtime raises.

        The programs of `--bugs` contain the text of this function and of its `helpers`. So these import the runtime
        themselves, know only `np` and `onnx` beside it, and nothing of this package.
        """
        raise NotImplementedError

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """The function that runs a model, here by `run`. It raises UnsupportedError for what the runtime lacks."""
        names = [value.name for value in model.graph.input]

        def function(arrays: Sequence[Array]) -> Sequence[Array]:
            with unsupported_where(cls.lacking):
                return cls.run(model, dict(zip(names, arrays, strict=True)))

        return function

    @classmethod
    def describe(cls) -> dict[str, str]:
        """What runs: version, and what else decides about numbers. Raises ModuleNotFoundError without the runtime."""
        raise NotImplementedError

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> bool:
        """Not said here: `load` and what it returns raise UnsupportedError."""
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Prepared:
        """The model, ready to run."""
        return Prepared(cls.load(model))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Only the CPU."""
        return device == "CPU"


@contextmanager
def unsupported_where(lacking: Sequence[str]) -> Iterator[None]:
    """Raise UnsupportedError in place of an error whose type and text have one of the given parts."""
    try:
        yield
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
        if any(part in said for part in lacking):
            raise UnsupportedError(str(error)) from error
        raise


@dataclass(frozen=True)
class OneNode:
    """A one-node model, taken apart for a runtime that offers functions and no importer."""

    operator: str
    domain: str
    attributes: dict[str, Any]
    outputs: int

    @classmethod
    def of(cls, model: onnx.ModelProto) -> OneNode:
        """The model's only node."""
        (node,) = model.graph.node
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        text = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
        return cls(node.op_type, node.domain, text, len(node.output))
