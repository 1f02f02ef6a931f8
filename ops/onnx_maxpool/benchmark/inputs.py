"""A row's tensors, the same in every process: they depend only on a seed and the row."""

from __future__ import annotations

import zlib
from functools import singledispatch
from typing import Any

import numpy as np

from onnx_maxpool.benchmark.rows import AdaptiveCase, Case, GraphCase, RoiCase, Row, SlidingCase
from onnx_maxpool.types import Array, Integers, dtype_of
from onnx_maxpool.windows import even_windows, roi_edges, rounded_windows

SMALLEST_SIDE = 16
"""In pixels: the square root of the smallest proposal's area."""
LARGEST_ASPECT = 3.0
"""Of a proposal's height to its width, and the other way round."""
JITTER = 0.4
"""A proposal's corner lies up to this far from the middle of a cell of the map: never near a half, which rounds."""

LARGEST_INTEGER = 2**24
"""Integers up to this are float32 numbers."""
LARGEST_OF_GRAPH = 3
"""Of a graph's input and its constants: so all sums are such integers, whatever the order in which terms are added."""


def row_inputs(row: Row) -> dict[str, Array]:
    """The tensors by the name of the operator's input."""
    random = np.random.default_rng(zlib.crc32(str(row.case).encode()))
    return case_inputs(row.case, dtype_of(row.type), random)


@singledispatch
def case_inputs(case: Case, kind: np.dtype[Any], random: np.random.Generator) -> dict[str, Array]:
    """The tensors of a case in an element type."""
    raise TypeError(f"no inputs for {case!r}")


@case_inputs.register
def _(case: RoiCase, kind: np.dtype[Any], random: np.random.Generator) -> dict[str, Array]:
    x = cells(random, (case.batch, case.channels, case.height, case.width), kind)
    return {"X": x, "rois": rois(case, kind, random)}


@case_inputs.register
def _(case: AdaptiveCase, kind: np.dtype[Any], random: np.random.Generator) -> dict[str, Array]:
    return {"X": cells(random, case.shape, kind), "output_size": np.array(case.output_size, np.int64)}


@case_inputs.register
def _(case: SlidingCase, kind: np.dtype[Any], random: np.random.Generator) -> dict[str, Array]:
    return {"X": cells(random, case.shape, kind)}


@case_inputs.register
def _(case: GraphCase, kind: np.dtype[Any], random: np.random.Generator) -> dict[str, Array]:
    return {"X": small_integers(random, case.input_shape, kind), "rois": rois(case.pool, kind, random)}


def graph_constants(case: GraphCase, kind: np.dtype[Any]) -> dict[str, Array]:
    """What the convolution and the product multiply by, the same in every process."""
    random = np.random.default_rng(zlib.crc32(str(case).encode()))
    kernel = (case.channels, case.input_shape[1], 1, 1)
    shapes = {"kernel": kernel, "weights": (case.pooled_cells, case.features)}
    return {name: small_integers(random, shape, kind) for name, shape in shapes.items()}


def small_integers(random: np.random.Generator, shape: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """Integers from -3 to 3 as floats."""
    return random.integers(-LARGEST_OF_GRAPH, LARGEST_OF_GRAPH, shape, endpoint=True).astype(kind)


def cells(random: np.random.Generator, shape: tuple[int, ...], kind: np.dtype[Any]) -> Array:
    """Normally distributed floats, or integers over the type's range, as far as float32 holds them.

    One peer pools wide integers in float32.
    """
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        least, greatest = max(limits.min, -LARGEST_INTEGER), min(limits.max, LARGEST_INTEGER)
        return random.integers(least, greatest, shape, kind, endpoint=True)
    return random.standard_normal(shape, np.float32).astype(kind)


def rois(case: RoiCase, kind: np.dtype[Any], random: np.random.Generator) -> Array:
    """Rows `[batch, x1, y1, x2, y2]` in pixels, sorted by batch number, as one peer needs them.

    The image is the map over the scale. Like a detector's proposals, ROIs are small more often than large: the square
    root of the area is log-uniform from 16 pixels to the image's shorter side, the aspect log-uniform from 1:3 to 3:1,
    the centre uniform, and what sticks out is cut off. Corners are then moved to within 0.4 cells of a cell's middle.
    With `case.cells` all ROIs have that size, and lie anywhere inside the map.

    Peers that divide in float32 cut some extents otherwise than exact integers do (M7). ROIs of such an extent are
    drawn again, so that all peers pool the same cells.
    """
    if case.cells and (disputed := [side for side in case.cells if not agreed(np.array(side), case.pooled)]):
        raise ValueError(f"{case}: an extent of {disputed[0]} is cut otherwise in float32")
    found = np.empty((0, 4), kind)
    while len(found) < case.rois:
        corners = fixed_corners(case, random) if case.cells else proposal_corners(case, random)
        boxes = (corners + random.uniform(-JITTER, JITTER, corners.shape)) / case.scale
        boxes = boxes.astype(kind)
        found = np.concatenate([found, boxes[undisputed(boxes, case)]])
    batches = np.sort(random.integers(0, case.batch, (case.rois, 1)), axis=0).astype(kind)
    return np.concatenate([batches, found[: case.rois]], axis=1)


def proposal_corners(case: RoiCase, random: np.random.Generator) -> Integers:
    """(R, 4) first and last cells `x1, y1, x2, y2` of ROIs with sizes like a detector's proposals."""
    size = np.array([case.width, case.height])
    side = np.exp(random.uniform(np.log(SMALLEST_SIDE * case.scale), np.log(size.min()), case.rois))
    stretch = np.exp(random.uniform(-0.5, 0.5, case.rois) * np.log(LARGEST_ASPECT))
    half = np.stack([side / stretch, side * stretch], axis=1) / 2
    centre = random.uniform(0, size, half.shape)
    first = np.clip(np.floor(centre - half), 0, size - 1)
    last = np.clip(np.ceil(centre + half) - 1, first, size - 1)
    return np.concatenate([first, last], axis=1).astype(np.int64)


def fixed_corners(case: RoiCase, random: np.random.Generator) -> Integers:
    """(R, 4) first and last cells `x1, y1, x2, y2` of ROIs of one size."""
    height, width = case.cells or (case.height, case.width)
    first = random.integers(0, [case.width - width + 1, case.height - height + 1], (case.rois, 2))
    last = first + np.array([width - 1, height - 1])
    return np.concatenate([first, last], axis=1)


def undisputed(boxes: Array, case: RoiCase) -> Array:
    """Which boxes have the same bins in exact integers and in float32."""
    edges = roi_edges(boxes, case.scale)
    extents = np.maximum(edges[:, 2:] - edges[:, :2] + 1, 1)
    return np.asarray(agreed(extents, case.pooled).all(axis=1))


def agreed(extents: Integers, bins: int) -> Array:
    """Which extents are cut alike in exact integers, in float32 and in double (M7)."""
    exact = np.asarray(even_windows(extents, bins))
    rounded = [np.equal(exact, rounded_windows(extents, bins, kind)) for kind in (np.float32, np.float64)]
    return np.asarray(np.logical_and(*rounded).all(axis=(0, -1)))
