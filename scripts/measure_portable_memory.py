"""Measure the memory of both portable forms of MaxRoiPool, of the native library and of ONNX Runtime's own kernel.

    python scripts/measure_portable_memory.py

It is what the first run adds to a process of its own. `write_docs.py` writes it into docs/guides/portable.md, beside
the benchmark's times.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import typer
from onnx import helper
from rich.console import Console
from speed_tables import PORTABLE_CASES, PORTABLE_MEMORY

import onnx_maxpool
from onnx_maxpool.benchmark.inputs import row_inputs
from onnx_maxpool.benchmark.peers import OURS, RUNTIME
from onnx_maxpool.benchmark.rows import RoiCase, Row
from onnx_maxpool.cli.terminal import plain_table
from onnx_maxpool.graph.building import Declared, as_array, one_node
from onnx_maxpool.types import Array

WORK = Path(__file__).resolve().parent.parent / "build" / "portable_memory.npz"
MEMORY = """
import re, sys
import numpy as np, onnxruntime as ort
if sys.argv[2]:
    options = ort.SessionOptions()
    options.register_custom_ops_library(sys.argv[2])
else:
    options = None
session = ort.InferenceSession(sys.stdin.buffer.read(), options, providers=["CPUExecutionProvider"])
feeds = dict(np.load(sys.argv[1]))
peak = lambda: int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
before = peak()
session.run(None, feeds)
print(peak() - before)
"""


def model_of(case: RoiCase, inputs: dict[str, Array]) -> onnx.ModelProto:
    sides = [case.pooled, case.pooled]
    node = helper.make_node("MaxRoiPool", ["X", "rois"], ["Y"], pooled_shape=sides, spatial_scale=case.scale)
    values = {**{name: as_array(array) for name, array in inputs.items()}, "Y": Declared("float")}
    return one_node(node, values, {"": 17}, name="row")


def memory(model: onnx.ModelProto, library: str) -> int:
    command = [sys.executable, "-c", MEMORY, str(WORK), library]
    done = subprocess.run(command, input=model.SerializeToString(), capture_output=True, check=True)
    return int(re.sub(rb"\s", b"", done.stdout))


def main() -> None:
    WORK.parent.mkdir(exist_ok=True)
    shown = plain_table("case", "form", "MB")
    found: dict[str, dict[str, int]] = {}
    for case in PORTABLE_CASES:
        inputs = dict(row_inputs(Row(case)))
        np.savez(WORK, **inputs)
        model = model_of(case, inputs)
        forms = {
            OURS: model,
            RUNTIME: model,
            "with control flow": onnx_maxpool.to_portable(model),
            "without control flow": onnx_maxpool.to_portable(model, control_flow=False),
        }
        found[Row(case).name] = {
            name: memory(form, str(onnx_maxpool.library_path()) if name == OURS else "") for name, form in forms.items()
        }
        for name, added in found[Row(case).name].items():
            shown.add_row(str(case), name, f"{added / 1e6:.0f}")
    Console(highlight=False).print(shown)
    PORTABLE_MEMORY.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
