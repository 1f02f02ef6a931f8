"""Backends that are wrong on purpose. The suite must catch each of them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
from onnx.backend.base import Backend, BackendRep

from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.conformance.backends.adapter import OneNode
from onnx_maxpool.conformance.oracle.maximum import evaluate
from onnx_maxpool.conformance.oracle.windows import RefusedError


class Function(BackendRep):
    def __init__(self, function: Any) -> None:
        self.function = function

    def run(self, inputs: Any, **_: Any) -> Any:
        return self.function(inputs)


class Good(Backend):
    """The reference, as anyone would wrap it: no method but `prepare`."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        evaluator = reference_evaluator(model)
        names = [value.name for value in model.graph.input]
        return Function(lambda inputs: evaluator.run(None, dict(zip(names, inputs, strict=True))))


REFUSALS: dict[bytes, Exception | None] = {}
"""What is rejected for its shape, type or attributes, by model and inputs: every faulty backend is asked the same."""


def refuse_what_is_invalid(model: onnx.ModelProto, inputs: Any) -> None:
    """Raises what the reference raises, but not for values of ROIs and paddings, which a choice may answer."""
    key = b"".join([model.SerializeToString(), *(array.tobytes() for array in inputs)])
    if key not in REFUSALS:
        REFUSALS[key] = None
        node = OneNode.of(model)
        try:
            evaluate(node.operator, inputs, node.attributes, outputs=node.outputs)
            Good.prepare(model).run(inputs)
        except RefusedError:
            pass
        except Exception as error:
            REFUSALS[key] = error
    refusal = REFUSALS[key]
    if refusal is not None:
        raise refusal


def answering(choices: Mapping[str, str]) -> type[Backend]:
    """A backend that is right but for its answers to some questions of `onnx_maxpool.conformance.oracle.answers`."""

    class Answering(Backend):
        @classmethod
        def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
            node = OneNode.of(model)

            def run(inputs: Any) -> Any:
                refuse_what_is_invalid(model, inputs)
                return evaluate(node.operator, inputs, node.attributes, choices, outputs=node.outputs)

            return Function(run)

    return Answering


class HalfToEven(answering({"rounding": "half to even"})):  # type: ignore[misc]
    """By a name that a command line can give."""


class EmptyIsMinusInfinity(answering({"empty": "empty bin is -inf"})):  # type: ignore[misc]
    """Fails a required case."""


class RefusesEverything(Backend):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        raise ValueError("no")


class LacksEverything(Backend):
    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> bool:
        return False


class LacksTwoChannels(Good):
    """Says of some models that it does not support them, and is right otherwise."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        if model.graph.input[0].type.tensor_type.shape.dim[1].dim_value == 2:
            raise NotImplementedError("two channels")
        return Good.prepare(model)


class ReturnsNothing(Good):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        return Function(lambda inputs: None)


class OnRefusal(Good):
    """Does something else where it should raise."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        def run(inputs: Any) -> Any:
            try:
                return Good.prepare(model).run(inputs)
            except Exception:
                return cls.instead()

        return Function(run)

    @classmethod
    def instead(cls) -> Any:
        raise NotImplementedError


class ReturnsNothingForErrors(OnRefusal):
    """Has no outputs where it should raise, as a runtime whose binding drops errors."""

    nothing: tuple[Any, ...] = ()

    @classmethod
    def instead(cls) -> Any:
        return cls.nothing


class ReturnsNone(ReturnsNothingForErrors):
    """An output that is none."""

    nothing = (None,)


class ReturnsTooMuch(Good):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        right = Good.prepare(model)
        return Function(lambda inputs: [*right.run(inputs), np.zeros(1)])


class DropsADimension(Good):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        right = Good.prepare(model)
        return Function(lambda inputs: [output[0] if len(output) else output for output in right.run(inputs)])


class FlushesSubnormals(Good):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        right = Good.prepare(model)

        def flushed(y: Any) -> Any:
            if y.dtype.kind in "iu":
                return y
            return np.where(np.abs(y.astype(np.float64)) < 1e-37, np.zeros_like(y), y)

        return Function(lambda inputs: [flushed(np.asarray(output)) for output in right.run(inputs)])


class CrashesOnManyRois(Good):
    """Dies of a signal, as a read out of bounds does; right otherwise."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        right = Good.prepare(model)

        def run(inputs: Any) -> Any:
            if len(inputs[1]) == 3:
                print("about to read out of bounds", flush=True)
                os.kill(os.getpid(), signal.SIGSEGV)
            return right.run(inputs)

        return Function(run)


class HangsOnManyRois(Good):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        right = Good.prepare(model)

        def run(inputs: Any) -> Any:
            if len(inputs[1]) == 3:
                time.sleep(3600)
            return right.run(inputs)

        return Function(run)


class GuessesWhereItMustRefuse(Good):
    """Answers a wrong batch number with whatever it finds, as a read out of bounds does; right otherwise."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        right = Good.prepare(model)

        def run(inputs: Any) -> Any:
            try:
                return right.run(inputs)
            except Exception:
                guess = np.frombuffer(os.urandom(2), np.uint16)
                return [np.full((1, 1, 2, 2), guess, inputs[0].dtype)]

        return Function(run)


class HangsOnRefusal(OnRefusal):
    @classmethod
    def instead(cls) -> Any:
        time.sleep(3600)


class GuessesOnRefusal(OnRefusal):
    """Another number in every process."""

    @classmethod
    def instead(cls) -> Any:
        return [np.full((1, 1, 1, 1), os.getpid(), np.float32)]


class AlwaysZero(OnRefusal):
    """The same number in every process."""

    @classmethod
    def instead(cls) -> Any:
        return [np.zeros((1, 1, 1, 1), np.float32)]


class CrashesOnValid(Good):
    """Raises where it should, and dies of everything else."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        def run(inputs: Any) -> Any:
            Good.prepare(model).run(inputs)
            os.kill(os.getpid(), signal.SIGSEGV)

        return Function(run)


class TwoFaults(Good):
    """What is great becomes greater, and what is negative smaller: two faults that no named answer explains."""

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **_: Any) -> Function:
        def run(inputs: Any) -> Any:
            outputs = [np.array(y) for y in Good.prepare(model).run(inputs)]
            y = outputs[0]
            outputs[0] = np.where(y > 5, y + 7, np.where(y < 0, y - 50, y)).astype(y.dtype)
            return outputs

        return Function(run)
