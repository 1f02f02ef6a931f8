"""Questions to ROI pooling about bad ROIs, shapes and attributes: rules M1 to M3, M10, M11, and G7."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._building import INF, NAN, OURS, both, refusal, rising
from onnx_maxpool.conformance.cases._roi.operator import RoiOperator


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
            f"Is batch number {value:g} of 3 images rejected? There is no such image to read.",
            "M10",
            asks="batch" if abs(value) < 1e9 else "",
            inputs={"rois": roi.rois([[value, 0, 0, 1, 0]])},
        )
    yield refusal(
        control,
        "batch_n_of_several",
        "Is a wrong batch number rejected in the last of several ROIs too?",
        "M10",
        asks="batch",
        inputs={"rois": roi.rois([[0, 0, 0, 1, 0], [2, 0, 0, 0, 0], [3, 0, 0, 1, 0]])},
    )
    yield refusal(
        control,
        "batch_nan",
        "Is a batch number that is NaN rejected?",
        "M10",
        level=OURS,
        asks="nan batch",
        inputs={"rois": roi.rois([[NAN, 0, 0, 1, 0]])},
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
            f"Is a ROI whose {name} is NaN rejected?",
            "M11",
            level=OURS,
            asks="nan coordinate",
            inputs={"rois": roi.rois([row])},
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
            [[0, -far, 0, 131071, 0]],  # float32 holds this extent, and that from -2^40
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


def empty_tensors(roi: RoiOperator) -> Iterator[Case]:
    """G7."""
    yield roi.case("no_rois", "Do zero ROIs give an empty output of the right shape?", "G7, M1", [], both(2, 3), (2, 2))
    yield roi.case("no_images", "Do zero images and zero ROIs give an empty output?", "G7", [], both(2, 3)[:0], (2, 2))
    yield roi.case(
        "no_channels", "Do zero channels give an empty output?", "G7", [[0, 0, 0, 1, 1]], both(2, 3)[:, :0], (2, 2)
    )


def refusals(roi: RoiOperator) -> Iterator[Case]:
    """M1 to M3."""
    size = roi.version.size_attribute
    control = roi.case("control", "", "M3", [[0, 0, 0, 3, 2]], both(3, 4), (2, 2), scale=1.0)
    yield refusal(control, "no_size", f"Is a node without {size} rejected?", "M3", attributes={size: None})
    yield refusal(control, "size_of_one", f"Is a {size} of one number rejected?", "M3", attributes={size: [2]})
    yield refusal(
        control, "size_of_three", f"Is a {size} of three numbers rejected?", "M3", attributes={size: [2, 2, 2]}
    )
    yield refusal(control, "size_0", f"Is a {size} with a 0 rejected?", "M3", attributes={size: [2, 0]})
    yield refusal(control, "size_negative", f"Is a negative {size} rejected?", "M3", attributes={size: [-1, 2]})
    for topic, scale in (("0", 0.0), ("negative", -1.0)):
        yield refusal(
            control,
            f"scale_{topic}",
            f"Is a spatial_scale of {scale:g} rejected?",
            "M3",
            level=OURS,
            asks="scale of 0",
            attributes={"spatial_scale": scale},
        )
    for topic, scale in (("nan", NAN), ("infinite", INF)):
        yield refusal(
            control,
            f"scale_{topic}",
            f"Is a spatial_scale of {scale:g} rejected?",
            "M3",
            level=OURS,
            attributes={"spatial_scale": scale},
        )
    rois = control.inputs["rois"]
    yield refusal(control, "roi_columns", "Are ROIs of four columns rejected?", "M1", inputs={"rois": rois[..., :4]})
    yield refusal(
        control,
        "roi_rank",
        "Is a single ROI without its row dimension rejected?",
        "M1",
        inputs={"rois": rois.reshape(5)},
    )
    yield refusal(
        control,
        "map_rank",
        "Is a map without its batch dimension rejected?",
        "M1",
        inputs={"X": control.inputs["X"][0]},
    )
    yield refusal(
        control,
        "mixed_types",
        "Are ROIs of another type than the map's rejected?",
        roi.types_rule,
        inputs={"rois": rois.astype(np.float16)},
    )
    yield refusal(
        control,
        "integers",
        "Are integers rejected?",
        roi.types_rule,
        inputs={name: array.astype(np.int32) for name, array in control.inputs.items()},
    )
