"""ONNX's reference evaluator as it is installed."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs
from onnx_maxpool.types import Array


class OnnxReference(Adapter):
    """`onnx.reference.ReferenceEvaluator`, which raises a NotImplementedError for operators that it does not have."""

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs of an evaluator."""
        from onnx.reference import ReferenceEvaluator

        return list(ReferenceEvaluator(model).run(None, inputs))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """The version of onnx."""
        return {"onnx": onnx.__version__}
