"""A backend that the conformance suite asks.

    onnx-maxpool conformance --backend backend_under_test:Backend

It has the methods of `onnx.backend.base.Backend` that the suite calls; this one runs OpenVINO.
Needs this package with the extra `conformance`, and openvino.
"""

from typing import Any

import numpy as np
import onnx
import openvino
from onnx.backend.base import Backend as BaseBackend
from onnx.backend.base import BackendRep


class Compiled(BackendRep):
    def __init__(self, model: openvino.CompiledModel) -> None:
        self.model = model

    def run(self, inputs: list[np.ndarray], **options: Any) -> tuple[np.ndarray, ...]:
        results = self.model(inputs)
        return tuple(results[output] for output in self.model.outputs)


class Backend(BaseBackend):
    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> Compiled:
        core = openvino.Core()
        settings = {"INFERENCE_PRECISION_HINT": "f32"}
        return Compiled(core.compile_model(core.read_model(model.SerializeToString(), b""), device, settings))

    @classmethod
    def supports_device(cls, device: str) -> bool:
        return device == "CPU"
