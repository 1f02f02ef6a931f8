"""torchvision's ROI pooling, called with what a node says."""

from __future__ import annotations

from collections.abc import Sequence

import onnx
import torch
import torchvision
from torchvision.ops import roi_pool

from onnx_maxpool.conformance.backends.adapter import Adapter, OneNode, Run
from onnx_maxpool.conformance.backends.torch import array, tensor
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.graph.checking import check_model
from onnx_maxpool.graph.inference import Survey
from onnx_maxpool.operators.registry import versions_of
from onnx_maxpool.types import Array

LACKING = "not implemented for"
"""How torch says that a function does not have a type."""


class TorchVision(Adapter):
    """`torchvision.ops.roi_pool` for every operator that pools ROIs. It says itself which types it does not have."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A call of the function, once the node is what its version allows: functions know of no versions."""
        check_model(Survey(model))
        node = OneNode.of(model)
        rows = [row for row in versions_of(node.domain, node.operator) if row.plan == "roi"]
        if not rows:
            raise UnsupportedError(f"torchvision has no {node.operator}")
        size = tuple(node.attributes[rows[0].size_attribute])
        scale = node.attributes.get("spatial_scale", 1.0)

        def run(inputs: Sequence[Array]) -> list[Array]:
            x, rois = map(tensor, inputs)
            rows_of_rois = rois.reshape(rois.shape[rows[0].roi_rank - 2 :])  # fails where a dimension left out is not 1
            try:
                return [array(roi_pool(x, rows_of_rois, size, scale))]
            except RuntimeError as error:
                if LACKING in str(error):
                    raise UnsupportedError(str(error)) from error
                raise

        return run

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Both versions."""
        return {
            "torchvision": torchvision.__version__,
            "torch": torch.__version__,
            "device": "CPU",
            "nodes checked by": "onnx_maxpool",
        }
