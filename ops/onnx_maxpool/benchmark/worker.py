"""One runtime in a process of its own, which does what it is told and otherwise waits."""

from __future__ import annotations

import functools
import gc
import math
import os
import re
import time
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from onnx_maxpool.benchmark import peers
from onnx_maxpool.benchmark.inputs import row_inputs
from onnx_maxpool.benchmark.peers import Call, Peer
from onnx_maxpool.benchmark.rows import Row
from onnx_maxpool.processes import answer_requests, send_output_to

SHORTEST_SAMPLE = 2e-3
"""Seconds: shorter runs are repeated until a timed sample takes as long."""
MARGIN = 1.5
"""By how much a sample is planned to exceed the shortest, so that a lucky one does not fall below it."""
WARM_UP = 10e-3
"""Seconds of runs before a sample that are not timed. Others have used the caches, and the threads of a process that
was stopped may be on one processor at first: with two, runs of 18 us took up to 180 in the first milliseconds."""
LONG_RUN = 0.1
"""Seconds: a run as long as this needs none before it."""
SHORT_RUNS = 3
"""Of which the fastest tells how long such a run takes: an interrupt alone may take longer."""
FIRST_RUNS, FIRST_SECONDS = 192, 1.0
"""Runs of our library before those that are timed, or as many as fit the time, as it tries plans in its first ones. No
other runtime is known to."""

PLACE = re.compile(r"Exception from \S+:\d+:")

THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


def serve(connection: Connection, threads: int) -> None:
    """Answer `(method, arguments)` with `(True, result)` or `(False, why not)` until the other side hangs up."""
    for variable in THREAD_VARIABLES:
        os.environ[variable] = str(threads)
    send_output_to(os.devnull)  # what matters comes back as an answer
    gc.disable()
    worker = Worker(threads)
    methods: Mapping[str, Callable[..., Any]] = {
        "start": worker.start,
        "prepare": worker.prepare,
        "save": worker.save,
        "digest": worker.digest,
        "sample": worker.sample,
        "drop": worker.drop,
    }
    answer_requests(connection, lambda asked: answer(methods[asked[0]], asked[1]))


def answer(method: Callable[..., Any], arguments: tuple[Any, ...]) -> tuple[bool, Any]:
    """The result, or in one line why there is none. Runtimes raise whatever they like."""
    try:
        return True, method(*arguments)
    except Exception as error:
        return False, one_line(str(error)) or type(error).__name__


def one_line(text: str) -> str:
    """The first line that says something, as a place in OpenVINO's sources does not."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return next((line for line in lines if not PLACE.fullmatch(line)), lines[0] if lines else "")


@dataclass
class Worker:
    """What the methods that `serve` offers keep between calls."""

    threads: int
    name: str = ""
    peer: Peer | None = None
    calls: dict[Row, Call] = field(default_factory=dict)
    seconds: dict[Row, float] = field(default_factory=dict)
    """Per run, as last seen."""

    def start(self, name: str) -> dict[str, str]:
        """Import the runtime; its versions."""
        self.name, self.peer = name, peers.load(name)
        return dict(self.peer.versions())

    def prepare(self, row: Row) -> float:
        """Make a row ready and run it; the seconds that a run takes, the first ones being left out."""
        assert self.peer is not None, "start comes first"
        call = self.peer.prepare(row, row_inputs(row), self.threads)
        seconds = timed(call, 1)
        if self.name == peers.OURS:
            loop(call.run, min(FIRST_RUNS, int(FIRST_SECONDS / seconds)))
        if seconds < LONG_RUN:
            warm_up(call)
        if seconds < LONG_RUN:
            seconds = min(timed(call, 1) for _ in range(SHORT_RUNS))
        elif self.name == peers.OURS:
            seconds = timed(call, 1)
        self.calls[row] = call
        self.seconds[row] = seconds
        return seconds

    def save(self, row: Row, folder: Path) -> list[Path]:
        """Write the last run's outputs to .npy files: bfloat16 as its bits, indices as int64 whatever their type."""
        paths = []
        for i, array in enumerate(self.calls[row].outputs()):
            plain = array.view(np.uint16) if array.dtype == ml_dtypes.bfloat16 else array
            paths.append(folder / f"{os.getpid()}_{i}.npy")
            np.save(paths[-1], plain.astype(np.int64) if i else plain)
        return paths

    def digest(self, row: Row) -> list[tuple[int, int]]:
        """Of each output of the last run its cells and a number that outputs with equal cells share, as `save` has."""
        found = []
        for i, array in enumerate(self.calls[row].outputs()):
            # The zeros are equal: adding one makes them the same.
            plain = array.astype(np.int64) if i else array + array.dtype.type(0)
            found.append((plain.size, zlib.crc32(np.ascontiguousarray(plain).data.cast("B") if plain.size else b"")))
        return found

    def sample(self, row: Row) -> tuple[float, int]:
        """Seconds per run, and over how many runs they were taken."""
        call, seconds, runs = self.calls[row], self.seconds[row], 1
        if seconds < LONG_RUN:
            warm_up(call)
        while True:
            runs = max(runs, math.ceil(MARGIN * SHORTEST_SAMPLE / seconds))
            seconds = self.seconds[row] = timed(call, runs)
            if seconds * runs >= SHORTEST_SAMPLE:
                return seconds, runs

    def drop(self, row: Row) -> None:
        """Let go of a row."""
        self.calls.pop(row, None)
        gc.collect()


def warm_up(call: Call) -> None:
    """Run until a processor's caches and its scheduler are as in a longer series of runs."""
    end = time.perf_counter() + WARM_UP
    while time.perf_counter() < end:
        call.run()


def timed(call: Call, runs: int) -> float:
    """Seconds per run."""
    repeat = call.repeat or functools.partial(loop, call.run)
    start = time.perf_counter()
    repeat(runs)
    return (time.perf_counter() - start) / runs


def loop(run: Callable[[], object], runs: int) -> None:
    """So many runs."""
    for _ in range(runs):
        run()
