"""Smaller and simpler cases, of which some may still show what the case shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.facts import INDEX_ATTRIBUTE
from onnx_maxpool.operators.registry import newest_version
from onnx_maxpool.types import Array, dtype_of

Cell = tuple[int, ...]
"""The first cell of the output that differs."""

Candidates = Iterator[Case]

Pass = Callable[[Case, "Cell | None"], Candidates]


def with_inputs(case: Case, **inputs: Array) -> Case:
    """The case with some inputs changed."""
    return replace(case, inputs={**case.inputs, **inputs})


def with_attributes(case: Case, **attributes: Any) -> Case:
    """The case with some attributes changed; None leaves one out."""
    changed = {**case.attributes, **attributes}
    return replace(case, attributes={name: value for name, value in changed.items() if value is not None})


def parts(count: int, keep: int) -> Iterator[list[int]]:
    """Fewer of `count` things, numbered: one of them alone, those up to it, halves, all but one."""
    if count < 2:
        return
    yield [keep]
    if keep + 1 < count:
        yield list(range(keep + 1))
    for size in smaller(count, 1):
        yield list(range(size))
    if keep:
        yield list(range(keep, count))
    if count <= 24:
        yield from ([i for i in range(count) if i != gone] for gone in range(count))


def smaller(number: int, least: int) -> list[int]:
    """Numbers from `least` on below this one: the least, the middle, the next ones."""
    half = (least + number) // 2
    wanted = {least, least + 1, half, half + 1, number - 2, number - 1}  # neighbours: what shows may be odd, or even
    return sorted(n for n in wanted if least <= n < number)


def fewer_rois(case: Case, cell: Cell | None) -> Candidates:
    """Of a ROI operator."""
    if case.version.plan != "roi":
        return
    rois = case.inputs["rois"]
    row = cell[0] if cell else rois.shape[-2] - 1
    for kept in parts(rois.shape[-2], row):
        yield with_inputs(case, rois=rois[..., kept, :])


def fewer_images(case: Case, cell: Cell | None) -> Candidates:
    """One image, or fewer; ROIs of those that go are of the first."""
    x = case.inputs["X"]
    if case.version.plan != "roi":
        yield from (with_inputs(case, X=x[kept]) for kept in parts(len(x), cell[0] if cell else 0))
        return
    rois = case.inputs["rois"]
    numbers = rois[..., 0].astype(np.float64)
    row = numbers.reshape(-1)[cell[0]] if cell else 0
    used = int(row) if 0 <= row < len(x) else 0
    for kept in parts(len(x), used):
        changed = rois.copy()
        valid = (numbers >= 0) & (numbers < len(x))
        moved = [
            kept.index(int(n)) if v and int(n) in kept else 0 for n, v in zip(numbers.flat, valid.flat, strict=True)
        ]
        changed[..., 0] = np.where(valid, np.array(moved).reshape(numbers.shape), numbers)
        yield with_inputs(case, X=x[kept], rois=changed)


def fewer_channels(case: Case, cell: Cell | None) -> Candidates:
    """Of the map."""
    x = case.inputs["X"]
    for kept in parts(x.shape[1], cell[1] if cell else 0):
        yield with_inputs(case, X=x[:, kept])


def fewer_outputs(case: Case, cell: Cell | None) -> Candidates:
    """Without the index, and without its type."""
    if case.refuses:  # its model declares the outputs of its control
        return
    if len(case.outputs) > 1:
        yield with_attributes(replace(case, outputs=case.outputs[:1]), **{INDEX_ATTRIBUTE: None})
    if INDEX_ATTRIBUTE in case.attributes:
        yield with_attributes(case, **{INDEX_ATTRIBUTE: None})


def smaller_sizes(case: Case, cell: Cell | None) -> Candidates:
    """Fewer bins, smaller windows, strides and paddings."""
    attributes = case.attributes
    for name, least in ((case.version.size_attribute, 1), ("strides", 1)):
        for axis, size in enumerate(attributes.get(name, ())):
            yield from (
                with_attributes(case, **{name: changed(attributes[name], axis, n)}) for n in smaller(size, least)
            )
    yield from smaller_windows(case)
    for name in ("start_padding", "end_padding"):
        for axis, size in enumerate(attributes.get(name, ())):
            yield from (with_attributes(case, **{name: changed(attributes[name], axis, n)}) for n in smaller(size, 0))
    # A runtime may have another fault where MaxPool's strides are left out: that is a case of its own.
    needed = ("strides",) if case.restated else ()
    for name, default in (("strides", 1), ("start_padding", 0), ("end_padding", 0)):
        if name in needed:
            continue
        if name in attributes and all(number == default for number in attributes[name]):
            yield with_attributes(case, **{name: None})
    if case.version.plan == "adaptive":
        sizes = case.inputs["output_size"]
        for axis, size in enumerate(sizes):
            for n in smaller(int(size), 1):
                yield with_inputs(case, output_size=np.array(changed(sizes, axis, n), sizes.dtype))


def smaller_windows(case: Case) -> Candidates:
    """Smaller windows whose paddings stay smaller than they are."""
    windows = case.attributes.get("window_size", ())
    for axis, window in enumerate(windows):
        for size in smaller(window, 1):
            paddings = {
                name: changed(numbers, axis, min(numbers[axis], size - 1))
                for name in ("start_padding", "end_padding")
                if (numbers := case.attributes.get(name)) is not None
            }
            yield with_attributes(case, window_size=changed(windows, axis, size), **paddings)


def changed(numbers: Any, axis: int, number: int) -> list[int]:
    """A list with one number changed."""
    return [number if i == axis else int(n) for i, n in enumerate(numbers)]


def smaller_map(case: Case, cell: Cell | None) -> Candidates:
    """A map with fewer rows and columns, from either end. Where the first ones go, ROIs move along."""
    x = case.inputs["X"]
    for axis in range(2, x.ndim):
        for size in smaller(x.shape[axis], 1):
            yield with_inputs(case, X=x.take(range(size), axis))
        for size in smaller(x.shape[axis], 1):
            start = x.shape[axis] - size
            cropped = x.take(range(start, x.shape[axis]), axis)
            yield with_inputs(case, X=cropped)
            if case.version.plan == "roi":
                rois = case.inputs["rois"].copy()
                columns = [2, 4] if axis == 2 else [1, 3]
                step = start / float(case.attributes.get("spatial_scale", 1.0))
                with np.errstate(invalid="ignore", over="ignore"):
                    rois[..., columns] -= rois.dtype.type(step)
                yield with_inputs(case, X=cropped, rois=rois)


def simpler_rois(case: Case, cell: Cell | None) -> Candidates:
    """Without a scale, with whole numbers, at the map's corner, smaller."""
    if case.version.plan != "roi":
        return
    rois, scale = case.inputs["rois"], case.attributes.get("spatial_scale")
    with np.errstate(invalid="ignore", over="ignore"):
        if scale is not None:
            scaled = rois.copy()
            scaled[..., 1:] *= rois.dtype.type(scale)
            yield with_attributes(with_inputs(case, rois=scaled), spatial_scale=None)
            yield with_attributes(case, spatial_scale=None)
            yield with_attributes(case, spatial_scale=0.5)
        for digits in (0, 1, 2):
            yield with_inputs(case, rois=np.round(rois.astype(np.float64), digits).astype(rois.dtype))
    flat = rois.reshape(-1, 5)
    if len(flat) > 4:
        return
    for row in range(len(flat)):
        yield from (with_inputs(case, rois=r.reshape(rois.shape)) for r in simpler_row(flat, row))


