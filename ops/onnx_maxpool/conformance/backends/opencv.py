"""OpenCV's dnn module."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs
from onnx_maxpool.types import Array


class OpenCv(Adapter):
    """Models through `cv2.dnn.readNetFromONNX`."""

    # MaxPool with indices is for float and rank 4.
    lacking = ("Can't create layer", "currently supports", "inputs supported", ": unsupported")

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs of a network."""
        import cv2

        net = cv2.dnn.readNetFromONNX(np.frombuffer(model.SerializeToString(), np.uint8))
        for name, array in inputs.items():
            net.setInput(array, name)
        outputs = net.forward([value.name for value in model.graph.output])
        return [np.array(y) for y in outputs if y is not None]  # None is an empty tensor

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        import cv2

        return {"opencv": cv2.__version__, "device": "CPU"}
