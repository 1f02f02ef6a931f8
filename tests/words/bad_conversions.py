"""What conversions reject, and what they say: two tables of docs/errors.md.

BAD_EXPORTS has models of torch that cannot be exported. Only data: adapters/test_torchvision.py tries each row. A model
is what it makes of `x` of shape (2, 3, 10, 12) and of `rois`; torch is `torch`, `torch.nn.functional` is `F`, and
torchvision's operator `roi_pool`. BAD_CONVERTED has inputs that a model of `to_portable` rejects while it runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from onnx_maxpool.types import Array


@dataclass(frozen=True)
class BadExport:
    """A model that is rejected where the axes of `x` but that of channels are dynamic."""

    model: str
    said: str
    hint: Literal["DYNAMIC", "AUTO"] = "DYNAMIC"


def size(value: str, what: str, taken: str, numbers: str = "numbers") -> str:
    return (
        f"AdaptiveMaxPool: output_size is {value}, as torch replaced {what} by {taken}, its value in the example, "
        f"expected {numbers} that no dynamic axis changes"
    )


PLACES = (
    'MaxRoiPool: roi_pool has its second output used by "output", expected the first only, '
    "as no operator gives the places of the maxima"
)
HEIGHT, WIDTH = "L['x'].size()[2]", "L['x'].size()[3]"
BAD_EXPORTS = (
    BadExport("F.adaptive_max_pool2d(x, (x.shape[2] // 2, 5))", size("[5,5]", f"({HEIGHT}//2)", "5")),
    BadExport("F.adaptive_max_pool2d(x, (x.shape[2] // 2, 5))", size("[5,5]", f"({HEIGHT}//2)", "5"), "AUTO"),
    BadExport("F.adaptive_max_pool2d(x, (x.shape[2] // 2 + 1, 5))", size("[6,5]", f"({HEIGHT}//2)", "5")),
    BadExport(
        "F.adaptive_max_pool2d(x, (int(x.shape[2] * 0.5), 5))", size("[5,5]", f"TruncToInt(0.5*ToFloat({HEIGHT}))", "5")
    ),
    BadExport(
        "torch.ops.aten.adaptive_max_pool2d(torch.relu(x), [x.shape[2] // 3, 5])", size("[3,5]", f"({HEIGHT}//3)", "3")
    ),
    BadExport("F.adaptive_max_pool2d(F.max_pool2d(x, 2), x.shape[3] // 4)", size("[3,3]", f"({WIDTH}//4)", "3")),
    BadExport("F.adaptive_max_pool1d(x[:, 0], x.shape[3] // 5)", size("[2]", f"({WIDTH}//5)", "2", "a number")),
    BadExport("F.adaptive_max_pool3d(x[None], (1, 2, x.shape[3] // 5))", size("[1,2,2]", f"({WIDTH}//5)", "2")),
    BadExport("F.adaptive_max_pool2d(x, (None, 5))", size("[10,5]", HEIGHT, "10"), "AUTO"),
    BadExport("F.adaptive_max_pool2d(x, (2 * x.shape[2], 5))", size("[20,5]", HEIGHT, "10"), "AUTO"),
    BadExport(
        "roi_pool(x, rois, 0.5, x.shape[2] // 2, 5)[0]",
        'MaxRoiPool: pooled_shape has "floordiv", which the model computes, expected a number',
    ),
    BadExport(
        "roi_pool(x, rois, x.shape[2] * 0.025, 5, 5)[0]",
        f"MaxRoiPool: spatial_scale is 0.25, as torch replaced 0.025*ToFloat({HEIGHT}) by 0.25, "
        "its value in the example, expected a number that no dynamic axis changes",
    ),
    BadExport("roi_pool(x, rois, 0.5, 5, 5)", PLACES),
    BadExport("(roi_pool(x, rois, 0.5, 5, 5)[0], roi_pool(torch.relu(x), rois, 0.5, 5, 5)[1])", PLACES),
)

HEADER = '<ir_version: 8, opset_import: ["": 18, "directml": 5, "org.openvinotoolkit": 8]>'
MAX_ROI_POOL = "g (float[] X, float[] rois) => (float[] Y) { Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois) }"
ROI_POOLING = "g (float[] X, float[] rois) => (float[] Y) { Y = directml.RoiPooling <pooled_size = [2, 2]> (X, rois) }"
MAX_POOLING = "g (float[1,1,h,w] X) => (float[] Y) { Y = directml.MaxPooling1 <window_size = [3, 3]> (X) }"
ADAPTIVE = """g (float[1,1,h,w] X, int64[2] output_size) => (float[1,1,a,b] Y) {
    Y, = org.openvinotoolkit.AdaptiveMaxPool (X, output_size)
}"""
X = np.zeros((2, 1, 4, 4), np.float32)
BOX = np.array([[0, 0, 0, 1, 1]], np.float32)


class Bad(NamedTuple):
    guard: str
    model: str
    inputs: Mapping[str, Array]
    said: str
    openvino_reads_it: bool = True
    """Or it rejects the rank of X before the run."""


def rois(*row: float) -> dict[str, Array]:
    return {"X": X, "rois": np.array([BOX[0], row], np.float32)}


RANKS = "MaxRoiPool (Y): X or rois has another shape, expected X [N,C,H,W] and rois [R,5]"
NO_IMAGE = "MaxRoiPool (Y): rois has a batch number that no image has, expected one of an image in X, from 0 on"
NO_NUMBER = "MaxRoiPool (Y): rois has a coordinate that is NaN, expected a number"
LEADS = "RoiPooling (Y): rois has another shape, expected [1,1,R,5]"
SMALL = "MaxPooling1 (Y): X is too small for a window along dimension {}, expected room for one, padding included"
SIZES = (
    "AdaptiveMaxPool (Y): output_size has a size out of range or too many or too few sizes, "
    "expected one from 1 to 2147483647 for each spatial dimension of X"
)
NO_CELLS = "AdaptiveMaxPool (Y): X has a spatial dimension of size 0, expected at least 1"

BAD_CONVERTED = (
    Bad("x_has_4_dimensions_and_rois_are_r_by_5", MAX_ROI_POOL, {"X": X, "rois": BOX[:, :4]}, RANKS),
    Bad("x_has_4_dimensions_and_rois_are_r_by_5", MAX_ROI_POOL, {"X": X[..., None], "rois": BOX}, RANKS, False),
    Bad("every_batch_is_in_range", MAX_ROI_POOL, rois(2, 0, 0, 1, 1), NO_IMAGE),
    Bad("every_batch_is_in_range", MAX_ROI_POOL, rois(-1, 0, 0, 1, 1), NO_IMAGE),
    Bad("no_coordinate_is_nan", MAX_ROI_POOL, rois(1, 0, np.nan, 1, 1), NO_NUMBER),
    Bad(
        "rois_begin_with_two_dimensions_of_1", ROI_POOLING, {"X": X, "rois": np.zeros((1, 2, 1, 5), np.float32)}, LEADS
    ),
    Bad("every_axis_has_a_window", MAX_POOLING, {"X": X[:1, :, :2]}, SMALL.format(2)),
    Bad("every_axis_has_a_window", MAX_POOLING, {"X": X[:1, :, :, :2]}, SMALL.format(3)),
    Bad("every_size_is_in_range", ADAPTIVE, {"X": X[:1], "output_size": np.array([2, 0])}, SIZES),
    Bad("every_size_is_in_range", ADAPTIVE, {"X": X[:1], "output_size": np.array([2, 2**31])}, SIZES),
    Bad("x_has_cells", ADAPTIVE, {"X": X[:1, :, :0], "output_size": np.array([2, 2])}, NO_CELLS),
)