def simpler_row(rois: Array, row: int) -> Iterator[Array]:
    """One ROI made simpler."""
    for first, last in ((1, 3), (2, 4)):
        start, end = float(rois[row, first]), float(rois[row, last])
        if not np.isfinite([start, end]).all():
            continue
        if start != 0:
            yield with_entries(rois, row, {first: 0, last: end - start})
            yield with_entries(rois, row, {first: 0})
        for length in smaller(int(end - start), 0) if abs(end - start) < 1e9 else ():
            yield with_entries(rois, row, {last: start + length})
    for column in range(5):
        number = float(rois[row, column])
        simple = [0.0, 1.0, -1.0] if column else [0.0]
        if np.isfinite(number):
            simple += [float(np.trunc(number)), float(np.trunc(number / 2)), float(np.trunc(number)) + 0.5]
        for value in simple:
            if abs(value) < abs(number) or np.isnan(number):
                yield with_entries(rois, row, {column: value})


def with_entries(rois: Array, row: int, entries: dict[int, float]) -> Array:
    """ROIs with some numbers of a row changed."""
    copy = rois.copy()
    for column, value in entries.items():
        copy[row, column] = value
    return copy


def simpler_cells(case: Case, cell: Cell | None) -> Candidates:
    """Zeros in place of most cells, and small whole numbers in place of others."""
    x = case.inputs["X"]
    flat = x.reshape(-1)
    nonzero = np.flatnonzero(flat != 0)  # a NaN is not zero
    if not len(nonzero):
        return
    yield with_inputs(case, X=np.zeros_like(x))
    yield with_inputs(case, X=np.ones_like(x))
    pieces = 2
    while pieces < 2 * len(nonzero) and pieces <= 64:
        for chunk in np.array_split(nonzero, min(pieces, len(nonzero))):
            yield with_inputs(case, X=put_into(flat, chunk, 0).reshape(x.shape))
        pieces *= 2
    whole = np.where(np.isfinite(flat.astype(np.float64)), np.trunc(flat.astype(np.float64)), flat).astype(x.dtype)
    if (whole != flat).any():
        yield with_inputs(case, X=whole.reshape(x.shape))
    distinct, ranks = np.unique(flat, return_inverse=True)
    if len(distinct) > 1 and np.isfinite(distinct.astype(np.float64)).all():
        yield with_inputs(case, X=ranks.reshape(x.shape).astype(x.dtype))
        if flat.min() < 0:
            yield with_inputs(case, X=(ranks.reshape(x.shape) - len(distinct)).astype(x.dtype))
    if len(nonzero) <= 16:
        for i in nonzero:
            for number in (1, -1) if x.dtype.kind != "u" else (1,):
                if abs(float(flat[i])) != 1:
                    yield with_inputs(case, X=put_into(flat, [i], number).reshape(x.shape))
            if np.isfinite(float(flat[i])):
                for number in (np.trunc(float(flat[i]) / 2), np.trunc(float(flat[i]) * 7 / 8)):
                    yield with_inputs(case, X=put_into(flat, [i], number).reshape(x.shape))


