"""Questions to ROI pooling about windows: rules M3 to M9, G1."""

from __future__ import annotations

from collections.abc import Iterator

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._building import OURS, both, rising
from onnx_maxpool.conformance.cases._roi.operator import RoiOperator


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
    if "double" in roi.version.types["T"]:
        yield roi.case(
            "just_below_half_double",
            "Does 0.49999999999999994, the double below one half, round to 0? Adding one half to it gives 1.",
            "M5",
            [[0, 0.49999999999999994, 0, 0.49999999999999994, 0]],
            both(1, 3),
            level=OURS,
            asks="rounding",
            element_type="double",
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
    """M7."""
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
            "M7",
            [[0, 0, 0, extent - 1, 0]],
            both(1, extent + 2),
            (1, count),
            level=roi.edges,
            asks="edges",
        )
    yield roi.case(
        "edges_2_in_82",
        "Is the first of 2 cells the maximum of 41 bins of 82, or of 42, as in float32 the 42nd starts one cell early?",
        "M7",
        [[0, 0, 0, 1, 0]],
        both(1, 3),
        (1, 82),
        level=roi.edges,
        asks="edges",
    )
    if "double" in roi.version.types["T"]:
        for extent, count in ((57, 7), (29, 7)):
            yield roi.case(
                f"edges_{extent}_in_{count}_double",
                f"Are edges of {extent} cells in {count} bins computed in double for double inputs?",
                "M7",
                [[0, 0, 0, extent - 1, 0]],
                both(1, extent + 2),
                (1, count),
                level=roi.edges,
                asks="edges",
                element_type="double",
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
        "negative_cells_in_bins",
        "Are the bins of a ROI pooled to 3 x 2 negative where the map is, and not 0?",
        "G2",
        [[0, 1, 0, 5, 6]],
        -rising(1, 2, 8, 7) - 1,
        (3, 2),
        asks="minimum",
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
