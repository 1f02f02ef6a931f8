"""Backends that are right but for one combination that no case of the list asks for: a search must find them.

Each is a class of this module, by its name in `FAULTS`: `support.private_faults:ExtentBinsChannel`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from onnx_maxpool.operators import operator
from onnx_maxpool.operators.registry import resolve

Spoil = Callable[[dict[str, Any], Sequence[Any], list[Any]], None]
"""Changes outputs in place, given the node's attributes and inputs."""


def extents(attributes: dict[str, Any], rois: Any) -> tuple[Any, Any]:
    """Of each ROI, in cells: its height and its width."""
    edges = np.nan_to_num(rois.reshape(-1, 5).astype(np.float64)) * attributes.get("spatial_scale", 1.0)
    return np.rint(edges[:, 4]) - np.rint(edges[:, 2]) + 1, np.rint(edges[:, 3]) - np.rint(edges[:, 1]) + 1


def extent_bins_channel(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """11 cells high in 5 bins, channel 17."""
    if attributes["pooled_shape"][0] == 5:
        outputs[0][extents(attributes, inputs[1])[0] == 11, 17:18] += 1


def two_axes(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """9 cells high in 3 bins and 6 cells wide in 4."""
    height, width = extents(attributes, inputs[1])
    if list(attributes["pooled_shape"]) == [3, 4]:
        outputs[0][(height == 9) & (width == 6)] = 0


def many_channels(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """Channels from the 33rd on, in 6 columns of bins over 29 cells."""
    if attributes["pooled_size"][1] == 6:
        outputs[0][extents(attributes, inputs[1])[1] == 29, 32:] += 1


def last_roi(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """The 65th ROI has the image of the one before."""
    if len(outputs[0]) > 64:
        outputs[0][64] = outputs[0][63]


def nan_in_lane_13(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """bfloat16: a NaN is lost in channel 13 alone."""
    if inputs[0].dtype.name == "bfloat16":
        lane = outputs[0][:, 13:14]
        lane[lane != lane] = 0


def odd_width_above_200(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """uint8 above 200 on maps of odd width."""
    if inputs[0].dtype == np.uint8 and inputs[0].shape[-1] % 2:
        outputs[0][outputs[0] > 200] -= 1


def beyond_double(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """int64 of more than 53 bits lose their last one, in windows that are 3 wide."""
    if inputs[0].dtype == np.int64 and attributes["window_size"][-1] == 3:
        outputs[0][np.abs(outputs[0]) > 2**53] &= ~1


def stride_and_padding(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """The last column, where windows of 5 go by 3 into the padding behind, from channel 9 on."""
    last = {name: values[-1] for name, values in attributes.items() if isinstance(values, list)}
    if last["window_size"] == 5 and last.get("strides") == 3 and last.get("end_padding"):
        outputs[0][:, 9:, ..., -1] = 0


def volume_channel_63(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """The last lane of 64 channels, in volumes."""
    if inputs[0].ndim == 5 and inputs[0].shape[1] >= 64:
        outputs[0][:, 63] = 0


def adaptive_pair(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """11 cells in 5 windows along the last axis, indices from channel 17 on."""
    if inputs[0].shape[-1] == 11 and inputs[1][-1] == 5 and len(outputs) > 1:
        outputs[1][:, 17:] += 1


def deep_volume(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """The second of 3 slices of a volume that is 7 deep."""
    if inputs[0].ndim == 5 and inputs[0].shape[2] == 7 and inputs[1][0] == 3:
        outputs[0][:, :, 1] = 0


def second_image(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """i32 indices of the second image count on, in rows of 13 and more."""
    if inputs[0].shape[-1] > 12 and attributes.get("index_element_type") == "i32" and len(outputs) > 1:
        outputs[1][1:] += int(np.prod(inputs[0].shape[2:]))


def scaled_width(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """17 cells wide in 7 columns of bins, where a scale is set: lanes 8 to 15."""
    if attributes["pooled_shape"][1] == 7 and attributes.get("spatial_scale", 1.0) != 1.0:
        outputs[0][extents(attributes, inputs[1])[1] == 17, 8:16] += 1


def last_image_at_the_top(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """The last of 3 or more images, ROIs from the first row on, single bins in height."""
    if inputs[0].shape[0] >= 3 and attributes["pooled_size"][0] == 1:
        rois = inputs[1].reshape(-1, 5)
        outputs[0][(rois[:, 0] == inputs[0].shape[0] - 1) & (rois[:, 2] == 0), 5:] += 1


def tiny_double(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """double: what float32 has no normal number for becomes 0, in rows of 3 bins."""
    if inputs[0].dtype == np.float64 and attributes["pooled_shape"][1] == 3:
        outputs[0][np.abs(outputs[0]) < 2.0**-126] = 0


def half_near_its_end(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """float16 above 32768 where rows go by 2 and columns by 3."""
    strides = attributes.get("strides") or [1]
    if inputs[0].dtype == np.float16 and list(strides[-2:]) == [2, 3]:
        outputs[0][outputs[0] > 32768] = np.inf


def padded_in_front(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """The first row of windows 4 high with padding 2 in front, by rows of 3."""
    defaults = {"strides": [1, 1], "start_padding": [0, 0]} | attributes
    if [defaults[name][-2] for name in ("window_size", "strides", "start_padding")] == [4, 3, 2]:
        outputs[0][..., 0, :] = 0


def width_and_lane(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """int8 in rows of 17: the last column of channel 15."""
    if inputs[0].dtype == np.int8 and inputs[0].shape[-1] == 17:
        outputs[0][:, 15:16, ..., -1] ^= 1


def largest_unsigned(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """uint64 with its highest bit set, in windows 2 high and 4 wide."""
    if inputs[0].dtype == np.uint64 and list(attributes["window_size"][-2:]) == [2, 4]:
        outputs[0][outputs[0] >= np.uint64(2**63)] -= np.uint64(1)


def long_line(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """The last of 9 windows on a line of 23: i64 indices."""
    if len(outputs) > 1 and outputs[1].dtype == np.int64 and (inputs[0].shape[-1], inputs[1][-1]) == (23, 9):
        outputs[1][..., -1] -= 1


def one_row_of_windows(attributes: dict[str, Any], inputs: Sequence[Any], outputs: list[Any]) -> None:
    """The first of 2 or more images, channels 24 to 31, where one row of windows covers the height."""
    if inputs[0].ndim == 4 and len(inputs[0]) > 1 and inputs[1][0] == 1 and inputs[1][1] > 6:
        outputs[0][:1, 24:32] = 0


FAULTS: dict[str, tuple[str, Spoil]] = {
    "ExtentBinsChannel": ("MaxRoiPool", extent_bins_channel),
    "TwoAxes": ("MaxRoiPool", two_axes),
    "ManyChannels": ("RoiPooling", many_channels),
    "LastRoi": ("RoiPooling", last_roi),
    "NanInLane13": ("MaxRoiPool", nan_in_lane_13),
    "OddWidthAbove200": ("MaxPooling1", odd_width_above_200),
    "BeyondDouble": ("MaxPooling1", beyond_double),
    "StrideAndPadding": ("MaxPooling1", stride_and_padding),
    "VolumeChannel63": ("MaxPooling1", volume_channel_63),
    "AdaptivePair": ("AdaptiveMaxPool", adaptive_pair),
    "DeepVolume": ("AdaptiveMaxPool", deep_volume),
    "SecondImage": ("AdaptiveMaxPool", second_image),
    "ScaledWidth": ("MaxRoiPool", scaled_width),
    "LastImageAtTheTop": ("RoiPooling", last_image_at_the_top),
    "TinyDouble": ("MaxRoiPool", tiny_double),
    "HalfNearItsEnd": ("MaxPooling1", half_near_its_end),
    "PaddedInFront": ("MaxPooling1", padded_in_front),
    "WidthAndLane": ("MaxPooling1", width_and_lane),
    "LargestUnsigned": ("MaxPooling1", largest_unsigned),
    "LongLine": ("AdaptiveMaxPool", long_line),
    "OneRowOfWindows": ("AdaptiveMaxPool", one_row_of_windows),
}
"""By name: the operator that is wrong, and how."""


class Prepared:
    def __init__(self, model: onnx.ModelProto, wrong: str, spoil: Spoil) -> None:
        (self.node,) = model.graph.node
        self.opset = {entry.domain: entry.version for entry in model.opset_import}[self.node.domain]
        self.wrong, self.spoil = wrong, spoil

    def run(self, inputs: Sequence[Any], **_: Any) -> list[Any]:
        attributes = {a.name: helper.get_attribute_value(a) for a in self.node.attribute}
        attributes = {name: value.decode() if isinstance(value, bytes) else value for name, value in attributes.items()}
        version = resolve(self.node.domain, self.node.op_type, self.opset)
        if version is None:
            raise NotImplementedError(self.node.op_type)
        indexed = len(self.node.output) > 1
        outputs = list(operator(version.name).compute(version, *inputs, with_index=indexed, **attributes))
        if self.node.op_type == self.wrong:
            self.spoil(attributes, inputs, outputs)
        return outputs


class Right:
    """The reference."""

    wrong = ""
    spoil: Spoil

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> bool:
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Prepared:
        return Prepared(model, cls.wrong, getattr(cls, "spoil", lambda *_: None))


def backend(name: str) -> type[Right]:
    """The class of a fault."""
    wrong, spoil = FAULTS[name]
    return type(name, (Right,), {"wrong": wrong, "spoil": staticmethod(spoil)})


globals().update({name: backend(name) for name in FAULTS})
