"""The questions to ROI pooling, which MaxRoiPool and RoiPooling share: rules M1 to M12, G1 to G7.

Each case is one ROI on one map unless it asks about several. `pooled` is (height, width); a ROI is batch, x1, y1, x2,
y2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnx_maxpool.aliases import Array
from onnx_maxpool.conformance.case import Case, Level
from onnx_maxpool.conformance.cases.building import OURS, make, refusal
from onnx_maxpool.conformance.cases.inputs import INF, NAN, both, dtype_of, extremes, finest, in_types, line, rising
from onnx_maxpool.models.hashing import integers
from onnx_maxpool.registry import OperatorVersion


@dataclass(frozen=True)
class RoiOperator:
    """How one operator puts the shared questions."""

    version: OperatorVersion
    size_attribute: str
    roi_shape: Callable[[int], tuple[int, ...]]
    """The shape of the ROI tensor for a number of ROIs."""
    edges: Level
    """Whether its text says how the edges of bins are computed."""
    types_rule: str

    def case(
        self,
        topic: str,
        question: str,
        rules: str,
        rois: Sequence[Sequence[float]],
        x: Array,
        pooled: Sequence[int] | None = (1, 1),
        *,
        scale: float | None = None,
        level: Level = "required",
        asks: str = "",
        element_type: str = "float",
        control: Case | None = None,
    ) -> Case:
        """A case of this operator; `rules` and `asks` are separated by commas."""
        roi_tensor = np.array(rois, np.float64).reshape(self.roi_shape(len(rois)))
        attributes: dict[str, Any] = {} if pooled is None else {self.size_attribute: list(pooled)}
        if scale is not None:
            attributes["spatial_scale"] = scale
        return make(
            self.version,
            topic,
            question,
            rules,
            attributes=attributes,
            inputs=in_types({"X": x, "rois": roi_tensor}, element_type),
            outputs=("Y",),
            level=level,
            asks=asks,
            control=control,
        )


def shared_cases(roi: RoiOperator) -> Iterator[Case]:
    """All questions that both operators are asked."""
    yield from plain(roi)
    yield from rounding(roi)
    yield from edges(roi)
    yield from borders(roi)
    yield from malformed(roi)
    yield from batches(roi)
    yield from far_coordinates(roi)
    yield from values(roi)
    yield from empty_tensors(roi)
    yield from refusals(roi)
    yield from random_family(roi)


def plain(roi: RoiOperator) -> Iterator[Case]:
    """M1, M3, M4."""
    yield roi.case(
        "whole_map", "Does a ROI over the whole map find its maximum?", "M4, G2", [[0, 0, 0, 3, 2]], both(3, 4)
    )
    yield roi.case(
        "corners", "Do both corners belong to the ROI?", "M4", [[0, 1, 1, 3, 2]], both(4, 5), asks="corners, end"
    )
    yield roi.case("one_cell", "Is a ROI whose corners coincide one cell?", "M4", [[0, 2, 1, 2, 1]], both(3, 4))
    yield roi.case(
        "order",
        "Do the x coordinates come before the y coordinates?",
        "M4",
        [[0, 3, 0, 3, 1]],
        both(4, 5),
        asks="order",
    )
    yield roi.case(
        "height_first", "Is the output size given as height, then width?", "M1", [[0, 0, 0, 5, 1]], both(2, 6), (2, 3)
    )
    yield roi.case(
        "channels", "Is every channel pooled by itself?", "M1", [[0, 0, 0, 1, 1]], rising(1, 3, 2, 2), (2, 2)
    )
    yield roi.case(
        "several_rois",
        "Does each ROI give one entry of the output, in their order?",
        "M1",
        [[0, 2, 0, 3, 0], [0, 0, 0, 1, 0], [0, 2, 0, 3, 0]],
        both(1, 4),
    )
    yield roi.case(
        "images",
        "Does the batch number choose the image?",
        "M10, M4",
        [[1, 0, 0, 1, 0], [0, 0, 0, 1, 0]],
        rising(2, 1, 1, 2),
    )
    yield roi.case("default_scale", "Is spatial_scale 1 by default?", "M3", [[0, 2, 0, 3, 0]], both(1, 8))
    yield roi.case(
        "scale",
        "Does spatial_scale take coordinates to cells?",
        "M3, M5",
        [[0, 32, 16, 64, 48]],
        both(5, 6),
        (2, 2),
        scale=0.0625,
        asks="scale",
    )
    yield roi.case(
        "scale_above_1", "May spatial_scale be greater than 1?", "M3, M5", [[0, 1, 0, 2, 0]], both(1, 6), scale=2.0
    )


def rounding(roi: RoiOperator) -> Iterator[Case]:
    """M5."""
    for topic, low, high in (("below", 1.4, 2.4), ("above", 1.6, 2.6)):
        yield roi.case(
            f"rounding_{topic}_half",
            f"Do {low} and {high} round to the nearest cell?",
            "M5",
            [[0, low, 0, high, 0]],
            both(1, 6),
            asks="rounding" if topic == "above" else "",
        )
    yield roi.case(
        "rounding_negative",
        "Does -0.6 round to -1, so that the first of three bins lies beyond the map?",
        "M5, M9",
        [[0, -0.6, 0, 1, 0]],
        both(1, 4),
        (1, 3),
        asks="rounding",
    )
    for value in (0.5, 1.5, 2.5):
        yield roi.case(
            f"half_{str(value).replace('.', '_')}",
            f"To which cell does {value} round?",
            "M5",
            [[0, value, 0, value, 0]],
            both(1, 6),
            level=OURS,
            asks="rounding",
        )
    for value in (-0.5, -1.5, -2.5):
        extent = 2 + int(-value + 0.5)
        yield roi.case(
            f"half_minus_{str(-value).replace('.', '_')}",
            f"To which cell does {value} round? The ROI ends in cell 1 and has {extent} bins.",
            "M5",
            [[0, value, 0, 1, 0]],
            both(1, 4),
            (1, extent),
            level=OURS,
            asks="rounding",
        )
    yield roi.case(
        "just_below_half",
        "Does 0.49999997, the float32 below one half, round to 0? Adding one half to it gives 1.",
        "M5",
        [[0, 0.49999997, 0, 0.49999997, 0]],
        both(1, 3),
        level=OURS,
        asks="rounding",
    )
    yield roi.case(
        "product",
        "Is 45 times the float32 nearest to 0.7 taken in float32, where it is 31.5, or in double, where it is less?",
        "M5",
        [[0, 45, 0, 45, 0]],
        both(1, 34),
        scale=0.7,
        level=OURS,
        asks="product",
    )
    yield roi.case(
        "coordinate_257",
        "Does the coordinate 257 stay what it is? bfloat16 has no such number.",
        "M5",
        [[0, 257, 0, 257, 0]],
        both(1, 260),
        asks="coordinates",
    )
    yield roi.case(
        "coordinate_10_0505",
        "Does the coordinate 10.0505, times 10, stay above 100.5? Neither float16 nor bfloat16 has such a number.",
        "M5",
        [[0, 10.0505, 0, 10.0505, 0]],
        both(1, 104),
        scale=10.0,
        asks="coordinates",
    )


EDGE_PAIRS = ((57, 7), (3, 21), (7, 13), (62, 14), (29, 7), (58, 14), (5, 7))
"""Extents and bin counts at which edges in float32, in double or accumulated are not the exact ones."""


def edges(roi: RoiOperator) -> Iterator[Case]:
    """M7 and M12."""
    for extent, count in ((4, 2), (6, 3)):
        yield roi.case(
            f"bins_{extent}_in_{count}",
            f"Are {extent} cells cut into {count} equal bins?",
            "M7",
            [[0, 0, 0, extent - 1, 0]],
            both(1, extent + 2),
            (1, count),
            asks="end, start",
        )
    yield roi.case(
        "bins_overlap",
        "Do 3 bins over 5 cells overlap, as a start is rounded down and an end up?",
        "M7",
        [[0, 1, 0, 5, 0]],
        both(1, 8),
        (1, 3),
        asks="start, end, corners",
    )
    yield roi.case(
        "bins_rows",
        "Are rows cut as columns are?",
        "M7",
        [[0, 0, 1, 0, 5]],
        both(8, 1),
        (3, 1),
        asks="start, end, corners",
    )
    yield roi.case(
        "more_bins_than_cells",
        "Do 5 bins over 2 cells each have a cell?",
        "M7",
        [[0, 1, 0, 2, 0]],
        both(1, 5),
        (1, 5),
        asks="start, end",
    )
    yield roi.case(
        "bins_of_one_cell",
        "Does a ROI of one cell fill every bin?",
        "M7",
        [[0, 1, 1, 1, 1]],
        both(3, 3),
        (2, 3),
        asks="end",
    )
    for extent, count in EDGE_PAIRS:
        # The map goes on beyond the ROI, so that an edge one cell too far is seen.
        yield roi.case(
            f"edges_{extent}_in_{count}",
            f"Are {extent} cells cut into {count} bins exactly, or with what error?",
            "M7, M12" if roi.edges == OURS else "M7",
            [[0, 0, 0, extent - 1, 0]],
            both(1, extent + 2),
            (1, count),
            level=roi.edges,
            asks="edges",
        )


def borders(roi: RoiOperator) -> Iterator[Case]:
    """M8, M9, G1."""
    yield roi.case(
        "beyond_right",
        "Is a ROI that reaches beyond the right and lower border cut into bins first and clipped then?",
        "M8, G1",
        [[0, 2, 1, 7, 4]],
        both(4, 6),
        (2, 3),
        asks="clipping",
    )
    yield roi.case(
        "beyond_left",
        "Is a ROI that reaches beyond the left and upper border cut into bins first and clipped then?",
        "M8, G1",
        [[0, -3, -2, 2, 1]],
        both(4, 6),
        (2, 3),
        asks="clipping",
    )
    yield roi.case(
        "last_cell", "Do the map's last row and column count?", "M8", [[0, 0, 0, 2, 1]], both(2, 3), asks="clipping"
    )
    yield roi.case(
        "far_beyond",
        "Does a ROI that reaches a million cells beyond the map find the map's maximum?",
        "M8",
        [[0, -1000000, 0, 1000000, 0]],
        both(1, 4),
    )
    yield roi.case(
        "outside_right",
        "Is a ROI to the right of the map all 0?",
        "M9",
        [[0, 5, 0, 6, 1]],
        both(2, 4),
        (2, 2),
        asks="empty",
    )
    yield roi.case(
        "outside_left",
        "Is a ROI to the left of the map all 0?",
        "M9",
        [[0, -4, 0, -2, 1]],
        both(2, 4),
        (2, 2),
        asks="empty",
    )
    yield roi.case(
        "empty_beside_full",
        "Are bins beyond the map 0, and their neighbours on the map not, where all cells are negative?",
        "M9, M8",
        [[0, 1, 0, 6, 0]],
        -both(1, 4),
        (1, 3),
        asks="empty",
    )


def malformed(roi: RoiOperator) -> Iterator[Case]:
    """M6."""
    control = roi.case("control", "", "M6", [[0, 1, 1, 3, 3]], both(5, 5))
    for topic, corners in (("x", [3, 0, 1, 1]), ("y", [0, 3, 1, 1]), ("x_and_y", [3, 3, 1, 1])):
        yield roi.case(
            f"malformed_{topic}",
            f"What is a ROI whose {topic.replace('_', ' ')} end{'' if 'and' in topic else 's'} before the start?",
            "M6",
            [[0, *corners]],
            both(5, 5),
            level=OURS,
            asks="malformed",
            control=control,
        )


def batches(roi: RoiOperator) -> Iterator[Case]:
    """M10."""
    x = rising(3, 1, 1, 2)
    control = roi.case("control", "", "M10", [[2, 0, 0, 1, 0]], x)
    for value in (1.75, -0.5):
        yield roi.case(
            f"batch_{str(value).replace('.', '_').replace('-', 'minus_')}",
            f"Which image is batch {value}?",
            "M10",
            [[value, 0, 0, 1, 0]],
            x,
            level=OURS,
            asks="fractional batch",
            control=control,
        )
    for topic, value in (("n", 3), ("minus_1", -1), ("1e20", 1e20), ("infinite", INF)):
        yield refusal(
            control,
            f"batch_{topic}",
            f"Is batch number {value:g} of 3 images refused? There is no such image to read.",
            "M10",
            asks="batch" if abs(value) < 1e9 else "",
            inputs={"rois": _rois(roi, [[value, 0, 0, 1, 0]])},
        )
    yield refusal(
        control,
        "batch_n_of_several",
        "Is a wrong batch number refused in the last of several ROIs too?",
        "M10",
        asks="batch",
        inputs={"rois": _rois(roi, [[0, 0, 0, 1, 0], [2, 0, 0, 0, 0], [3, 0, 0, 1, 0]])},
    )
    yield refusal(
        control,
        "batch_nan",
        "Is a batch number that is NaN refused?",
        "M10",
        level=OURS,
        asks="nan batch",
        inputs={"rois": _rois(roi, [[NAN, 0, 0, 1, 0]])},
    )


def far_coordinates(roi: RoiOperator) -> Iterator[Case]:
    """M11."""
    control = roi.case("control", "", "M11", [[0, 0, 0, 3, 2]], both(3, 4))
    for i, name in enumerate(("x1", "y1", "x2", "y2")):
        row = [0.0, 0.0, 0.0, 3.0, 2.0]
        row[1 + i] = NAN
        yield refusal(
            control,
            f"nan_{name}",
            f"Is a ROI whose {name} is NaN refused?",
            "M11",
            level=OURS,
            asks="nan coordinate",
            inputs={"rois": _rois(roi, [row])},
        )
    for topic, far in (("1e10", 1e10), ("infinite", INF)):
        yield roi.case(
            f"end_{topic}",
            f"Does a ROI with x2 = {far:g} end at the map's border?",
            "M11, M8",
            [[0, 1, 0, far, 0]],
            both(1, 4),
            level=OURS,
            asks="saturation",
            control=control,
        )
        yield roi.case(
            f"start_{topic}",
            f"Does a ROI with x1 = {-far:g} start at the map's border?",
            "M11, M8",
            [[0, -far, 0, 127, 0]],  # 2^30 + 128 cells, which float32 counts too
            both(1, 4),
            level=OURS,
            asks="saturation",
            control=control,
        )
        yield roi.case(
            f"all_{topic}",
            f"Does a ROI from {-far:g} to {far:g} cover the whole map?",
            "M11, M8",
            [[0, -far, -far, far, far]],
            both(2, 3),
            level=OURS,
            asks="saturation",
            control=control,
        )


def values(roi: RoiOperator) -> Iterator[Case]:
    """G2 to G4, G6, and every type."""
    whole = [[0, 0, 0, 3, 0]]
    yield roi.case("negative_cells", "May a maximum be negative?", "G2", whole, line(-4, -2, -3, -5), asks="minimum")
    yield roi.case(
        "minus_infinity",
        "Is the maximum of cells that are all -inf -inf?",
        "G2",
        whole,
        line(*[-INF] * 4),
        asks="minimum",
    )
    yield roi.case("infinity", "Is +inf a maximum?", "G2", whole, line(1, INF, -INF, 2))
    for topic, cells in (
        ("first", (NAN, 1, 3, 2)),
        ("middle", (3, 1, NAN, 2)),
        ("last", (1, 3, 2, NAN)),
        ("only", (NAN, NAN, NAN, NAN)),
        ("twice", (3, NAN, 1, NAN)),
    ):
        yield roi.case(
            f"nan_{topic}",
            f"What is the maximum of {', '.join(f'{cell:g}' for cell in cells)}?",
            "G3",
            whole,
            line(*cells),
            level=OURS,
            asks="nan",
        )
    yield roi.case(
        "nan_elsewhere",
        "Is a NaN outside the ROI without effect?",
        "G1, G3",
        [[0, 1, 1, 2, 2]],
        np.where(np.pad(np.ones((2, 2)), 1) > 0, rising(4, 4), np.nan)[None, None],
        (2, 2),
    )
    yield roi.case(
        "zeros", "Is the maximum of -0 and +0 a zero?", "G4", [[0, 0, 0, 1, 0], [0, 1, 0, 2, 0]], line(-0.0, 0.0, -0.0)
    )
    for element_type in roi.version.types["T"]:
        yield from in_type(roi, element_type)


def in_type(roi: RoiOperator, element_type: str) -> Iterator[Case]:
    """M2 and D2: one type of the version."""
    dtype = dtype_of(element_type)
    less, more = finest(dtype)
    name = roi.version.title
    yield roi.case(
        element_type,
        f"Does {name} take {element_type}, keep each value's last digit, and give back the same type?",
        f"{roi.types_rule}, G6",
        [[0, 0, 0, 1, 0], [0, 2, 0, 3, 0]],
        np.array([less, more, more, less], np.float64).reshape(1, 1, 1, 4),
        element_type=element_type,
        asks="precision, result",
    )
    pairs = extremes(dtype)
    yield roi.case(
        f"{element_type}_extremes",
        f"Are the least and greatest {element_type} numbers, subnormal ones too, compared as numbers?",
        f"G2, G6, {roi.types_rule}",
        [[0, 0, row, 1, row] for row in range(len(pairs))],
        np.array(pairs, np.float64).reshape(1, 1, -1, 2),
        element_type=element_type,
    )
    if element_type == "double":
        yield roi.case(
            "double_product",
            "Is 45 times the float32 nearest to 0.7 below 31.5 for double coordinates, as in double?",
            "M5",
            [[0, 45, 0, 45, 0]],
            both(1, 34),
            scale=0.7,
            level=OURS,
            asks="product",
            element_type=element_type,
        )


def empty_tensors(roi: RoiOperator) -> Iterator[Case]:
    """G7."""
    yield roi.case("no_rois", "Do zero ROIs give an empty output of the right shape?", "G7, M1", [], both(2, 3), (2, 2))
    yield roi.case("no_images", "Do zero images and zero ROIs give an empty output?", "G7", [], both(2, 3)[:0], (2, 2))
    yield roi.case(
        "no_channels", "Do zero channels give an empty output?", "G7", [[0, 0, 0, 1, 1]], both(2, 3)[:, :0], (2, 2)
    )


def refusals(roi: RoiOperator) -> Iterator[Case]:
    """M1 to M3."""
    size = roi.size_attribute
    control = roi.case("control", "", "M3", [[0, 0, 0, 3, 2]], both(3, 4), (2, 2), scale=1.0)
    yield refusal(control, "no_size", f"Is a node without {size} refused?", "M3", attributes={size: None})
    yield refusal(control, "size_of_one", f"Is a {size} of one number refused?", "M3", attributes={size: [2]})
    yield refusal(
        control, "size_of_three", f"Is a {size} of three numbers refused?", "M3", attributes={size: [2, 2, 2]}
    )
    yield refusal(control, "size_0", f"Is a {size} with a 0 refused?", "M3", attributes={size: [2, 0]})
    yield refusal(control, "size_negative", f"Is a negative {size} refused?", "M3", attributes={size: [-1, 2]})
    for topic, scale in (("0", 0.0), ("negative", -1.0)):
        yield refusal(
            control,
            f"scale_{topic}",
            f"Is a spatial_scale of {scale:g} refused?",
            "M3",
            level=OURS,
            asks="scale of 0",
            attributes={"spatial_scale": scale},
        )
    for topic, scale in (("nan", NAN), ("infinite", INF)):
        yield refusal(
            control,
            f"scale_{topic}",
            f"Is a spatial_scale of {scale:g} refused?",
            "M3",
            level=OURS,
            attributes={"spatial_scale": scale},
        )
    rois = control.inputs["rois"]
    yield refusal(control, "roi_columns", "Are ROIs of four columns refused?", "M1", inputs={"rois": rois[..., :4]})
    yield refusal(
        control,
        "roi_rank",
        "Is a single ROI without its row dimension refused?",
        "M1",
        inputs={"rois": rois.reshape(5)},
    )
    yield refusal(
        control, "map_rank", "Is a map without its batch dimension refused?", "M1", inputs={"X": control.inputs["X"][0]}
    )
    yield refusal(
        control,
        "mixed_types",
        "Are ROIs of another type than the map's refused?",
        roi.types_rule,
        inputs={"rois": rois.astype(np.float16)},
    )
    yield refusal(
        control,
        "integers",
        "Are integers refused?",
        roi.types_rule,
        inputs={name: array.astype(np.int32) for name, array in control.inputs.items()},
    )


def random_family(roi: RoiOperator) -> Iterator[Case]:
    """Breadth: random maps and ROIs whose outputs the published texts settle."""
    for number, seed in enumerate(RANDOM_SEEDS):
        yield random_case(roi, number, seed)


def random_case(roi: RoiOperator, number: int, seed: int) -> Case:
    """Coordinates are whole cells and a quarter, so that none is a half; corners are in order; no cell is NaN."""
    height, width, pooled_height, pooled_width, rois, scale = integers(seed, (6,), 0, 1 << 20).tolist()
    height, width, rois = 3 + height % 8, 3 + width % 10, 2 + rois % 4
    pooled = 1 + pooled_height % 7, 1 + pooled_width % 7
    factor = 2.0 ** -(scale % 5)
    x = integers(seed + 1, (2, 2, height, width), -99, 100).astype(np.float32)
    corners = integers(seed + 2, (rois, 2, 2), -2, 14)
    ordered = np.sort(corners, axis=1).reshape(rois, 4) + 0.25
    images = integers(seed + 3, (rois, 1), 0, 2)
    rows: Any = np.concatenate([images, ordered / factor], axis=1).tolist()
    return roi.case(
        f"random_{number:02}",
        f"Are {rois} random ROIs pooled to {pooled[0]} x {pooled[1]} as the rules say?",
        "G1, G2, M4, M5, M7, M8, M9",
        rows,
        x,
        pooled,
        scale=factor,
    )


RANDOM_SEEDS = (100, 110, 120, 130, 140, 180, 200, 220, 230, 240, 270, 280)
"""Seeds for which all of `OPEN_WAYS` give the same outputs; a test holds them to that."""

OPEN_WAYS = (
    *("half to even", "floor(x + 0.5)", "half toward zero", "product in double"),
    *("float32 edges", "double edges", "accumulated float32 edges"),
    *("malformed ROI is empty", "malformed ROI is turned round", "NaN ignored"),
)
"""Answers on which the published texts are silent, so that a random case must not turn on them."""


def _rois(roi: RoiOperator, rows: Sequence[Sequence[float]]) -> Array:
    return np.array(rows, np.float32).reshape(roi.roi_shape(len(rows)))
