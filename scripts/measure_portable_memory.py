"""Measure the memory of both portable forms of MaxRoiPool, of the native library and of ONNX Runtime's own kernel.

    python scripts/measure_portable_memory.py

It is what the first run adds to a process of its own, on one thread. `write_docs.py` writes it into
docs/guides/portable.md, beside the benchmark's times.
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
from rich.console import Console
from speed_tables import PORTABLE_CASES, PORTABLE_MEMORY

import onnx_maxpool
from onnx_maxpool.benchmark.inputs import row_inputs
from onnx_maxpool.benchmark.models import model_for_forms
from onnx_maxpool.benchmark.peers import FORMS, OURS, RUNTIME
from onnx_maxpool.benchmark.rows import Row
from onnx_maxpool.cli.terminal import plain_table

WORK = Path(__file__).resolve().parent.parent / "build" / "portable_memory.npz"
MEMORY = """
import re, sys
import numpy as np, onnxruntime as ort
options = ort.SessionOptions()
options.intra_op_num_threads = 1
if sys.argv[2]:
    options.register_custom_ops_library(sys.argv[2])
session = ort.InferenceSession(sys.stdin.buffer.read(), options, providers=["CPUExecutionProvider"])
feeds = dict(np.load(sys.argv[1]))
of_process = lambda name: int(re.search(name + r":\\s*(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")  # the peak is that from here on: to make a session takes memory that is free by now
before = of_process("VmRSS")
session.run(None, feeds)
print(of_process("VmHWM") - before)
"""


def memory(model: onnx.ModelProto, library: str = "") -> int:
    command = [sys.executable, "-c", MEMORY, str(WORK), library]
    done = subprocess.run(command, input=model.SerializeToString(), capture_output=True, check=True)
    return int(re.sub(rb"\s", b"", done.stdout))


def main() -> None:
    WORK.parent.mkdir(exist_ok=True)
    shown = plain_table("case", "form", "MB")
    found: dict[str, dict[str, int]] = {}
    for row in map(Row, PORTABLE_CASES):
        inputs = dict(row_inputs(row))
        np.savez(WORK, **inputs)
        model = model_for_forms(row, inputs)
        portable = (onnx_maxpool.to_portable(model), onnx_maxpool.to_portable(model, control_flow=False))
        added = found[row.name] = {
            OURS: memory(model, str(onnx_maxpool.library_path())),
            RUNTIME: memory(model),
            **{form: memory(each) for form, each in zip(FORMS, portable, strict=True)},
        }
        for name, count in added.items():
            shown.add_row(str(row.case), name, f"{count / 1e6:.0f}")
    Console(highlight=False).print(shown)
    PORTABLE_MEMORY.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
