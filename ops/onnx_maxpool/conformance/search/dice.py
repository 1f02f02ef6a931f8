"""Numbers from a seed, in the few ways in which cases need them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")


class Dice:
    """The same seeds give the same numbers."""

    def __init__(self, *seeds: int) -> None:
        self.rng = np.random.default_rng(seeds)

    def between(self, low: int, high: int) -> int:
        """A number from `low` to `high`, both of them included."""
        return int(self.rng.integers(low, high, endpoint=True))

    def one_of(self, items: Sequence[Item]) -> Item:
        """Any of them."""
        return items[self.between(0, len(items) - 1)]

    def up_to(self, limits: Sequence[int]) -> int:
        """A number from 1 to one of the limits: small ones come more often, large ones do come."""
        return self.between(1, self.one_of(limits))

    def one_in(self, count: int) -> bool:
        """True once in so many times."""
        return self.between(1, count) == 1

    def several(self, items: Sequence[Item], count: int) -> list[Item]:
        """Some of the items, none twice."""
        chosen = self.rng.permutation(len(items))[:count]
        return [items[i] for i in chosen]

    def scale(self) -> float:
        """A scale that is no power of two, from about 1/6000 to 2/3."""
        return float(np.float32(self.between(1, 2**12) / 2**11 / 3))
