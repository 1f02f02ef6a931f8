"""How often we lose, and by how much."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from onnx_maxpool.benchmark.grid.race import group_of_result
from onnx_maxpool.benchmark.grid.shapes import GROUPS
from onnx_maxpool.benchmark.peers import OURS, RUNTIME, SESSION
from onnx_maxpool.benchmark.results import Results, RowResult
from onnx_maxpool.benchmark.rows import count_of


@dataclass(frozen=True)
class Distribution:
    """Of (fastest peer / ours) over the rows of a group that a peer takes."""

    group: str
    threads: int
    ratios: tuple[float, ...]
    """In ascending order."""
    lost: int
    """Rows in which a peer is faster."""
    clearly_lost: int
    """Of these, where the upper quartile of the ratio is below 1 too."""
    out_of_reach: int
    """Rows that another runtime wins and no operator of ONNX Runtime can."""

    @property
    def title(self) -> str:
        """`MaxRoiPool, 2 threads`."""
        return f"{self.group}, {count_of(self.threads, 'thread')}"

    @property
    def figures(self) -> tuple[float, float, float]:
        """The least, the 5th percentile and the median."""
        return self.ratios[0], float(np.percentile(self.ratios, 5)), float(np.median(self.ratios))


def rows_by_processor(runs: Iterable[Results]) -> dict[str, list[RowResult]]:
    """The rows of all runs on each kind of processor, as ratios of one say nothing about another.

    One that was held to an instruction set is another kind.
    """
    found: dict[str, list[RowResult]] = {}
    for run in runs:
        target = run.machine.get("target")
        kind = f"{run.machine['cpu']}, held to {target}" if target else run.machine["cpu"]
        found.setdefault(kind, []).extend(run.rows)
    return found


def ratio(result: RowResult) -> float | None:
    """Fastest peer / ours; None where ours was not timed, or no peer takes the row."""
    peer = result.fastest_peer
    return result.over_ours(peer)[1] if peer is not None and OURS in result.medians else None


def clearly_lost(result: RowResult) -> bool:
    """Whether the upper quartile of the fastest peer's time over ours is below 1 too."""
    peer = result.fastest_peer
    return peer is not None and OURS in result.medians and result.over_ours(peer)[2] < 1


def out_of_reach(result: RowResult) -> bool:
    """Whether another runtime is the fastest peer, and takes no longer than a session whose node does next to nothing.

    Where that takes longer than ours, its samples were disturbed, and say nothing.
    """
    peer = result.fastest_peer
    if peer in (None, RUNTIME) or not {OURS, SESSION} <= result.medians.keys():
        return False
    return result.over_ours(peer)[1] <= result.over_ours(SESSION)[1] <= 1


def distributions(results: Iterable[RowResult]) -> list[Distribution]:
    """One for each group and number of threads that there are rows of."""
    found: dict[tuple[str, int], list[RowResult]] = {}
    for result in results:
        if ratio(result) is not None:
            found.setdefault(group_of_result(result), []).append(result)
    order = list(GROUPS)
    return [
        distribution(group, threads, found[group, threads])
        for group, threads in sorted(found, key=lambda key: (order.index(key[0]), -key[1]))
    ]


def distribution(group: str, threads: int, results: Sequence[RowResult]) -> Distribution:
    """Of rows of one group."""
    ratios = sorted(value for result in results if (value := ratio(result)) is not None)
    lost = sum(value < 1 for value in ratios)
    clearly, unreachable = sum(map(clearly_lost, results)), sum(map(out_of_reach, results))
    return Distribution(group, threads, tuple(ratios), lost, clearly, unreachable)


def lost(results: Iterable[RowResult]) -> list[RowResult]:
    """All rows in which a peer is faster, those that are lost the most first."""
    found = [(value, result) for result in results if (value := ratio(result)) is not None and value < 1]
    return [result for _, result in sorted(found, key=lambda pair: pair[0])]


def worst(results: Iterable[RowResult], group: str, threads: int, count: int) -> list[RowResult]:
    """The rows of a group with the least ratios, the least first."""
    found = [(value, result) for result in results if (value := ratio(result)) is not None]
    own = [(value, result) for value, result in found if group_of_result(result) == (group, threads)]
    return [result for _, result in sorted(own, key=lambda pair: pair[0])[:count]]
