"""What a row is timed in: this package's library and its portable forms, the peers, and what no kernel can undercut.

A module here has `versions()`, the packages that it stands for, and `prepare(row, inputs, threads)`, which returns a
`Call` or raises whatever the runtime raises where it does not take the row. It imports its runtime at the top, so a
runtime that is not installed refuses by itself. Every peer is asked as directly as it can be: tensors are bound or
made beforehand, graphs compiled, and outputs allocated beforehand where the runtime allows that.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, cast

import numpy as np

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
    """A module of this package, or an object in one."""

    def versions(self) -> Mapping[str, str]:
        """Versions by distribution."""

    def prepare(self, row: Row, inputs: Mapping[str, Array], threads: int) -> Call:
        """The row, ready to run on so many threads."""


OURS, RUNTIME, TRAFFIC, SESSION = "onnx-maxpool", "ONNX Runtime", "memory traffic", "session alone"
MODULES = {
    OURS: "ours",
    "with control flow": "portable.WITH_CONTROL_FLOW",
    "without control flow": "portable.WITHOUT_CONTROL_FLOW",
    RUNTIME: "onnxruntime",
    "OpenVINO": "openvino",
    "torch": "torch",
    "Paddle": "paddle",
    "MNN": "mnn",
    TRAFFIC: "memory_traffic",
    SESSION: "onnxruntime.SESSION_ALONE",
}
"""The module of each, or an object in one, by the name under which tables and plots show it."""

FORMS = ("with control flow", "without control flow")
"""Of `to_portable`, in ONNX Runtime without our library."""
PEERS = tuple(name for name in MODULES if name not in (OURS, *FORMS, TRAFFIC, SESSION))


class Inexact(NamedTuple):
    """Why a peer's pooling differs in some cells, in all element types or in some."""

    reason: str
    types: tuple[str, ...] | None = None


INEXACT = {
    "MNN": Inexact("cuts bins by repeated float32 addition"),
    "torch": Inexact("computes the edges of float16's bins in float16", ("float16",)),
    "OpenVINO": Inexact("has a wrong index where all of a window is its 8-bit type's lowest value", ("int8", "uint8")),
}
"""Peers that are known to differ. Any other difference fails the benchmark."""


def may_differ(peer: str, type_: str) -> bool:
    """Whether a peer is known to differ in an element type."""
    known = INEXACT.get(peer)
    return known is not None and (known.types is None or type_ in known.types)


HELD_TO = {
    "avx2": {"ONNX_MAXPOOL_TARGET": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "ATEN_CPU_CAPABILITY": "avx2"},
    "baseline": {"ONNX_MAXPOOL_TARGET": "baseline", "ONEDNN_MAX_CPU_ISA": "SSE41", "ATEN_CPU_CAPABILITY": "default"},
}
"""The environment variables that keep our library, OpenVINO and torch to an instruction set, by our library's name of
it. The other peers cannot be told."""


def load(name: str) -> Peer:
    """The peer; raises ImportError where its runtime is not installed."""
    module, _, within = MODULES[name].partition(".")
    found = importlib.import_module(f"{__name__}.{module}")
    return cast("Peer", getattr(found, within) if within else found)


def whole_tensor(outputs: Sequence[Array], x: tuple[int, ...]) -> list[Array]:
    """Outputs whose indices, if there are any, number each channel's cells: numbered over all of `x` (P5)."""
    values, *indices = outputs
    channels = np.arange(x[0] * x[1], dtype=np.int64).reshape(*x[:2], *(1 for _ in x[2:]))
    return [values, *(index + channels * math.prod(x[2:]) for index in indices)]


def per_channel(outputs: Sequence[Array], x: tuple[int, ...]) -> list[Array]:
    """Outputs whose indices number the cells of `x`: numbered in each channel (A3)."""
    values, *indices = outputs
    return [values, *(index % math.prod(x[2:]) for index in indices)]
