"""The points of `sweep.py`: one size of a case varies finely while the others stay, and how much work each point is."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import singledispatch
from typing import cast

import numpy as np

from onnx_maxpool.benchmark.grid.shapes import GROUPS, MOST_CELLS, MOST_WORK, drawn, group_of, mean_window
from onnx_maxpool.benchmark.inputs import SMALLEST_SIDE, agreed
from onnx_maxpool.benchmark.rows import AdaptiveCase, Case, RoiCase, Row, SlidingCase, outputs
from onnx_maxpool.types import Array, Integers
from onnx_maxpool.windows import Windows, adaptive_windows, roi_edges, roi_windows, sliding_windows

FINE = 1.2
"""From one point to the next, where all integers would be too many."""
ALL_BELOW = 8
"""Every integer below this is a point."""

LINE = 64
"""Bytes of a line of memory."""

MAP, PYRAMID = RoiCase(64, 38, 50, 300, 7, 1.0, cells=(12, 16)), RoiCase(64, 200, 304, 100, 7, 1.0, cells=(28, 28))
BASES: tuple[Case, ...] = (
    MAP,
    PYRAMID,
    replace(MAP, cells=(3, 3), pooled=1),
    replace(MAP, channels=512, rois=20, cells=None),
    AdaptiveCase((1, 256, 38, 50), (7, 7)),
    AdaptiveCase((8, 16, 112, 112), (20, 20)),
    AdaptiveCase((2, 64, 4096), (23,)),
    AdaptiveCase((1, 16, 16, 28, 28), (4, 7, 7)),
    *(
        SlidingCase(shape, window, strides, padding, indices)
        for indices in (True, False)
        for shape, window, strides, padding in (
            ((1, 64, 56, 56), (3, 3), (2, 2), (1, 1)),
            ((1, 64, 56, 56), (5, 5), (1, 1), (2, 2)),
            ((1, 256, 14, 14), (3, 3), (1, 1), (1, 1)),
            ((1, 3, 112, 112), (2, 2), (2, 2), (0, 0)),
            ((1, 32, 8, 28, 28), (3, 3, 3), (1, 1, 1), (1, 1, 1)),
        )
    ),
)
"""The cases around which everything is swept, beside those that a seed draws."""


@dataclass(frozen=True)
class Sweep:
    """Points that differ in one size, in the order in which their work grows."""

    base: Row
    dimension: str
    points: Sequence[tuple[float, Row, int]]
    """Each with its place on the axis, and with its number of threads."""

    @property
    def group(self) -> str:
        """As the grid has it: `MaxPooling1 with indices`."""
        return group_of(self.base.case)


def sweeps(groups: Sequence[str], type_: str, threads: Sequence[int], seed: int | None, bases: int) -> Iterator[Sweep]:
    """All sweeps around the fixed bases and, with a seed, around so many rows of the grid for each group."""
    rows = [Row(case, type_) for case in BASES if group_of(case) in groups]
    if seed is not None:
        rows += [row for group in groups for row in drawn(group, seed, bases)]
    for row in rows:
        for count in threads:
            for dimension, cases in dimensions(row.case).items():
                points = [(at, replace(row, case=case), count) for at, case in cases if can_run(case)]
                if len(points) > 1:
                    yield Sweep(row, dimension, points)
        if len(threads) > 1:
            yield Sweep(row, "threads", [(count, row, count) for count in sorted(threads, reverse=True)])


def integers(first: int, last: int, factor: float = FINE) -> list[int]:
    """All small integers, then each larger than the one before by about the factor."""
    small = range(first, min(last, ALL_BELOW) + 1)
    begin = max(first, ALL_BELOW)
    count = round(math.log(last / begin) / math.log(factor)) if last > begin else 0
    return sorted({*small, *(round(begin * (last / begin) ** (i / count)) for i in range(1, count + 1))})


Points = list[tuple[float, Case]]


@singledispatch
def dimensions(case: Case) -> Mapping[str, Points]:
    """The points of each dimension, by its name, in the order in which work grows."""
    raise TypeError(f"no dimensions for {case!r}")


@dimensions.register
def _(case: RoiCase) -> Mapping[str, Points]:
    found: dict[str, Points] = {
        "ROIs": [(n, replace(case, rois=n)) for n in integers(1, 10000)],
        "channels": [(n, replace(case, channels=n)) for n in integers(1, 2048)],
        "images": [(n, replace(case, batch=n)) for n in integers(1, 32)],
        "map": [(n, replace(case, height=n, width=n)) for n in integers(7, 512)],
        "map height": [(n, replace(case, height=n)) for n in integers(7, 512)],
        "map width": [(n, replace(case, width=n)) for n in integers(7, 512)],
        "bins": [(n, replace(case, pooled=n)) for n in range(1, 29)],
        "bytes of output": [(4 * outputs(each)[0], each) for each in wide(lambda n: replace(case, rois=n))],
    }
    if case.cells:
        height, width = case.cells
        found |= {
            "ROI side": [(n, replace(case, cells=(n, n))) for n in integers(1, min(case.height, case.width))],
            "ROI height": [(n, replace(case, cells=(n, width))) for n in integers(1, case.height)],
            "ROI width": [(n, replace(case, cells=(height, n))) for n in integers(1, case.width)],
        }
    return found


@dimensions.register
def _(case: AdaptiveCase) -> Mapping[str, Points]:
    found = of_shape(case)
    size, rank = case.output_size, len(case.output_size)
    found["all output sizes"] = [(n, replace(case, output_size=(n,) * rank)) for n in integers(1, 100, 1.08)]
    for axis in range(rank) if rank > 1 else ():
        found[f"output size of axis {axis + 2}"] = [
            (n, replace(case, output_size=changed(size, axis, n))) for n in integers(1, 100, 1.08)
        ]
    return found


@dimensions.register
def _(case: SlidingCase) -> Mapping[str, Points]:
    found = of_shape(case)
    rank, most = len(case.window), 16 if len(case.window) == 2 else 8
    padded, apart = any(case.padding), case.strides == case.window and any(side > 1 for side in case.window)

    def windows(window: tuple[int, ...]) -> Case:
        """With the padding that keeps a map's size where the case has any, and side by side where they are so."""
        padding = tuple(side // 2 if padded else 0 for side in window)
        return replace(case, window=window, padding=padding, strides=window if apart else case.strides)

    found["all windows"] = [(n, windows((n,) * rank)) for n in range(1, most + 1)]
    found["all strides"] = [(n, replace(case, strides=(n,) * rank)) for n in range(most, 0, -1)]
    for axis in range(rank):
        name = f"axis {axis + 2}"
        found[f"window of {name}"] = [(n, windows(changed(case.window, axis, n))) for n in range(1, most + 1)]
        found[f"stride of {name}"] = [
            (n, replace(case, strides=changed(case.strides, axis, n))) for n in range(most, 0, -1)
        ]
    found["padding"] = [(n, replace(case, padding=(n,) * rank)) for n in range(min(case.window))]
    return found


def of_shape(case: AdaptiveCase | SlidingCase) -> dict[str, Points]:
    """Images, channels and sides."""
    shape, rank = case.shape, len(case.shape) - 2
    last = {1: 65536, 2: 512, 3: 112}[rank]

    def sized(axis: int, n: int) -> Case:
        return replace(case, shape=changed(shape, axis, n))

    found: dict[str, Points] = {
        "images": [(n, sized(0, n)) for n in integers(1, 64)],
        "channels": [(n, sized(1, n)) for n in integers(1, 2048)],
        "all sides": [(n, replace(case, shape=(*shape[:2], *(n,) * rank))) for n in integers(3, last, 1.12)],
        "bytes of output": [(4 * outputs(each)[0], each) for each in wide(lambda n: sized(1, n))],
    }
    for axis in range(2, 2 + rank) if rank > 1 else ():
        found[f"side of axis {axis}"] = [(n, sized(axis, n)) for n in integers(3, last, 1.12)]
    return found


def wide(make: Callable[[int], Case]) -> Iterator[Case]:
    """Cases whose output is from 1 to 64 MiB of float: where stores may begin to go past the caches."""
    each = outputs(make(1))[0]
    first, last = max(1, 2**18 // each), 2**24 // each
    return (make(n) for n in (integers(first, last, 1.1) if last > first else ()))


def changed(sizes: tuple[int, ...], at: int, value: int) -> tuple[int, ...]:
    """The same but for one."""
    return (*sizes[:at], value, *sizes[at + 1 :])


@singledispatch
def can_run(case: Case) -> bool:
    """Whether the case is one, and neither too large nor too long."""
    raise TypeError(f"cannot tell of {case!r}")


@can_run.register
def _(case: RoiCase) -> bool:
    cells = case.cells or ()
    if any(side > most for side, most in zip(cells, (case.height, case.width), strict=False)):
        return False
    if not cells and min(case.height, case.width) < SMALLEST_SIDE * case.scale:
        return False
    area = max(case.pooled**2, math.prod(cells) if cells else case.height * case.width // 8)
    small = case.batch * case.channels * case.height * case.width <= MOST_CELLS and outputs(case)[0] <= MOST_CELLS
    return small and case.rois * case.channels * area <= MOST_WORK and all(agreed(np.array(cells), case.pooled))


@can_run.register
def _(case: AdaptiveCase) -> bool:
    count = outputs(case)[0]
    covered = mean_window(case.shape[2:], case.output_size)
    return max(math.prod(case.shape), count) <= MOST_CELLS and count * covered <= MOST_WORK


@can_run.register
def _(case: SlidingCase) -> bool:
    padded = zip(case.shape[2:], case.window, case.padding, strict=True)
    if any(side + 2 * padding < window for side, window, padding in padded):
        return False
    count = outputs(case)[0]
    return max(math.prod(case.shape), count) <= MOST_CELLS and count * math.prod(case.window) <= MOST_WORK


@dataclass(frozen=True)
class Work:
    """What a plain kernel does."""

    read: float
    """Cells of the input that it needs, each counted once,"""
    written: float
    """outputs,"""
    touched: float
    """and both, as often as it touches them."""

    def growth(self, before: Work) -> tuple[float, float]:
        """How many times as much it is as before: the whole, and that part which grew the least.

        No part alone says what a kernel's time depends on. Windows of one more row may be as much work for each output,
        and have fewer outputs.
        """
        parts = self.read / before.read, self.written / before.written, self.touched / before.touched
        return parts[-1], min(parts)


@singledispatch
def work(case: Case, inputs: Mapping[str, Array]) -> Work:
    """The work of a run."""
    raise TypeError(f"no work for {case!r}")


@work.register
def _(case: RoiCase, inputs: Mapping[str, Array]) -> Work:
    rois = inputs["rois"]
    edges = roi_edges(rois[:, 1:], case.scale)
    area = float(np.maximum(edges[:, 2:] - edges[:, :2] + 1, 1).prod(axis=1).sum())
    bins = roi_windows(rois, (case.pooled, case.pooled), case.scale, (case.height, case.width))
    rows, columns = (cells_of(windows) for windows in bins)
    read = case.channels * min(area, case.batch * case.height * case.width)
    written = outputs(case)[0]
    return Work(read, written, case.channels * float((rows * columns).sum()) + read + 4.0 * written)


@work.register
def _(case: AdaptiveCase, inputs: Mapping[str, Array]) -> Work:
    windows = [adaptive_windows(*axis) for axis in zip(case.shape[2:], case.output_size, strict=True)]
    return separable(case.shape[:2], case.shape[2:], windows)


@work.register
def _(case: SlidingCase, inputs: Mapping[str, Array]) -> Work:
    axes = zip(case.shape[2:], case.window, case.strides, case.padding, strict=True)
    windows = [sliding_windows(side, window, stride, pad, pad) for side, window, stride, pad in axes]
    needed = [reached(each) for each in windows]
    # Of a row all cells are read: a line of memory has neighbours of those that windows need.
    return separable(case.shape[:2], (*needed[:-1], case.shape[-1]), windows)


def lines_of_rois(case: RoiCase, inputs: Mapping[str, Array]) -> list[Integers]:
    """For each image the lines of memory of a channel that its ROIs reach: the first cell of each, ROI after ROI."""
    in_line = LINE // inputs["X"].dtype.itemsize
    found: list[list[Integers]] = [[] for _ in range(case.batch)]
    edges = roi_edges(inputs["rois"][:, 1:], case.scale)
    first, last = np.maximum(edges[:, :2], 0), np.minimum(edges[:, 2:], [case.width - 1, case.height - 1])
    for image, (left, top), (right, bottom) in zip(inputs["rois"][:, 0].astype(int), first, last, strict=True):
        for row in np.arange(top, bottom + 1) * case.width:
            found[image].append(np.arange((row + left) // in_line, (row + right) // in_line + 1) * in_line)
    return [np.concatenate([np.empty(0, np.int64), *lines]) for lines in found]


def cells_of(windows: Windows) -> Integers:
    """The cells of each axis's windows, one counted as often as it lies in one."""
    starts, ends = windows
    return cast("Integers", np.maximum(ends - starts, 0).sum(axis=-1))


def reached(windows: Windows) -> int:
    """How many cells of an axis lie in at least one window; windows start in ascending order."""
    starts, ends = windows
    begins = np.maximum(starts, np.concatenate(([0], ends[:-1])))
    return int(np.maximum(ends - begins, 0).sum())


def separable(planes: Sequence[int], sides: Sequence[int], windows: Sequence[Windows]) -> Work:
    """Cells in, cells out, and what windows cover where one axis after the other is pooled, the last one first.

    An axis whose windows are its cells is left as it is.
    """
    sizes = [len(starts) for starts, _ in windows]
    left, touched = list(sides), math.prod(sides) + math.prod(sizes)
    for axis in reversed(range(len(left))):
        left[axis] = int(cells_of(windows[axis]))
        if not left[axis] == sizes[axis] == sides[axis]:
            touched += math.prod(left)
        left[axis] = sizes[axis]
    count = math.prod(planes)
    return Work(count * math.prod(sides), count * math.prod(sizes), count * touched)


def known_groups(names: Sequence[str]) -> list[str]:
    """The groups whose name contains one of these, whatever the case; all of them without any."""
    return [group for group in GROUPS if not names or any(name.casefold() in group.casefold() for name in names)]
