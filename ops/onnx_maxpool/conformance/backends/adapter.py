"""What the adapters share: a backend is a function from a model to a function from inputs to outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep

from onnx_maxpool.types import Array

Run = Callable[[Sequence[Array]], Sequence[Array]]


class Prepared(BackendRep):
    """A model that is ready to run."""

    def __init__(self, function: Run) -> None:
        self.function = function

    def run(self, inputs: Any, **_: Any) -> tuple[Any, ...]:
        """The model's outputs for its inputs, both in the model's order."""
        return tuple(self.function(list(inputs)))


class Adapter(Backend):
    """A backend made of one function, on the CPU."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """The function that runs a model. Raises UnsupportedError, and whatever the runtime refuses with."""
        raise NotImplementedError

    @classmethod
    def describe(cls) -> dict[str, str]:
        """What runs: version, and what else decides about numbers."""
        raise NotImplementedError

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> bool:
        """Not said here: `load` raises UnsupportedError."""
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Prepared:
        """The model, ready to run."""
        return Prepared(cls.load(model))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Only the CPU."""
        return device == "CPU"


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
