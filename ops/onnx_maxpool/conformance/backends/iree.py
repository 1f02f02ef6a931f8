"""IREE."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

import iree.compiler as compiler
import iree.runtime as runtime
import numpy as np
import onnx
from iree.compiler.extras import onnx_importer

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.types import Array

TARGET = "llvm-cpu"
FLAGS = ("--iree-llvmcpu-target-cpu=host",)
LACKING = ("failed to legalize operation 'torch.operator'",)
"""How the compiler says that it has no such operator of ONNX."""


class Iree(Adapter):
    """Models through IREE's ONNX importer, compiled for this processor."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A compiled module."""
        inferred = onnx.shape_inference.infer_shapes(model)
        context = compiler.ir.Context()
        info = onnx_importer.ModelInfo(inferred)
        module = info.create_module(context=context).operation
        onnx_importer.NodeImporter.define_function(info.main_graph, module).import_all()
        try:
            binary = compiler.compile_str(
                str(module), input_type="onnx", target_backends=[TARGET], extra_args=list(FLAGS)
            )
        except compiler.CompilerToolError as error:
            if any(words in str(error) for words in LACKING):
                raise UnsupportedError(str(error)) from error
            raise
        loaded = runtime.load_vm_flatbuffer(binary, driver="local-sync")
        function = getattr(loaded, model.graph.name)

        def run(arrays: Sequence[Array]) -> list[Array]:
            results = function(*arrays)
            return [np.array(y.to_host()) for y in (results if isinstance(results, list | tuple) else [results])]

        return run

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version and target."""
        return {"iree": importlib.metadata.version("iree-base-compiler"), "target": TARGET}
