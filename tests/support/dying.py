"""What ends the process that computes a part."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass

from onnx_maxpool.batch.compute import PartResult
from onnx_maxpool.batch.inputs import Part


@dataclass(frozen=True)
class DiesOn:
    """Computes nothing, and dies of one part."""

    number: int

    def __call__(self, part: Part) -> PartResult:
        if part.number == self.number:
            os.kill(os.getpid(), signal.SIGKILL)
        return PartResult(part.number, part.rows)
