"""What a test model offers, and how it is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import onnx

from onnx_maxpool.types import Array


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

    @property
    def file(self) -> str:
        """The name of the model's file."""
        return f"{self.name}.onnx"

    def content(self) -> bytes:
        """The bytes of the model's file."""
        serialized: bytes = self.builder().SerializeToString(deterministic=True)
        return serialized

    def write(self, folder: Path) -> list[Path]:
        """Write the model's file, and its weights if they are external, into an existing folder; the files written."""
        path = folder / self.file
        path.write_bytes(self.content())
        return [path] if self.write_weights is None else [path, self.write_weights(folder)]
