"""Look for steps in our operators' time: sweep each size finely while the others stay, and compare neighbours.

    python scripts/sweep.py --operator MaxPooling1 --threads 1 --json build/sweep.jsonl --plot build/sweep

A step is where, from one point to the next, time grows by more than 1.3 times as much as the work does, or falls by a
tenth more than any part of the work. Work is the cells that are read, covered by windows and written
(`sweep_points.py`). What looks like a step is measured again, in turns with the point before it, and once more in the
end; all tries have to show it. It is none if NumPy takes as much longer to read the same lines of memory and to write
as many bytes: then the memory of one point has left a cache, or meets in too few places of it. The sweeps go around
fixed cases, and with --seed around rows of the benchmark's grid too. On one thread processor time is taken, so other
programs disturb little; several threads need a machine with nothing else to do. The exit code is 1 if there is a step.
"""

from __future__ import annotations

import ctypes
import json
import math
import statistics
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.console import Console
from sweep_points import Sweep, Work, known_groups, lines_of_rois, sweeps, work

from onnx_maxpool.benchmark.inputs import case_inputs
from onnx_maxpool.benchmark.peers import Call, ours
from onnx_maxpool.benchmark.results import timing
from onnx_maxpool.benchmark.rows import RoiCase, Row, count_of
from onnx_maxpool.benchmark.worker import FIRST_RUNS
from onnx_maxpool.machine import cpus, machine
from onnx_maxpool.types import Array, dtype_of

GROWS, FALLS = 1.3, 0.9
SUSPECT_GROWS, SUSPECT_FALLS = 1.2, 0.95
"""From here on a pair is measured again: the first times are rough."""
SAMPLES, TRIES = 5, 3
SAMPLE = 1.5e-3
"""Seconds that a sample takes at least."""
PAGE, WORD = 4096, 8
"""Bytes."""
CHANNELS, LINES = 16, 512
"""That NumPy reads at a time."""
REST = 0.05
"""Seconds until the threads of another session have stopped to wait actively for work."""


@dataclass(frozen=True)
class Point:
    """What was found."""

    group: str
    base: str
    dimension: str
    at: float
    name: str
    threads: int
    microseconds: tuple[float, float, float]
    """The quartiles."""
    growth: float | None
    """Of time, over the point before."""
    of_work: float | None
    """The growth of work, likewise,"""
    of_least: float | None
    """and of that part of it which grows the least, or falls the most."""
    of_traffic: float | None
    """And of what NumPy takes to read and write the same memory, where this was measured."""
    step: bool


@dataclass
class Prepared:
    """A point that can be timed."""

    row: Row
    threads: int
    call: Call
    inputs: Mapping[str, Array]
    work: Work
    """Of each thread."""
    clock: Callable[[], float]
    runs: int = 1

    def sample(self) -> tuple[float, int]:
        """Seconds per run, over so many runs."""
        self.call.run()
        while True:
            start = self.clock()
            for _ in range(self.runs):
                self.call.run()
            taken = self.clock() - start
            if taken >= SAMPLE:
                return taken / self.runs, self.runs
            self.runs = max(self.runs + 1, math.ceil(1.2 * SAMPLE * self.runs / max(taken, 1e-6)))

    def samples(self) -> list[tuple[float, int]]:
        """Some, one after the other."""
        self.call.run()
        return [self.sample() for _ in range(SAMPLES)]

    def traffic(self) -> Prepared:
        """NumPy's reading of the same memory and its writing of as many bytes, on one thread."""
        size = dtype_of(self.row.type).itemsize
        read = reading_of(self, math.ceil(self.work.read * size / WORD))
        written = np.ones(math.ceil(self.work.written * size / WORD), np.int64)

        def run() -> None:
            read()
            written.fill(0)

        return replace(self, call=Call(run, self.call.outputs), clock=time.thread_time, runs=1)


def reading_of(point: Prepared, words: int) -> Callable[[], object]:
    """A thread's part: so many words, one after the other; of ROIs a cell of each of their lines, as channels lie.

    So it takes longer where a map has left a cache of which ROIs read a part, and where channels lie a power of two
    apart, so that their lines meet in one set of a cache.
    """
    case, inputs = point.row.case, point.inputs
    if not isinstance(case, RoiCase):
        source = np.ones(words, np.int64)
        return lambda: source.max(initial=0)
    chunks = [
        (channels.reshape(len(channels), -1).T, part)
        for x, lines in zip(inputs["X"], lines_of_rois(case, inputs), strict=True)
        for channels in (x[first : first + CHANNELS] for first in range(0, len(x), CHANNELS))
        for part in np.array_split(lines, math.ceil(len(lines) / LINES) or 1)
    ]

    def read() -> None:
        for cells, part in chunks[:: point.threads]:
            cells[part]

    return read


