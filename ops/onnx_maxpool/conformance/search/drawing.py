"""What a search draws from a seed: numbers, and the cells of maps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, TypeVar

import ml_dtypes
import numpy as np

from onnx_maxpool.types import Array

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


FLOAT_TRAITS = ("fine", "few", "negative", "NaN", "infinite", "all -inf", "zeros of both signs", "extreme", "wide")
INTEGER_TRAITS = ("fine", "few", "extreme", "wide")


def traits_of(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """What cells of a type may have in them beyond coarse numbers."""
    return INTEGER_TRAITS if dtype.kind in "iu" else FLOAT_TRAITS


def cells(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], traits: Collection[str]) -> Array:
    """A map. Without a trait its numbers are whole and have at most 7 bits: every type holds them exactly.

    A backend that computes in another precision, or takes NaN otherwise, is then still right in the maps without that
    trait, where its other faults show.
    """
    if dtype.kind in "iu":
        return _integers(rng, shape, dtype, traits)
    x = _floats(rng, shape, dtype, traits)
    for trait, numbers in (
        ("zeros of both signs", (0.0, -0.0)),
        ("infinite", (np.inf, -np.inf)),
        ("all -inf", (-np.inf,)),
        ("NaN", (np.nan,)),
    ):
        if trait in traits:
            share = 0.9 if trait == "all -inf" else float(rng.choice([0.02, 0.1, 0.4]))
            chosen = rng.random(shape) < share
            x[chosen] = rng.choice(np.array(numbers), int(chosen.sum())).astype(dtype)
    return x


def _integers(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], traits: Collection[str]) -> Array:
    info = np.iinfo(dtype)
    if "few" in traits:
        return rng.integers(max(info.min, -2), 3, shape).astype(dtype)
    whole_range = "fine" in traits or dtype.itemsize == 1
    low, high = (info.min, info.max) if whole_range else (max(info.min, -127), 127)
    x: Array = rng.integers(low, high, shape, dtype=dtype, endpoint=True)
    if "wide" in traits and not whole_range:  # of every number of bits as many
        x = rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
        x >>= rng.integers(0, 8 * dtype.itemsize, shape).astype(dtype)
    if "extreme" in traits:
        chosen = rng.random(shape) < 0.3
        x[chosen] = rng.choice(np.array([info.min, info.max], dtype), int(chosen.sum()))
    return x


def _floats(rng: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], traits: Collection[str]) -> Array:
    x: Any
    if "few" in traits:
        x = rng.integers(-2, 3, shape)
    elif "fine" in traits:
        x = rng.standard_normal(shape) * 100
    else:
        x = rng.integers(-127, 128, shape)
    limits = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
    if "wide" in traits:  # of every exponent as many
        smallest, largest = np.log2([float(limits.smallest_subnormal), float(limits.max)])
        x = np.exp2(rng.uniform(smallest, largest, shape)) * rng.choice([1, -1], shape)
    if "negative" in traits:
        x = -np.abs(x) - 1
    x = x.astype(dtype)
    if "extreme" in traits:
        numbers = [float(v) for v in (limits.smallest_subnormal, limits.smallest_normal, limits.max)]
        chosen = rng.random(shape) < float(rng.choice([0.1, 0.9]))
        x[chosen] = rng.choice(np.array([*numbers, *(-v for v in numbers)]), int(chosen.sum())).astype(dtype)
    return np.asarray(x)
