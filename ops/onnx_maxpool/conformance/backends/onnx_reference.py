"""ONNX's reference evaluator as it is installed."""

from __future__ import annotations

import onnx
from onnx.reference import ReferenceEvaluator

from onnx_maxpool.conformance.backends.adapter import Adapter, Run


class OnnxReference(Adapter):
    """`onnx.reference.ReferenceEvaluator`, which raises a NotImplementedError for operators that it does not have."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """An evaluator."""
        evaluator = ReferenceEvaluator(model)
        names = [value.name for value in model.graph.input]
        return lambda inputs: list(evaluator.run(None, dict(zip(names, inputs, strict=True))))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """The version of onnx."""
        return {"onnx": onnx.__version__}