def prepared(row: Row, threads: int, seed: int, clock: Callable[[], float]) -> Prepared:
    """The point, ready to run."""
    random = np.random.default_rng([seed, zlib.crc32(row.name.encode())])
    inputs = case_inputs(row.case, dtype_of(row.type), random)
    inputs = {name: placed(array) for name, array in inputs.items()}
    call = ours.prepare(row, inputs, threads)
    for _ in range(FIRST_RUNS):
        call.run()
    whole = work(row.case, inputs)
    share = Work(whole.read / threads, whole.written / threads, whole.touched / threads)
    return Prepared(row, threads, call, inputs, share, clock)


def keep_apart() -> None:
    """Give each large array, and each output, pages that are new.

    Else glibc takes memory that was used before, in which some points took 1.3 times as long as their neighbours.
    """
    most_of_heap = -3  # M_MMAP_THRESHOLD
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None
    if mallopt is not None:
        mallopt(most_of_heap, 1 << 17)


def placed(array: Array) -> Array:
    """A copy in the middle of a page. The session puts large outputs near the begin of one.

    Where an input and an output are that far apart at every moment, they do not drive each other out of the first
    cache. With NumPy's own addresses some points of a sweep took 1.5 times as long as their neighbours for that.
    """
    memory = np.empty(array.nbytes + 2 * PAGE, np.uint8)
    start = PAGE // 2 - memory.ctypes.data % PAGE
    copy = memory[start % PAGE :][: array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def is_step(growth: float, of_work: float, of_least: float) -> bool:
    """Whether time grows by too much, or falls though no part of the work does so by as much."""
    return growth > GROWS * of_work or growth < FALLS * min(1, of_least)


def is_suspect(growth: float, of_work: float, of_least: float) -> bool:
    """Whether a pair should be measured again."""
    return growth > SUSPECT_GROWS * of_work or growth < SUSPECT_FALLS * min(1, of_least)


def in_turns(before: Prepared, now: Prepared) -> tuple[list[tuple[float, int]], list[tuple[float, int]]]:
    """Samples of two points."""
    taken: tuple[list[tuple[float, int]], list[tuple[float, int]]] = [], []
    for turn in range(SAMPLES):
        for i in (0, 1) if turn % 2 else (1, 0):
            if now.threads > 1 or before.threads > 1:
                time.sleep(REST)
            taken[i].append((before, now)[i].sample())
    return taken


def swept(sweep: Sweep, seed: int) -> Iterator[Point]:
    """The points of a sweep, each compared with the one before it."""
    before: Prepared | None = None
    earlier: list[tuple[float, int]] = []
    for at, row, threads in sweep.points:
        now = prepared(row, threads, seed, clock_of(sweep))
        taken = now.samples()
        growth = of_work = of_least = of_traffic = None
        step = False
        if before is not None:
            of_work, of_least = now.work.growth(before.work)
            growth = median(taken) / median(earlier)
            tries: list[float] = []
            while is_suspect(growth, of_work, of_least) and len(tries) < TRIES:
                earlier, taken = in_turns(before, now)
                growth = median(taken) / median(earlier)
                tries.append(growth)
            growth = statistics.median(tries) if tries else growth
            step = len(tries) == TRIES and all(is_step(each, of_work, of_least) for each in tries)
            if step and growth > of_work:
                traffic = in_turns(before.traffic(), now.traffic())
                of_traffic = median(traffic[1]) / median(traffic[0])
                step = is_step(growth, max(of_work, of_traffic), of_least)
        names = sweep.group, sweep.base.name, sweep.dimension, float(at), row.name, threads
        yield Point(*names, quartiles(taken), growth, of_work, of_least, of_traffic, step)
        before, earlier = now, taken


def once_more(sweep: Sweep, i: int, found: Point, seed: int) -> Point:
    """A step, measured anew with the point before it: a neighbour on the machine may have been what disturbed it."""
    assert found.of_work is not None, "the first point is no step"
    assert found.of_least is not None
    before, now = (prepared(row, threads, seed, clock_of(sweep)) for _, row, threads in sweep.points[i - 1 : i + 1])
    earlier, taken = in_turns(before, now)
    growth = median(taken) / median(earlier)
    step = is_step(growth, max(found.of_work, found.of_traffic or 0), found.of_least)
    return replace(found, microseconds=quartiles(taken), growth=growth, step=step)


def quartiles(samples: Sequence[tuple[float, int]]) -> tuple[float, float, float]:
    """In microseconds per run."""
    found = timing(samples)
    return 1e6 * found.lower, 1e6 * found.median, 1e6 * found.upper


def clock_of(sweep: Sweep) -> Callable[[], float]:
    """Processor time where one thread works."""
    return time.thread_time if all(threads == 1 for *_, threads in sweep.points) else time.perf_counter


def median(samples: Sequence[tuple[float, int]]) -> float:
    """Seconds per run."""
    return timing(samples).median


def line(point: Point) -> str:
    """A point for the log."""
    note = ""
    if point.growth is not None and point.of_work is not None:
        note = f"x{point.growth:.2f}, work x{point.of_work:.2f}{'  STEP' if point.step else ''}"
    what = f"{point.name}, {count_of(point.threads, 'thread')}"
    return f"  {what:72} {point.microseconds[1]:10.1f} us  {note}"


def main(
    operator: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Only operators with this text in their name.")
    ] = None,
    dimension: Annotated[
        list[str] | None, typer.Option(metavar="TEXT", help="Only dimensions with this text in their name.")
    ] = None,
    threads: Annotated[list[int] | None, typer.Option(min=1, help="Numbers of threads; default: 1 to all.")] = None,
    element_type: Annotated[str, typer.Option("--type", help="The element type of the fixed cases.")] = "float",
    seed: Annotated[int | None, typer.Option(min=0, help="Sweep around rows of the grid with this seed too.")] = None,
    bases: Annotated[int, typer.Option(min=0, help="So many of them for each operator.")] = 3,
    seconds: Annotated[float | None, typer.Option(min=0, help="Begin no sweep after so many seconds.")] = None,
    as_json: Annotated[Path | None, typer.Option("--json", help="Write the points here, one in each line.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw a picture for each operator in this folder.")] = None,
    every: Annotated[bool, typer.Option("--every", help="Print every point, not only steps.")] = False,
) -> None:
    """Sweep sizes, and print steps."""
    counts = threads or list(range(1, cpus() + 1))
    log, points, begin, whole = Console(highlight=False, soft_wrap=True), [], time.monotonic(), True
    keep_apart()
    groups = known_groups(operator or ())
    wanted = [
        each
        for each in sweeps(groups, element_type, counts, seed, bases)
        if not dimension or any(text in each.dimension for text in dimension)
    ]
    if not wanted:
        raise typer.BadParameter("no sweep has these texts in its operator and its dimension")
    for number, sweep in enumerate(wanted):
        if seconds is not None and time.monotonic() - begin > seconds:
            log.print(f"{number} of {len(wanted)} sweeps: the time is over", markup=False)
            whole = False
            break
        found = list(swept(sweep, seed or 0))
        points += found
        steps = sum(each.step for each in found)
        threads_of = "" if sweep.dimension == "threads" else f", {count_of(found[0].threads, 'thread')}"
        title = f"{sweep.dimension} of {sweep.base.name}{threads_of}: {count_of(len(found), 'point')}"
        log.print(f"[{number + 1}/{len(wanted)}] {title}, {count_of(steps, 'step')}", markup=False)
        for i, each in enumerate(found):
            if every or each.step or (i + 1 < len(found) and found[i + 1].step):
                log.print(line(each), markup=False)
        if as_json is not None:
            write(points, as_json, seed)
    first = 0
    for sweep in wanted:
        for i, each in enumerate(points[first : first + len(sweep.points)]):
            if each.step:
                points[first + i] = once_more(sweep, i, each, seed or 0)
        first += len(sweep.points)
    if as_json is not None:
        write(points, as_json, seed)
    steps = sum(each.step for each in points)
    log.print(
        *(["Measured once more:"] if steps else []),
        *(line(each) for each in points if each.step),
        sep="\n",
        markup=False,
    )
    log.print(summary(points) + ("" if whole else ", not all swept"))
    if plot is not None:
        from sweep_plot import write_pictures  # matplotlib, which is an extra's

        for path in write_pictures([asdict(each) for each in points], plot):
            log.print(f"wrote {path}", markup=False)
    raise typer.Exit(1 if steps else 0)


def summary(points: Sequence[Point]) -> str:
    """How many steps there are, and of which kind."""
    steps = [each for each in points if each.step]
    rises = sum((each.growth or 0) > (each.of_work or 0) for each in steps)
    kinds = f": time grows by too much at {rises}, falls at {len(steps) - rises}" if steps else ""
    return f"{count_of(len(steps), 'step')} among {count_of(len(points), 'point')}{kinds}"


def write(points: Sequence[Point], path: Path, seed: int | None) -> None:
    """The run, then each point."""
    run = {"record": "run", "machine": machine(), "seed": seed}
    part = path.with_name(f"{path.name}.part")
    records = (run, *({"record": "point", **asdict(each)} for each in points))
    part.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    part.replace(path)


if __name__ == "__main__":
    typer.run(main)
