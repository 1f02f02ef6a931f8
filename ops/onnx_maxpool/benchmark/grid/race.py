"""A row in every runtime that takes it, in about half a second, or two and a half where the race is close.

As in `measure`, runtimes are processes that take turns. What is slower than three times the fastest peer is timed only
once: it does not decide.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence

from onnx_maxpool.benchmark.grid.shapes import drawn, group_of
from onnx_maxpool.benchmark.measure import Contestant, Runtimes, compare
from onnx_maxpool.benchmark.peers import OURS, SESSION
from onnx_maxpool.benchmark.processes import RefusalError
from onnx_maxpool.benchmark.results import Entry, Quartiles, Results, RowResult, quartiles, timing
from onnx_maxpool.benchmark.rows import Row

SECONDS_PER_ROW = 0.3
"""For the samples; to make the row ready takes about as long."""
LEAST_ROUNDS, MOST_ROUNDS = 3, 15
CLOSE = 2.0
"""Times ours: where the fastest peer takes no longer, rounds go on, as the machine may have been slower in one's turns
than in the other's. Those rows decide the least ratio, which would be the worst of all disturbances otherwise."""
SECONDS_PER_CLOSE_ROW = 2.0
MOST_CLOSE_ROUNDS = 60
BEHIND = 3.0
"""Times the fastest peer's time: a peer that took longer when it was made ready is not timed again."""


def grid_rows(groups: Sequence[str], seed: int, count: int, patterns: Sequence[str] = ()) -> list[Row]:
    """The first rows of each group, in turns; with patterns, those that have one of them in their name."""
    columns = [drawn(group, seed, count) for group in groups]
    found = [row for turn in zip(*columns, strict=True) for row in turn]
    return [row for row in found if not patterns or any(p.casefold() in row.name.casefold() for p in patterns)]


def race(
    results: Results,
    rows: Iterable[Row],
    threads: Sequence[int],
    timed: Callable[[RowResult], None],
    seconds: float | None = None,
) -> None:
    """Time every row on each number of threads, until so many seconds are over; `timed` hears of each.

    Rows that `results` have are not timed again.
    """
    done = {(result.row.name, result.threads) for result in results.rows}
    end = time.monotonic() + seconds if seconds is not None else None
    runtimes = Runtimes(results)
    try:
        for row in rows:
            for count in threads:
                if (row.name, count) in done:
                    continue
                if end is not None and time.monotonic() > end:
                    return
                results.rows.append(race_row(runtimes, row, count))
                timed(results.rows[-1])
    finally:
        runtimes.close()


def race_row(runtimes: Runtimes, row: Row, threads: int) -> RowResult:
    """One row: made ready everywhere, outputs compared, then timed in turns, and what the session alone takes."""
    result = RowResult(row, threads, 0, 0)  # no report of the grid shows bytes, and to make the inputs takes time
    entered: list[Contestant] = []

    def enter(*names: str) -> Sequence[Contestant]:
        before = len(entered)
        for name in names:
            entry = result.entries[name] = Entry()
            try:
                runtime = runtimes.get(name, threads)
                entered.append(Contestant(runtime, row, entry, MOST_CLOSE_ROUNDS, [(runtime.ask("prepare", row), 1)]))
            except RefusalError as refusal:
                entry.refusal = str(refusal)
        return entered[before:]

    try:
        if not (ours := enter(OURS)):
            return result
        peers = enter(*runtimes.results.settings["peers"])
        try:
            compare_digests(ours[0], peers)
        except RefusalError as refusal:  # our own process ended: the row is a failure, and the next one goes on
            ours[0].refuse(refusal)
            return result
        result.times_ours = take_turns(ours[0], [peer for peer in peers if peer.entry.refusal is None], enter(SESSION))
    finally:
        for contestant in entered:
            contestant.leave()
    return result


def compare_digests(ours: Contestant, peers: Sequence[Contestant]) -> None:
    """Count the cells that differ, where any does."""
    expected = ours.runtime.ask("digest", ours.row)
    for peer in peers:
        try:
            if peer.runtime.ask("digest", peer.row) == expected:
                peer.entry.cells = sum(cells for cells, _ in expected)
                continue
        except RefusalError as refusal:
            peer.refuse(refusal)
            continue
        samples = list(peer.samples)
        compare(ours, [peer])
        peer.samples[:] = samples if peer.entry.refusal is None else []


def take_turns(
    ours: Contestant, peers: Sequence[Contestant], others: Sequence[Contestant] = ()
) -> dict[str, Quartiles]:
    """Samples of ours, of whoever may be the fastest peer and of others, until the row's time is over.

    Returns RowResult.times_ours.
    """
    fastest = min((peer.samples[0][0] for peer in peers), default=0.0)
    racing = [peer for peer in peers if peer.samples[0][0] <= BEHIND * fastest]
    active = [ours, *racing, *others]
    for contestant in active:
        contestant.samples.clear()
    take_rounds(active, range(MOST_ROUNDS), SECONDS_PER_ROW)
    if is_close(ours, racing):
        take_rounds(active, range(len(ours.samples), MOST_CLOSE_ROUNDS), SECONDS_PER_CLOSE_ROW)
    for contestant in (ours, *peers, *others):
        if contestant.samples:
            contestant.entry.timing = timing(contestant.samples)
    raced = [contestant for contestant in active[1:] if contestant.samples and ours.samples]
    return {contestant.runtime.name: ratio_of_rounds(contestant, ours) for contestant in raced}


def ratio_of_rounds(other: Contestant, ours: Contestant) -> Quartiles:
    """The other's time over ours, of the two in each round."""
    return quartiles([theirs / own for (theirs, _), (own, _) in zip(other.samples, ours.samples, strict=True)])


def take_rounds(active: Sequence[Contestant], rounds: range, seconds: float) -> None:
    """A sample of each in every round, in an order that moves on by one, until so many seconds are over."""
    end = time.monotonic() + seconds
    for turn in rounds:
        if turn >= LEAST_ROUNDS and time.monotonic() > end:
            break
        start = turn % len(active)
        for contestant in (*active[start:], *active[:start]):
            contestant.take_turn(turn)


def is_close(ours: Contestant, peers: Sequence[Contestant]) -> bool:
    """Whether a peer's median is near ours, or less."""
    medians = [timing(peer.samples).median for peer in peers if peer.samples]
    return bool(ours.samples and medians) and min(medians) <= CLOSE * timing(ours.samples).median


def group_of_result(result: RowResult) -> tuple[str, int]:
    """Where a report has a row: its group and the number of threads."""
    return group_of(result.row.case), result.threads
