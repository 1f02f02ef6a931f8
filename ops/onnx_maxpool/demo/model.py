"""A search by example: which of many boxes in a photograph look like a given one?

The model computes image features by one convolution, pools every box with MaxRoiPool and ranks the boxes by the cosine
between their descriptors and the query's. Nothing is learned: the features are oriented gradients and opponent colours.

It is made so that every runtime gives the same bits:

- pixels and weights are integers, and the convolution's sums stay below 2^21, so float32 holds them exactly;
- responses, below 2^20, are compressed to `floor(sqrt(n))`. The convolution's bias is 1/2, and `sqrt(n + 1/2)` lies
  more than one unit in the last place from every integer, so even a square root that is one unit off gives the same
  floor;
- pooling selects and never rounds (G6);
- descriptors are integers in double, and their sums of products stay below 2^53;
- what remains, two square roots, a product and a quotient per box, are single operations, which IEEE 754 rounds
  correctly; and TopK gives equal scores in the order of their indices.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import onnx

from onnx_maxpool.graph.building import parsed
from onnx_maxpool.hashing import integers
from onnx_maxpool.types import Array

STRIDE = 2
"""Pixels per cell of the feature map."""

Box = tuple[int, int, int, int]
"""`(x1, y1, x2, y2)` in pixels, both corners inclusive."""


@dataclass(frozen=True)
class Match:
    """A region that looks like the query."""

    box: Box
    score: float
    """The cosine of its descriptor and the query's, at most 1."""


GRAPH = """
region_search (uint8[H,W,3] image, float[R,4] boxes, float[1,4] query) => (double[K] scores, int64[K] best)
{
    pixels = Cast <to = 1> (image)
    planes = Transpose <perm = [2, 0, 1]> (pixels)
    batch = Unsqueeze (planes, zero)
    padded = Pad <mode = "edge"> (batch, margins)
    responses = Conv <kernel_shape = [5, 5], strides = [2, 2]> (padded, filters, halves)
    positive = Relu (responses)
    roots = Sqrt (positive)
    features = Floor (roots)

    candidates = Concat <axis = 0> (boxes, query)
    rois = Pad (candidates, batch_column)
    pooled = MaxRoiPool <pooled_shape = [7, 7], spatial_scale = 0.5> (features, rois)
    flat = Flatten (pooled)
    descriptors = Cast <to = 11> (flat)

    from_boxes = Slice (descriptors, zero, minus_one, zero)
    from_query = Slice (descriptors, minus_one, last, zero)
    box_count = Shape <start = 0, end = 1> (boxes)
    at_least_one = Max (box_count, one)
    divisor = Cast <to = 11> (at_least_one)
    total = ReduceSum (from_boxes, zero)
    mean = Div (total, divisor)
    typical = Floor (mean)
    box_features = Sub (from_boxes, typical)
    query_features = Sub (from_query, typical)

    query_column = Reshape (query_features, column)
    products = MatMul (box_features, query_column)
    box_squares = ReduceSumSquare (box_features, one)
    query_squares = ReduceSumSquare (query_features, one)
    box_norms = Sqrt (box_squares)
    query_norm = Sqrt (query_squares)
    norms = Mul (box_norms, query_norm)
    divisors = Max (norms, one_double)
    cosines = Div (products, divisors)
    similarities = Reshape (cosines, minus_one)
    k = Min (box_count, wanted)
    scores, best = TopK (similarities, k)
}
"""


