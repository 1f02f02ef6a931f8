"""Our operators in ONNX's reference evaluator."""

from __future__ import annotations

import onnx

from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.conformance.backends.adapter import Adapter, Run


class Reference(Adapter):
    """`onnx.reference.ReferenceEvaluator` with `onnx_maxpool.reference_ops()`."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """An evaluator."""
        evaluator = reference_evaluator(model)
        names = [value.name for value in model.graph.input]
        return lambda inputs: list(evaluator.run(None, dict(zip(names, inputs, strict=True))))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """The version of onnx."""
        return {"onnx": onnx.__version__, "bin edges": "by operator"}
