"""Rows drawn at random: the same for a seed on every machine. The first ones are the same however many are drawn."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from onnx_maxpool.benchmark.inputs import agreed
from onnx_maxpool.benchmark.rows import AdaptiveCase, Case, RoiCase, Row, SlidingCase, outputs
from onnx_maxpool.operators.registry import OPERATORS

MOST_CELLS = 2**24
"""Of an input and of an output, so that a row takes little memory and time."""
MOST_WORK = 2**28
"""Cells that windows cover, each as often as it is covered: what a peer without a plan goes through."""
FLOATS_SHARE = 0.6
"""Of the rows; the others share the other types."""
NOT_DRAWN = ("bfloat16",)
"""Types that no peer takes."""
SCALES = (1 / 4, 1 / 8, 1 / 16, 1 / 32)

Drawn = RoiCase | AdaptiveCase | SlidingCase
Draw = Callable[[np.random.Generator], Drawn]


def log_integer(random: np.random.Generator, least: int, most: int) -> int:
    """An integer whose logarithm is uniform."""
    return min(most, int(least * ((most + 1) / least) ** random.random()))


def chance(random: np.random.Generator, share: float) -> bool:
    """True in this share of the calls."""
    return random.random() < share


def sides(random: np.random.Generator, rank: int) -> tuple[int, ...]:
    """Spatial sides: of a sequence, a map or a volume."""
    if rank == 1:
        return (log_integer(random, 7, 65536),)
    most = 512 if rank == 2 else 112
    height = log_integer(random, 7, most)
    ratio = 1.0 if chance(random, 0.5) else 4 ** random.uniform(-0.5, 0.5)
    width = min(most, max(7, round(height * ratio)))
    return (height, width) if rank == 2 else (log_integer(random, 4, 64), height, width)


def of_axes(random: np.random.Generator, rank: int, draw: Callable[[], int]) -> tuple[int, ...]:
    """A number for each axis: mostly the same."""
    return (draw(),) * rank if chance(random, 0.7) else tuple(draw() for _ in range(rank))


def batch_and_channels(random: np.random.Generator) -> tuple[int, int]:
    """Mostly one image."""
    return (1 if chance(random, 0.5) else log_integer(random, 2, 64)), log_integer(random, 1, 2048)


def roi_case(random: np.random.Generator) -> RoiCase:
    """Proposals like a detector's, or ROIs of one size from one cell to the whole map."""
    batch, channels = batch_and_channels(random)
    height, width = sides(random, 2)
    count, pooled = log_integer(random, 1, 10000), log_integer(random, 1, 28)
    size = None
    if chance(random, 0.5):
        size = log_integer(random, 1, height), log_integer(random, 1, width)
    scale = SCALES[random.integers(len(SCALES))]
    return RoiCase(channels, height, width, count, pooled, scale, min(batch, 8), size)


def adaptive_case(random: np.random.Generator) -> AdaptiveCase:
    """Output sizes from 1 to 100, which may be above the input's."""
    rank = int(random.choice((1, 2, 3), p=(0.2, 0.6, 0.2)))
    shape = (*batch_and_channels(random), *sides(random, rank))
    if chance(random, 0.1):
        return AdaptiveCase(shape, (1,) * rank)
    return AdaptiveCase(shape, of_axes(random, rank, lambda: log_integer(random, 1, 100)))


def sliding_case(random: np.random.Generator, *, indices: bool) -> SlidingCase:
    """Windows of 1 to 16 cells, with the strides and paddings that they have in models, and any others."""
    rank = 2 if chance(random, 0.75) else 3
    shape = (*batch_and_channels(random), *sides(random, rank))
    most = 16 if rank == 2 else 8
    common = (2, 3, 3, 5, 7)
    window = of_axes(
        random,
        rank,
        lambda: int(random.choice(common)) if chance(random, 0.6) else int(random.integers(1, most + 1)),
    )
    kind = random.integers(4)
    strides = of_axes(random, rank, lambda: int(random.integers(1, 4)))
    if kind == 0:
        strides = window
    elif kind == 1:
        strides = (1,) * rank
    padding = (0,) * rank
    if chance(random, 0.5):
        padding = tuple(side // 2 for side in window)
    elif chance(random, 0.3):
        padding = tuple(int(random.integers(0, side)) for side in window)
    return SlidingCase(shape, window, strides, padding, indices)


GROUPS: Mapping[str, Draw] = {
    "MaxRoiPool": roi_case,
    "AdaptiveMaxPool": adaptive_case,
    "MaxPooling1 with indices": lambda random: sliding_case(random, indices=True),
    "MaxPooling1 without indices": lambda random: sliding_case(random, indices=False),
}
"""What draws the cases of each group that a report tells apart."""


def group_of(case: Case) -> str:
    """The group that a case belongs to."""
    if not isinstance(case, SlidingCase):
        return case.operator
    return f"{case.operator} with{'' if case.indices else 'out'} indices"


def drawn(group: str, seed: int, count: int) -> list[Row]:
    """The first rows of a group."""
    return list(islice(rows(group, seed), count))


def rows(group: str, seed: int) -> Iterator[Row]:
    """A group's rows without end."""
    random = np.random.default_rng([seed, zlib.crc32(group.encode())])
    while True:
        case = GROUPS[group](random)
        type_ = drawn_type(random, case.operator)
        if suits(case):
            yield Row(case, type_)


def drawn_type(random: np.random.Generator, operator: str) -> str:
    """An element type of the operator's newest version."""
    newest = [version for version in OPERATORS if version.name == operator][-1]
    others = [name for name in newest.types["T"] if name not in ("float", *NOT_DRAWN)]
    return "float" if chance(random, FLOATS_SHARE) else str(random.choice(others))


def suits(case: Drawn) -> bool:
    """Whether a case can be run, by all peers in the same way, and is not too large."""
    if isinstance(case, RoiCase):
        extents = case.cells or ()
        if not all(agreed(np.array(extent), case.pooled) for extent in extents):
            return False
        area = math.prod(extents) if extents else case.height * case.width // 8
        bins = case.pooled**2
        work = case.rois * case.channels * max(area, bins)
        cells = case.batch * case.channels * case.height * case.width
        return cells <= MOST_CELLS and work <= 2 * MOST_WORK and outputs(case)[0] <= MOST_CELLS
    if isinstance(case, SlidingCase):
        padded = zip(case.shape[2:], case.window, case.padding, strict=True)
        if any(side + 2 * padding < window for side, window, padding in padded):
            return False
        covered = math.prod(case.window)
    else:
        covered = mean_window(case.shape[2:], case.output_size)
    count = outputs(case)[0]
    return max(math.prod(case.shape), count) <= MOST_CELLS and count * covered <= MOST_WORK


def mean_window(shape: Sequence[int], counts: Sequence[int]) -> int:
    """About how many cells a window covers that shares out a map with others."""
    return math.prod(-(-side // count) for side, count in zip(shape, counts, strict=True))
