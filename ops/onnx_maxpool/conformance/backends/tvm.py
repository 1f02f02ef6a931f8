"""TVM's Relax."""

from __future__ import annotations

from collections.abc import Sequence

import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs
from onnx_maxpool.types import Array


class Tvm(Adapter):
    """Models through TVM's ONNX frontend, compiled for the CPU."""

    # Without an operator, and with one that has no second output.
    lacking = ("OpNotImplemented", "Missing outputs during conversion")

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs of a virtual machine."""
        import tvm
        from tvm import relax
        from tvm.relax.frontend.onnx import from_onnx

        module = relax.transform.DecomposeOpsForInference()(from_onnx(model))
        machine = relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())
        outputs = machine["main"](*(tvm.runtime.tensor(array) for array in inputs.values()))
        return [output.numpy() for output in (outputs if len(model.graph.output) > 1 else [outputs])]

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version and target."""
        import tvm
        import tvm.relax.frontend.onnx

        return {"tvm": tvm.__version__, "target": "llvm"}
