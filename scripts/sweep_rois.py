"""Looks for steps in the time of MaxRoiPool: sweeps one size finely while the others stay, and compares neighbours.

    python scripts/sweep_rois.py [THREADS] [SWEEP ...]

A step is where, from one point to the next, time grows by more than 1.3 times as much as the work does, or falls by
more than a tenth. Work is the cells that windows cover and the bins, so with few of either, where a run has a cost of
its own, time grows by less. Prints each sweep's points and steps; the exit code is the number of steps, 100 at most.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

import numpy as np
from rich.console import Console

from onnx_maxpool.benchmark.inputs import agreed, case_inputs
from onnx_maxpool.benchmark.peers import Call, ours
from onnx_maxpool.benchmark.rows import RoiCase, Row

GROWS, FALLS = 1.3, 0.9
SECONDS, MOST_RUNS, ATTEMPTS = 0.15, 200, 3
BASE = RoiCase(64, 38, 50, 300, 7, 1.0, cells=(12, 16))
LARGE = RoiCase(64, 200, 304, 100, 7, 1.0, cells=(28, 28))


def geometric(first: int, last: int, factor: float) -> list[int]:
    """Integers from first to last, each larger than the one before by about the factor."""
    count = round(np.log(last / first) / np.log(factor)) + 1
    return sorted({round(first * factor**i) for i in range(count)})


def sweeps() -> dict[str, list[RoiCase]]:
    """The points of each sweep, by what they sweep."""
    return {
        "ROIs": [replace(BASE, rois=n) for n in geometric(1, 4000, 1.2)],
        "ROIs, large map": [replace(LARGE, rois=n) for n in geometric(1, 1500, 1.25)],
        "ROIs, to 1x1": [replace(BASE, rois=n, pooled=1, cells=(3, 3)) for n in geometric(1, 20000, 1.3)],
        "channels": [replace(BASE, channels=n, rois=60) for n in geometric(16, 2048, 1.2)],
        "extents": [replace(LARGE, cells=(n, n)) for n in geometric(1, 200, 1.15) if agreed(np.array(n), 7)],
        "map": [replace(BASE, height=n, width=n) for n in geometric(16, 400, 1.12)],
        "bins": [replace(BASE, pooled=n, rois=100, cells=(28, 28)) for n in (1, 2, 4, 7, 14, 28)],
    }


def work(case: RoiCase) -> float:
    """Cells and bins."""
    height, width = case.cells or (case.height, case.width)
    cells = max(height, case.pooled) * max(width, case.pooled)
    return float(case.rois * case.channels * (cells + 4 * case.pooled**2) + case.channels * case.height * case.width)


def prepared(case: RoiCase, threads: int) -> Call:
    """The point, ready to run."""
    random = np.random.default_rng(case.rois)
    row = Row(case)
    return ours.prepare(row, case_inputs(case, np.dtype(np.float32), random), threads)


def seconds(call: Call) -> float:
    """The median of a moment's runs: the least would hide what caches do."""
    taken: list[float] = []
    begin = time.perf_counter()
    while len(taken) < MOST_RUNS and (len(taken) < 5 or time.perf_counter() - begin < SECONDS):
        start = time.perf_counter()
        call.run()
        taken.append(time.perf_counter() - start)
    return float(np.median(taken[1:]))


def is_step(before: RoiCase, now: RoiCase, before_seconds: float, now_seconds: float) -> bool:
    """Whether time grows by too much, or falls."""
    grown = now_seconds / before_seconds
    return grown > GROWS * work(now) / work(before) or grown < FALLS


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    console, steps = Console(highlight=False, width=120), 0
    for name, points in sweeps().items():
        if sys.argv[2:] and name not in sys.argv[2:]:
            continue
        console.print(f"{name}, {threads} threads")
        before: tuple[RoiCase, float] | None = None
        for case in points:
            call = prepared(case, threads)
            taken = seconds(call)
            # Others use the machine, too: a step is there only if it is seen again and again.
            for _ in range(ATTEMPTS - 1):
                if before is None or not is_step(before[0], case, before[1], taken):
                    break
                before = before[0], min(max(before[1], seconds(prepared(before[0], threads))), 1.5 * before[1])
                taken = min(taken, seconds(call))
            step = before is not None and is_step(before[0], case, before[1], taken)
            steps += step
            note = ""
            if before is not None:
                ratio = taken / before[1] / (work(case) / work(before[0]))
                note = f"{ratio:5.2f} of the work's growth{'  STEP' if step else ''}"
            console.print(f"  {case!s:48} {taken * 1e6:10.1f} µs  {note}")
            before = case, taken
    console.print(f"{steps} steps")
    raise SystemExit(min(steps, 100))


if __name__ == "__main__":
    main()
