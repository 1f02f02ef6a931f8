"""OpenCV's dnn module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import cv2
import numpy as np
import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.types import Array

LACKING = ("Can't create layer", "currently supports", "inputs supported", ": unsupported")
"""How it says that it has no such operator, or not for such an input: MaxPool with indices is for float and rank 4."""


class OpenCv(Adapter):
    """Models through `cv2.dnn.readNetFromONNX`."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A network."""
        net = cls.calling(cv2.dnn.readNetFromONNX, np.frombuffer(model.SerializeToString(), np.uint8))
        inputs = [value.name for value in model.graph.input]
        outputs = [value.name for value in model.graph.output]

        def run(arrays: Sequence[Array]) -> list[Array]:
            for name, array in zip(inputs, arrays, strict=True):
                cls.calling(net.setInput, array, name)
            return [np.array(y) for y in cls.calling(net.forward, outputs)]

        return run

    @staticmethod
    def calling(function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function of OpenCV gives. Raises UnsupportedError where it says that it lacks the node."""
        try:
            return function(*arguments)
        except cv2.error as error:
            if any(words in str(error) for words in LACKING):
                raise UnsupportedError(str(error)) from error
            raise

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        return {"opencv": cv2.__version__, "device": "CPU"}
