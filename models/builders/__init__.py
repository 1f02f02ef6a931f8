"""Test models, small and large: one table, `MODELS`, drives what is built, compared and tested."""

from __future__ import annotations

from collections.abc import Iterator

from builders.model import Model
from builders.nested_roi import (
    roi_in_function,
    roi_in_function_inputs,
    roi_in_if,
    roi_in_if_inputs,
    roi_in_loop,
    roi_in_loop_inputs,
)
from builders.single_operator import single_operator_models
from builders.spatial_pyramid import spatial_pyramid, spatial_pyramid_inputs
from onnx_maxpool.demo.model import region_search, region_search_inputs
from onnx_maxpool.samples.fast_rcnn import fast_rcnn_head, fast_rcnn_head_inputs, write_weights

__all__ = ["MODELS", "Model"]


def _all_models() -> Iterator[Model]:
    yield from single_operator_models()
    yield Model("roi_in_loop", "MaxRoiPool-22 in a Loop's body", roi_in_loop, roi_in_loop_inputs)
    yield Model("roi_in_if", "MaxRoiPool-22 in an If's branches", roi_in_if, roi_in_if_inputs)
    yield Model("roi_in_function", "MaxRoiPool-22 in a local function", roi_in_function, roi_in_function_inputs)
    yield Model("region_search", "Search for look-alikes of an image region", region_search, region_search_inputs)
    yield Model(
        "spatial_pyramid",
        "A classifier of photographs of any size, by AdaptiveMaxPool-8",
        spatial_pyramid,
        spatial_pyramid_inputs,
    )
    yield Model(
        "fast_rcnn_head",
        "Fast R-CNN's head at VGG-16's shape, exact in float32",
        fast_rcnn_head,
        fast_rcnn_head_inputs,
        write_weights,
    )


MODELS = {model.name: model for model in _all_models()}
"""All models by name, in the order of building."""
