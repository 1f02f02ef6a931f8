"""What a test model offers, and how it is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx
from onnx import TensorProto, helper

from onnx_maxpool.aliases import Array

PRODUCER = "onnx-maxpool"
LOCAL_DOMAIN = "onnx_maxpool.example"
"""The domain of the models' local functions."""


@dataclass(frozen=True)
class Model:
    """One model, by name, with inputs to run it on."""

    name: str
    description: str
    """One line."""
    builder: Callable[[], onnx.ModelProto]
    """Builds the model, the same bytes every time. External weights are only referred to."""
    inputs: Callable[[], dict[str, Array]]
    """Deterministic sample inputs by name."""
    write_weights: Callable[[Path], Path] | None = None
    """Writes the external weights into the model's folder and returns the file; None where all weights are inside."""

    @property
    def has_large_weights(self) -> bool:
        """Whether the weights lie in a file of their own, too large for version control."""
        return self.write_weights is not None

    def write(self, folder: Path) -> list[Path]:
        """Write `<name>.onnx`, and its weights if they are external, into an existing folder; the files written."""
        path = folder / f"{self.name}.onnx"
        path.write_bytes(self.builder().SerializeToString(deterministic=True))
        return [path] if self.write_weights is None else [path, self.write_weights(folder)]


def finished(graph: onnx.GraphProto, opsets: Mapping[str, int]) -> onnx.ModelProto:
    """A model of `graph` with the given opset imports (domain to version)."""
    imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
    return helper.make_model(
        graph, opset_imports=imports, ir_version=ir_version(opsets.get("", 1)), producer_name=PRODUCER
    )


def parsed(
    text: str,
    initializers: Mapping[str, Array] | None = None,
    *,
    opset: int = 22,
    domains: Mapping[str, int] | None = None,
) -> onnx.ModelProto:
    """A model from ONNX's textual syntax (graph, then functions), with `initializers` added to the graph.

    `text` starts at the graph's name; the header is written here, with the opset imports of ai.onnx and of `domains`.
    Raises onnx.parser.ParseError.
    """
    imports = {"": opset, LOCAL_DOMAIN: 1, **(domains or {})}
    listed = ", ".join(f'"{domain}": {version}' for domain, version in imports.items())
    header = f"<ir_version: {ir_version(opset)}, opset_import: [{listed}]>"
    model = onnx.parser.parse_model(header + text)
    model.producer_name = PRODUCER
    model.graph.initializer.extend(
        onnx.numpy_helper.from_array(value, name) for name, value in (initializers or {}).items()
    )
    if not model.functions:
        del model.opset_import[1]
    return model


def ir_version(opset: int) -> int:
    """The file format's version: fixed, and old enough for every runtime that takes the opset."""
    return 8 if opset <= 18 else 10


def tensor_type(name: str) -> int:
    """The TensorProto element type of a name in the registry: `float`, `bfloat16`."""
    return int(TensorProto.DataType.Value(name.upper()))
