"""Numbers that look random and never change.

NumPy promises a generator's stream only within limits, and models must build byte for byte alike for ever. So every
value is the hash of its own position: splitmix64, in wrapping 64-bit integers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
FIRST = np.uint64(0xBF58476D1CE4E5B9)
SECOND = np.uint64(0x94D049BB133111EB)


def splitmix64(seed: int, count: int) -> Hashes:
    """The first `count` numbers of the splitmix64 generator started at `seed`, uint64 (count,)."""
    z = np.arange(1, count + 1, dtype=np.uint64)
    z *= GOLDEN
    z += np.uint64(seed)
    z ^= z >> np.uint64(30)
    z *= FIRST
    z ^= z >> np.uint64(27)
    z *= SECOND
    z ^= z >> np.uint64(31)
    return z


def integers(seed: int, shape: tuple[int, ...], low: int, high: int) -> npt.NDArray[np.int64]:
    """Integers in `[low, high)`, int64 of the given shape; even for ranges far below 2^64."""
    drawn = splitmix64(seed, int(np.prod(shape))) % np.uint64(high - low)
    return drawn.astype(np.int64).reshape(shape) + low


def quarters(seed: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    """Multiples of 1/4 in `[-16, 16)`: every float type, bfloat16 included, holds them exactly."""
    return (integers(seed, shape, -64, 64) / 4).astype(dtype)
