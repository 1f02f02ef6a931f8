"""TVM's Relax."""

from __future__ import annotations

import onnx
import tvm
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError

TARGET = "llvm"
LACKING = "Missing outputs during conversion"
"""How the frontend says that it has an operator without its second output."""


class Tvm(Adapter):
    """Models through TVM's ONNX frontend."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A virtual machine."""
        try:
            module = from_onnx(model)
        except (tvm.error.OpNotImplemented, AssertionError) as error:
            if isinstance(error, AssertionError) and LACKING not in str(error):
                raise
            raise UnsupportedError(str(error)) from error
        module = relax.transform.DecomposeOpsForInference()(module)
        machine = relax.VirtualMachine(tvm.compile(module, target=TARGET), tvm.cpu())
        several = len(model.graph.output) > 1

        def run(inputs: object) -> list[object]:
            outputs = machine["main"](*(tvm.runtime.tensor(array) for array in inputs))  # type: ignore[attr-defined]
            return [output.numpy() for output in (outputs if several else [outputs])]

        return run  # type: ignore[return-value]

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version and target."""
        return {"tvm": tvm.__version__, "target": TARGET}
