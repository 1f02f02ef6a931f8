"""IREE."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

import numpy as np
import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs
from onnx_maxpool.types import Array


class Iree(Adapter):
    """Models through IREE's ONNX importer, compiled for this processor."""

    lacking = ("failed to legalize operation 'torch.operator'",)

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """The outputs of a compiled module."""
        import iree.compiler
        import iree.runtime
        from iree.compiler.extras import onnx_importer

        info = onnx_importer.ModelInfo(onnx.shape_inference.infer_shapes(model))
        module = info.create_module(context=iree.compiler.ir.Context()).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        flags = ["--iree-llvmcpu-target-cpu=host"]
        binary = iree.compiler.compile_str(
            str(module), input_type="onnx", target_backends=["llvm-cpu"], extra_args=flags
        )
        loaded = iree.runtime.load_vm_flatbuffer(binary, driver="local-sync")
        results = getattr(loaded, model.graph.name)(*inputs.values())
        return [np.array(y.to_host()) for y in (results if isinstance(results, (list, tuple)) else [results])]

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version and target."""
        import iree.compiler
        import iree.runtime  # noqa: F401

        return {"iree": importlib.metadata.version("iree-base-compiler"), "target": "llvm-cpu"}
