"""Medians, quartiles and ratios."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds per run."""

    median: float
    lower: float
    """The first quartile."""
    upper: float
    """The third quartile."""
    samples: int
    runs: int
    """In the sample that had fewest; more than 1 where a run is short."""

    @property
    def spread(self) -> float:
        """Half the distance between the quartiles, in parts of the median."""
        return (self.upper - self.lower) / 2 / self.median


def timing(samples: Sequence[tuple[float, int]]) -> Timing:
    """Of samples `(seconds per run, runs)`, one at least."""
    seconds = [sample[0] for sample in samples]
    lower, median, upper = quartiles(seconds)
    return Timing(median, lower, upper, len(samples), min(runs for _, runs in samples))


def quartiles(values: Sequence[float]) -> tuple[float, float, float]:
    """The quartiles, with the least value as the 0th and the greatest as the 4th, and linear in between."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    lower, median, upper = statistics.quantiles(values, n=4, method="inclusive")
    return lower, median, upper
