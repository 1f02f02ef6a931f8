"""What a row is timed in: this package's library and its portable forms, the peers, and memory traffic.

A module here has `versions()`, the packages that it stands for, and `prepare(row, inputs, threads)`, which returns a
`Call` or raises whatever the runtime raises where it does not take the row. It imports its runtime at the top, so a
runtime that is not installed refuses by itself. Every peer is asked as directly as it can be: tensors are bound or
made beforehand, graphs compiled, and outputs allocated beforehand where the runtime allows that.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from onnx_maxpool.benchmark.rows import Row
from onnx_maxpool.types import Array


@dataclass(frozen=True)
class Call:
    """A row made ready."""

    run: Callable[[], object]
    """One run: what is timed."""
    outputs: Callable[[], list[Array]]
    """The last run's outputs: the values, then the indices if there are any, numbered as our operator numbers them."""
    repeat: Callable[[int], object] | None = None
    """So many runs; a loop over `run` if None."""
    keeps: object = None
    """What must live as long, as the runtime has no more than its address."""


class Peer(Protocol):
    """A module of this package."""

    def versions(self) -> Mapping[str, str]:
        """Versions by distribution."""

    def prepare(self, row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
        """The row, ready to run on so many threads."""


OURS, TRAFFIC = "onnx-maxpool", "memory traffic"
MODULES = {
    OURS: "ours",
    "with control flow": "with_control_flow",
    "without control flow": "without_control_flow",
    "ONNX Runtime": "onnxruntime",
    "OpenVINO": "openvino",
    "torch": "torch",
    "Paddle": "paddle",
    "MNN": "mnn",
    TRAFFIC: "memory_traffic",
}
"""Modules by the name under which tables and plots show them."""

FORMS = ("with control flow", "without control flow")
"""Of `to_portable`, in ONNX Runtime without our library."""
PEERS = tuple(name for name in MODULES if name not in (OURS, *FORMS, TRAFFIC))
INEXACT = {"MNN": "cuts bins by repeated float32 addition"}
"""Peers whose ROI pooling is known to differ in some cells, and why. Any other difference fails the benchmark."""


HELD_TO = {
    "avx2": {"ONNX_MAXPOOL_TARGET": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"},
    "baseline": {"ONNX_MAXPOOL_TARGET": "baseline", "ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default"},
}
"""The environment variables that keep our library, OpenVINO and torch to an instruction set, by our library's name of
it. The other peers cannot be told."""


def load(name: str) -> Peer:
    """The module; raises ImportError where its runtime is not installed."""
    return cast("Peer", importlib.import_module(f"{__name__}.{MODULES[name]}"))
