"""Time rows in every runtime that there is: outputs first, then turn by turn."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from onnx_maxpool.benchmark.inputs import row_inputs
from onnx_maxpool.benchmark.peers import OURS, TRAFFIC
from onnx_maxpool.benchmark.processes import GoneError, RefusalError, Runtime
from onnx_maxpool.benchmark.results import Entry, Results, RowResult, timing
from onnx_maxpool.benchmark.rows import Row, count_of, input_bytes, output_bytes
from onnx_maxpool.difference import first_difference

PATIENCE = 15.0
"""Seconds for one runtime's samples of one row: one that is too slow for all of them is timed less often."""
NARROW_TYPES = ("float16", "bfloat16")


@dataclass
class Contestant:
    """A runtime with a row made ready in it, and what was measured so far."""

    runtime: Runtime
    row: Row
    entry: Entry
    wanted: int
    """Samples."""
    samples: list[tuple[float, int]] = field(default_factory=list)

    def take_turn(self, turn: int) -> None:
        """A sample, if one is still wanted."""
        if turn >= self.wanted or self.entry.refusal is not None:
            return
        try:
            self.samples.append(self.runtime.ask("sample", self.row))
        except RefusalError as refusal:
            self.refuse(refusal)

    def refuse(self, refusal: RefusalError) -> None:
        """Take no further part."""
        self.entry.refusal = str(refusal)
        self.samples.clear()

    def leave(self) -> None:
        """Give the row's memory back."""
        with suppress(RefusalError):
            self.runtime.ask("drop", self.row)


@dataclass
class Runtimes:
    """The processes, started when they are first asked for."""

    results: Results
    """Gets the versions, and the reasons of those that are absent."""
    running: dict[tuple[str, int, str], Runtime] = field(default_factory=dict)

    def get(self, name: str, threads: int, type_: str = "") -> Runtime:
        """The process of a peer on so many threads; raises RefusalError where its runtime is not installed.

        A row that is timed beside itself in another element type has a process for either: the threads of a session
        go on spinning for a while, and would do so in the other's time.
        """
        if name in self.results.absent:
            raise RefusalError(self.results.absent[name])
        found = self.running.get((name, threads, type_))
        if found is None or not found.alive:
            try:
                found = self.running[name, threads, type_] = Runtime(name, threads)
            except GoneError:
                raise
            except RefusalError as refusal:
                self.results.absent[name] = str(refusal)
                raise
            self.results.versions.update(found.versions)
        return found

    def close(self) -> None:
        """End them all."""
        for runtime in self.running.values():
            runtime.close()


def measure(
    results: Results, rows: Sequence[Row], tell: Callable[[str], None], timed: Callable[[RowResult], None]
) -> None:
    """Time every row as `results.settings` say; `tell` hears of each before it begins, `timed` what was found."""
    for threads in results.settings["threads"]:
        runtimes = Runtimes(results)
        try:
            for row in rows:
                tell(f"{row.name}, {count_of(threads, 'thread')}")
                results.rows.append(measure_row(runtimes, row, threads))
                timed(results.rows[-1])
        finally:
            runtimes.close()


def measure_row(runtimes: Runtimes, row: Row, threads: int) -> RowResult:
    """One row on so many threads, in our library and in every peer that takes it.

    Ours is timed again beside that, in the same turns: on one thread, and in float where the row is narrower. Where our
    library does not run the row, nothing is timed.
    """
    result = RowResult(row, threads, input_bytes(row_inputs(row)), output_bytes(row))
    samples = runtimes.results.settings["samples"]
    entered: list[Contestant] = []

    def enter(name: str, threads: int = threads, type_: str = "") -> Entry:
        entry = Entry()
        row = replace(result.row, type=type_ or result.row.type)
        try:
            runtime = runtimes.get(name, threads, type_)
            seconds = runtime.ask("prepare", row)
            entered.append(Contestant(runtime, row, entry, wanted=max(1, min(samples, int(PATIENCE / seconds)))))
        except RefusalError as refusal:
            entry.refusal = str(refusal)
        return entry

    try:
        result.entries[OURS] = enter(OURS)
        if not entered:
            return result
        for name in runtimes.results.settings["peers"]:
            result.entries[name] = enter(name)
        try:
            compare(entered[0], entered[1:])
        except RefusalError as refusal:  # our own process ended, or cannot write: the row is a failure
            entered[0].refuse(refusal)
            return result
        result.entries[TRAFFIC] = enter(TRAFFIC)
        if threads > 1:
            result.ours["1 thread"] = enter(OURS, threads=1)
        if row.type in NARROW_TYPES:
            result.ours["float"] = enter(OURS, type_="float")
        take_turns(entered, samples)
    finally:
        for contestant in entered:
            contestant.leave()
    return result


def compare(ours: Contestant, peers: Sequence[Contestant]) -> None:
    """Count the cells in which each peer's outputs are not ours."""
    with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as folder:
        expected = ours.runtime.ask("save", ours.row, Path(folder))
        for peer in peers:
            try:
                actual = peer.runtime.ask("save", peer.row, Path(folder))
                peer.entry.differing, peer.entry.cells = differing_cells(expected, actual)
            except RefusalError as refusal:
                peer.refuse(refusal)
                continue
            for path in actual:
                path.unlink()


def differing_cells(expected: Sequence[Path], actual: Sequence[Path]) -> tuple[int, int]:
    """How many cells of saved outputs differ, and of how many. Raises RefusalError where types or shapes do."""
    differing = cells = 0
    for ours, theirs in zip(expected, actual, strict=True):
        array = np.load(ours, mmap_mode="r")
        difference = first_difference(array, np.load(theirs, mmap_mode="r"))
        if difference is not None and difference.index is None:
            raise RefusalError(f"its output's {difference}")
        differing += difference.count if difference is not None else 0
        cells += array.size
    return differing, cells


def take_turns(contestants: Sequence[Contestant], rounds: int) -> None:
    """A sample of each in every round, in an order that moves on by one from round to round."""
    for turn in range(rounds):
        first = turn % len(contestants)
        for contestant in (*contestants[first:], *contestants[:first]):
            contestant.take_turn(turn)
    for contestant in contestants:
        if contestant.samples:
            contestant.entry.timing = timing(contestant.samples)
