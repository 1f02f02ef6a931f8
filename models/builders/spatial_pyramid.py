"""A classifier for photographs of any size: spatial pyramid pooling, which brings every size to one descriptor.

Features come from one convolution, that of `region_search`: 8 gradient directions of brightness and 4 colour contrasts,
compressed to integers from 0 to 1023. AdaptiveMaxPool takes their maxima over the whole picture and over its 2 x 2,
4 x 4 and 6 x 6 parts; a matrix product scores the descriptor for eight classes, four directions of edges and four
colours. Nothing is learned: a class counts what speaks for it and takes away what speaks for the others.

It is made so that every runtime gives the same bits. The features are exact as in `region_search`, pooling selects and
never rounds (G6), and weights are integers: a score's partial sums stay, in any order, within `LARGEST_SCORE`, and
float32 holds every integer up to 2^24.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnx

from onnx_maxpool.demo.model import filters
from onnx_maxpool.graph.building import parsed
from onnx_maxpool.hashing import integers
from onnx_maxpool.types import Array

LEVELS = {1: 9, 2: 4, 4: 1, 6: 1}
"""The weight of each level of the pyramid, by its side. A part of the picture weighs less than the whole."""

DIRECTIONS = ("vertical", "rising", "horizontal", "falling")
"""Classes by the direction of edges. A gradient and its opposite, 4 channels on, cross edges of one direction."""
COLOURS = ("red", "green", "yellow", "blue")
CLASSES = (*DIRECTIONS, *COLOURS)

CHANNELS = 12
LARGEST_FEATURE = 1023
LARGEST_SCORE = LARGEST_FEATURE * 12 * sum(weight * side * side for side, weight in LEVELS.items())
"""No class's weights of one cell, over all channels, add up to more than 12 in size."""

GRAPH = """
spatial_pyramid (uint8[H,W,3] image) => (float[1,K] scores, int64[1] label)
{
    pixels = Cast <to = 1> (image)
    planes = Transpose <perm = [2, 0, 1]> (pixels)
    batch = Unsqueeze (planes, zero)
    padded = Pad <mode = "edge"> (batch, margins)
    responses = Conv <kernel_shape = [5, 5], strides = [2, 2]> (padded, filters, halves)
    positive = Relu (responses)
    roots = Sqrt (positive)
    features = Floor (roots)

    whole = org.openvinotoolkit.AdaptiveMaxPool (features, side_1)
    quarters = org.openvinotoolkit.AdaptiveMaxPool (features, side_2)
    sixteenths = org.openvinotoolkit.AdaptiveMaxPool (features, side_4)
    finest = org.openvinotoolkit.AdaptiveMaxPool (features, side_6)
    flat_1 = Flatten (whole)
    flat_2 = Flatten (quarters)
    flat_4 = Flatten (sixteenths)
    flat_6 = Flatten (finest)
    descriptor = Concat <axis = 1> (flat_1, flat_2, flat_4, flat_6)
    scores = Gemm (descriptor, weights)
    label = ArgMax <axis = 1, keepdims = 0> (scores)
}
"""


def spatial_pyramid() -> onnx.ModelProto:
    """Opset 22. A photograph `image` uint8 (H, W, 3) of any size, to `scores` float (1, 8) and `label` int64 (1,).

    The label is an index into `CLASSES`.
    """
    return parsed(
        GRAPH,
        {
            "filters": filters(),
            "halves": np.full(CHANNELS, 0.5, np.float32),
            "margins": np.array([0, 0, 2, 2, 0, 0, 2, 2], np.int64),
            "zero": np.array([0], np.int64),
            **{f"side_{side}": np.array([side, side], np.int64) for side in LEVELS},
            "weights": weights(),
        },
        domains={"org.openvinotoolkit": 8},
    )


def weights() -> npt.NDArray[np.float32]:
    """The classes' integer weights (684, 8) of the descriptor: level after level, channels, and in each its cells."""
    by_channel = np.zeros((CHANNELS, len(CLASSES)))
    by_channel[:8, : len(DIRECTIONS)] = -1
    by_channel[8:, len(DIRECTIONS) :] = -1
    for i in range(4):
        by_channel[[i, i + 4], i] = 3
        by_channel[8 + i, len(DIRECTIONS) + i] = 3
    levels = [np.repeat(by_channel * weight, side * side, axis=0) for side, weight in LEVELS.items()]
    return np.concatenate(levels).astype(np.float32)


def striped(height: int, width: int, direction: str) -> npt.NDArray[np.uint8]:
    """A noisy grey photograph (height, width, 3) of stripes in a direction of `DIRECTIONS`."""
    y, x = np.mgrid[0:height, 0:width]
    across = {"vertical": x, "falling": x - y, "horizontal": y, "rising": x + y}[direction]
    grey = np.where(across // 8 % 2, 150, 90) + integers(height, (height, width), 0, 13)
    return np.repeat(grey[..., None], 3, axis=2).astype(np.uint8)


def spatial_pyramid_inputs() -> dict[str, Array]:
    """Rising stripes (77, 110): neither side of the features, 39 and 55, divides by 2, 4 or 6."""
    return {"image": striped(77, 110, "rising")}