def region_search(wanted: int = 10) -> onnx.ModelProto:
    """Opset 22. A photograph `image` uint8 (H, W, 3), `boxes` float (R, 4) and the `query` box float (1, 4).

    Boxes are `[x1, y1, x2, y2]` in pixels, both corners inclusive. Outputs the `wanted` best boxes, or all if there are
    fewer: `scores` double (K,), cosines in [-1, 1], in descending order, and `best` int64 (K,), indices into `boxes`.

    A descriptor is taken relative to the mean over all boxes, so that a box scores by what sets it apart. It needs
    boxes of more than one kind to mean anything.
    """
    return parsed(
        GRAPH,
        {
            "filters": filters(),
            "halves": np.full(12, 0.5, np.float32),
            "margins": np.array([0, 0, 2, 2, 0, 0, 2, 2], np.int64),
            "batch_column": np.array([0, 1, 0, 0], np.int64),
            # Not by a Transpose: ONNX Runtime before 1.26 fuses that with MatMul, into a kernel that takes no double.
            "column": np.array([-1, 1], np.int64),
            "zero": np.array([0], np.int64),
            "one": np.array([1], np.int64),
            "one_double": np.array([1], np.float64),
            "minus_one": np.array([-1], np.int64),
            "last": np.array([2**63 - 1], np.int64),
            "wanted": np.array([wanted], np.int64),
        },
    )


def filters() -> npt.NDArray[np.float32]:
    """The convolution's integer weights (12, 3, 5, 5): 8 gradient directions of brightness, then 4 colour contrasts.

    Pixels are not negative, so a sum of products lies between 255 times the sum of a filter's negative weights and 255
    times that of its positive ones: within ±2^20.
    """
    binomial = np.array([1, 4, 6, 4, 1])
    blur = np.outer(binomial, binomial)
    y, x = np.mgrid[-2:3, -2:3]
    # Tenths of the cosine and sine of 0, 45, 90 ... degrees; 7 for 7.07.
    directions = [(10, 0), (7, 7), (0, 10), (-7, 7), (-10, 0), (-7, -7), (0, -10), (7, -7)]
    gradients = [np.multiply.outer([1, 2, 1], blur * (dx * x + dy * y)) for dx, dy in directions]
    contrasts = [np.multiply.outer(rgb, 4 * blur) for rgb in ([2, -2, 0], [-2, 2, 0], [1, 1, -2], [-1, -1, 2])]
    return np.array(gradients + contrasts, np.float32)


def grid_of_boxes(height: int, width: int, sides: tuple[int, ...], step: int) -> npt.NDArray[np.float32]:
    """Square boxes of every side at every `step` pixels that lie within an image: (R, 4) `[x1, y1, x2, y2]`."""
    grids = []
    for side in sides:
        y, x = np.mgrid[0 : height - side + 1 : step, 0 : width - side + 1 : step]
        grids.append(np.stack([x, y, x + side - 1, y + side - 1], axis=-1).reshape(-1, 4))
    return np.concatenate(grids).astype(np.float32)


PATCH_SIDE = 24
PATCH_PLACES = ((16, 8), (88, 24), (40, 64), (104, 80))
"""Upper left corners (x, y) of the four like patches in the sample image; the first is the query."""


def region_search_inputs() -> dict[str, Array]:
    """A noisy image (112, 144, 3) with four discs and four decoys, squares and rings of other colours, and 550 boxes.

    The discs lie at `PATCH_PLACES`, on the boxes' grid.
    """
    image = 90 + integers(8, (112, 144, 3), 0, 13)
    y, x = np.mgrid[0:PATCH_SIDE, 0:PATCH_SIDE] - (PATCH_SIDE - 1) / 2
    radius = np.hypot(x, y)
    disc = radius < 9
    ring = (radius < 11) & (radius > 7)
    square = (np.abs(x) < 8) & (np.abs(y) < 8)
    figures = [(place, disc, (210, 160, 60)) for place in PATCH_PLACES]
    figures += [((56, 0), square, (60, 90, 200)), ((8, 72), ring, (40, 170, 80))]
    figures += [((72, 80), square, (200, 60, 60)), ((112, 48), ring, (20, 20, 20))]
    for (left, top), mask, colour in figures:
        patch = image[top : top + PATCH_SIDE, left : left + PATCH_SIDE]
        patch[mask] = colour + integers(left, (int(mask.sum()), 3), 0, 13)
    left, top = PATCH_PLACES[0]
    return {
        "image": image.astype(np.uint8),
        "boxes": grid_of_boxes(112, 144, (20, PATCH_SIDE, 32), 8),
        "query": np.array([[left, top, left + PATCH_SIDE - 1, top + PATCH_SIDE - 1]], np.float32),
    }
