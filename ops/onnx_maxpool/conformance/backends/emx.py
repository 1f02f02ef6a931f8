"""emx-onnx-cgen, which writes C."""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

import emx_onnx_cgen.compiler as generator
import numpy as np
import onnx
from emx_onnx_cgen.errors import UnsupportedOpError
from onnx import helper

from onnx_maxpool.conformance.backends.adapter import Adapter, Run
from onnx_maxpool.conformance.run.execution import UnsupportedError
from onnx_maxpool.types import Array

ENTRY = "entry"
FOLDER = tempfile.TemporaryDirectory(prefix="onnx_maxpool_")
"""Of the libraries, which stay there: the loader takes a new file in a deleted one's place for the old library."""


def shapes_of(code: str) -> list[tuple[int, ...]]:
    """The shapes of the entry's arguments, as the code declares them: `float X[restrict 1][2][3]` has (1, 2, 3)."""
    (signature,) = re.findall(rf"^void {ENTRY}\((.*)\) {{", code, re.MULTILINE)
    return [tuple(map(int, re.findall(r"\[(?:restrict )?(\d+)\]", part))) for part in signature.split(",")]


class Emx(Adapter):
    """Models as C, compiled by `cc` and called."""

    @classmethod
    def load(cls, model: onnx.ModelProto) -> Run:
        """A function of a shared library."""
        try:
            code = generator.Compiler(generator.CompilerOptions(model_name=ENTRY)).compile(model)
        except UnsupportedOpError as error:
            raise UnsupportedError(str(error)) from error
        folder = Path(tempfile.mkdtemp(dir=FOLDER.name))
        source, library = folder / "model.c", folder / "model.so"
        source.write_text(code)
        command = [os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", str(source), "-o", str(library), "-lm"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stderr)
        function = getattr(ctypes.CDLL(str(library)), ENTRY)
        shapes = shapes_of(code)
        dtypes = [helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type) for value in model.graph.output]

        def run(arrays: Sequence[Array]) -> list[Array]:
            # The code has no empty arrays: it reads and writes what its own signature says, whatever is given.
            given = [np.resize(array, shape) for array, shape in zip(arrays, shapes, strict=False)]
            results = [np.empty(shape, dtype) for shape, dtype in zip(shapes[len(arrays) :], dtypes, strict=True)]
            function(*(array.ctypes.data_as(ctypes.c_void_p) for array in (*given, *results)))
            return results

        return run

    @classmethod
    def describe(cls) -> dict[str, str]:
        """Version."""
        return {"emx-onnx-cgen": importlib.metadata.version("emx-onnx-cgen"), "compiler": "cc -O1"}
