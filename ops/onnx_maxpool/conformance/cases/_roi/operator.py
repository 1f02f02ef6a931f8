"""How an operator puts the questions to ROI pooling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from onnx_maxpool.conformance.case import Case, Level
from onnx_maxpool.conformance.cases._building import in_types, make
from onnx_maxpool.operators.registry import OperatorVersion
from onnx_maxpool.types import Array


@dataclass(frozen=True)
class RoiOperator:
    """How one operator puts the shared questions."""

    version: OperatorVersion
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
        roi_tensor = np.array(rois, np.float64).reshape(self._roi_shape(len(rois)))
        attributes: dict[str, Any] = {} if pooled is None else {self.version.size_attribute: list(pooled)}
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

    def rois(self, rows: Sequence[Sequence[float]]) -> Array:
        """A ROI tensor of this operator, float32."""
        return np.array(rows, np.float32).reshape(self._roi_shape(len(rows)))

    def _roi_shape(self, count: int) -> tuple[int, ...]:
        return (*[1] * (self.version.roi_rank - 2), count, 5)
