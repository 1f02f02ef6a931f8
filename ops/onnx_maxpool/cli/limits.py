"""How `onnx-maxpool conformance` runs a backend: in which Python, and what time and memory a case may take."""

from __future__ import annotations

from dataclasses import dataclass

from onnx_maxpool.conformance.run.memory import GB, can_tell
from onnx_maxpool.conformance.run.worker import Worker
from onnx_maxpool.errors import InputError

SHORTEST, LONGEST = 0.1, 86400.0
"""Of `--time-limit`."""
LEAST, MOST = 0.1, 1e5
"""Of `--memory`."""


@dataclass(frozen=True)
class Conditions:
    """The same for a run, a search and the reductions."""

    time_limit: float
    """Seconds."""
    memory_limit: float | None
    """Bytes; None for the default."""
    python: str | None
    """Another environment's interpreter."""

    def worker(self, name: str) -> Worker:
        """What runs a backend so."""
        return Worker(name, self.time_limit, self.python, memory_limit=self.memory_limit)


def check_time_limit(seconds: float) -> None:
    """Raises InputError for a time that is none."""
    if not SHORTEST <= seconds <= LONGEST:  # which a NaN is not either
        raise InputError(f"--time-limit {seconds:g}: expected {SHORTEST:g} to {LONGEST:g} seconds")


def memory_limit(gigabytes: float | None) -> float | None:
    """The bytes of `--memory`; None for the default. Raises InputError where that is none, or cannot be watched."""
    if gigabytes is None:
        return None
    if not LEAST <= gigabytes <= MOST:
        raise InputError(f"--memory {gigabytes:g}: expected {LEAST:g} to {MOST:g} GB")
    if not can_tell():
        raise InputError(f"--memory {gigabytes:g}: expected /proc or ps, which tell what a process takes")
    return gigabytes * GB