def put_into(flat: Array, where: Any, number: Any) -> Array:
    """A copy with one number in some places."""
    copy = flat.copy()
    copy[where] = number
    return copy


def simpler_kind(case: Case, cell: Cell | None) -> Candidates:
    """The newest version, float, fewer spatial dimensions."""
    newest = newest_version(case.operator)
    if case.version is not newest:
        yield replace(case, version=newest)
    x = case.inputs["X"]
    if x.dtype != np.float32 and "float" in case.version.types["T"]:
        with np.errstate(over="ignore"):
            floats = {name: array.astype(np.float32) for name, array in case.inputs.items() if array.dtype == x.dtype}
        yield with_inputs(case, **floats)
    spatial = ("window_size", "strides", "start_padding", "end_padding")
    for axis in range(2, x.ndim):
        if x.shape[axis] == 1 and x.ndim > 3 and case.version.plan != "roi":
            kept = {name: list(case.attributes[name]) for name in spatial if name in case.attributes}
            for numbers in kept.values():
                del numbers[axis - 2]
            inputs = {"X": x.squeeze(axis)}
            if "output_size" in case.inputs:
                inputs["output_size"] = np.delete(case.inputs["output_size"], axis - 2)
            yield with_inputs(with_attributes(case, **kept), **inputs)
    if "output_size" in case.inputs and case.inputs["output_size"].dtype != np.int64:
        yield with_inputs(case, output_size=case.inputs["output_size"].astype(dtype_of("int64")))


PASSES: tuple[Pass, ...] = (
    fewer_rois,
    fewer_images,
    fewer_channels,
    fewer_outputs,
    smaller_sizes,
    smaller_map,
    simpler_rois,
    simpler_cells,
    simpler_kind,
)
"""In the order in which they make most of a case go away."""
