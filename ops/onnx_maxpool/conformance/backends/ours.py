"""Our own operators, in each of their forms. The reference needs no ONNX Runtime, so the others import that."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import onnx

from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.conformance.backends.adapter import Adapter, Run, unsupported_where
from onnx_maxpool.conformance.backends.onnxruntime import LACKING
from onnx_maxpool.graph.checking import check_model
from onnx_maxpool.graph.survey import Survey


def quiet() -> Any:
    """Options of a session that writes no log."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    return options


def in_session(session: Any) -> Run:
    """The function that runs a session on inputs in the model's order."""
    from onnx_maxpool.adapters.arrays import run

    names = [value.name for value in session.get_inputs()]
    return lambda inputs: run(session, dict(zip(names, inputs, strict=True)))


class Native(Adapter):
    """`onnx_maxpool.load`, on ONNX Runtime's CPU provider."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session; also raises OperatorError."""
        from onnx_maxpool.adapters.onnxruntime import load

        return in_session(load(model, quiet()))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """ONNX Runtime's version and provider."""
        import onnxruntime as ort

        return {"onnxruntime": ort.__version__, "provider": "CPUExecutionProvider", "bin edges": "by operator"}


class Python(Adapter):
    """`onnx_maxpool.load(model, implementation="python")`, on ONNX Runtime's CPU provider."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session; also raises OperatorError."""
        from onnx_maxpool.adapters.onnxruntime import load

        return in_session(load(model, quiet(), implementation="python"))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """The versions of both runtimes."""
        import onnxruntime as ort

        return {
            "onnxruntime": ort.__version__,
            "onnxruntime-extensions": importlib.metadata.version("onnxruntime-extensions"),
            "bin edges": "by operator",
        }


class Portable(Adapter):
    """`to_portable(model)` in a session without our library."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A session; also raises OperatorError."""
        import onnxruntime as ort

        from onnx_maxpool.adapters.portable import to_portable

        check_model(Survey(model))
        portable = to_portable(model).SerializeToString()
        with unsupported_where(LACKING):
            return in_session(ort.InferenceSession(portable, quiet(), ["CPUExecutionProvider"], enable_fallback=False))

    @classmethod
    def describe(cls) -> dict[str, str]:
        """ONNX Runtime's version and provider."""
        import onnxruntime as ort

        return {"onnxruntime": ort.__version__, "provider": "CPUExecutionProvider"}


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
