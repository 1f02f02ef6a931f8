"""emx-onnx-cgen, which writes C."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Sequence

import numpy as np
import onnx

from onnx_maxpool.conformance.backends.adapter import Adapter, Inputs
from onnx_maxpool.types import Array


class Emx(Adapter):
    """Models as C, compiled by `cc` and called."""

    lacking = ("UnsupportedOpError",)

    @staticmethod
    def run(model: onnx.ModelProto, inputs: Inputs) -> Sequence[Array]:
        """What the C code writes, compiled by cc and called."""
        import ctypes
        import os
        import re
        import subprocess
        import tempfile

        from emx_onnx_cgen.compiler import Compiler, CompilerOptions

        code = Compiler(CompilerOptions(model_name="entry")).compile(model)
        folder = tempfile.mkdtemp()  # stays: the loader takes a new file in a deleted one's place for the old library
        source, library = os.path.join(folder, "model.c"), os.path.join(folder, "model.so")
        with open(source, "w") as file:
            file.write(code)
        command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", source, "-o", library, "-lm"]
        compiled = subprocess.run(command, capture_output=True, text=True)
        if compiled.returncode:
            raise RuntimeError(compiled.stderr)

        # The code has no empty arrays: it reads and writes what its own signature says, whatever is given. There
        # `float X[restrict 1][2][3]` has the shape (1, 2, 3).
        (signature,) = re.findall(r"^void entry\((.*)\) {", code, re.MULTILINE)
        shapes = [tuple(map(int, re.findall(r"\[(?:restrict )?(\d+)\]", part))) for part in signature.split(",")]
        given = [np.resize(array, shape) for array, shape in zip(inputs.values(), shapes, strict=False)]
        kinds = [onnx.helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type) for v in model.graph.output]
        results = [np.empty(shape, kind) for shape, kind in zip(shapes[len(given) :], kinds, strict=True)]
        ctypes.CDLL(library).entry(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*given, *results)))
        return results

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        import emx_onnx_cgen  # noqa: F401

        return {"emx-onnx-cgen": importlib.metadata.version("emx-onnx-cgen"), "compiler": "cc -O1"}
