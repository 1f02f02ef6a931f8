"""Time both portable forms of MaxRoiPool beside the native library and ONNX Runtime's own kernel.

    python scripts/time_portable.py --json docs/benchmark/portable.json

`write_docs.py` writes what this finds into docs/guides/portable.md. Runs take turns, on one thread, and processor time
is compared, so that what else the machine does matters little. Memory is what the first run adds to a process of its
own.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import onnx
import onnxruntime as ort
import typer
from onnx import helper
from rich.console import Console

import onnx_maxpool
from onnx_maxpool.benchmark.inputs import row_inputs
from onnx_maxpool.benchmark.rows import ROI_CASES, RoiCase, Row
from onnx_maxpool.cli.terminal import plain_table
from onnx_maxpool.graph.building import Declared, as_array, one_node
from onnx_maxpool.machine import machine
from onnx_maxpool.types import Array

CASES = (ROI_CASES[0], ROI_CASES[4], ROI_CASES[3], ROI_CASES[7])
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


def single_threaded() -> ort.SessionOptions:
    """New ones for each session, as `load` registers the library on those that it gets."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    return options


def memory(model: onnx.ModelProto, inputs: Path, library: str) -> int:
    command = [sys.executable, "-c", MEMORY, str(inputs), library]
    done = subprocess.run(command, input=model.SerializeToString(), capture_output=True, check=True)
    return int(re.sub(rb"\s", b"", done.stdout))


def main(
    repeat: Annotated[int, typer.Option(min=1, help="Timed runs of each.")] = 9,
    as_json: Annotated[Path | None, typer.Option("--json", help="Write the results to this file.")] = None,
) -> None:
    work = Path(__file__).resolve().parent.parent / "build" / "time_portable.npz"
    work.parent.mkdir(exist_ok=True)
    shown = plain_table("case", "form", "times native", "MB")
    cases = []
    for case in CASES:
        inputs = dict(row_inputs(Row(case)))
        np.savez(work, **inputs)
        model = model_of(case, inputs)
        forms = {
            "native": model,
            "ONNX Runtime": model,
            "with control flow": onnx_maxpool.to_portable(model),
            "without control flow": onnx_maxpool.to_portable(model, control_flow=False),
        }
        sessions = {
            name: onnx_maxpool.load(form, single_threaded())
            if name == "native"
            else ort.InferenceSession(form.SerializeToString(), single_threaded(), providers=["CPUExecutionProvider"])
            for name, form in forms.items()
        }
        (expected,) = sessions["native"].run(None, inputs)
        times: dict[str, list[float]] = {name: [] for name in sessions}
        for name, session in sessions.items():
            (y,) = session.run(None, inputs)
            np.testing.assert_array_equal(y, expected, err_msg=name)
        for _ in range(repeat):
            for name, session in sessions.items():
                start = time.process_time()
                session.run(None, inputs)
                times[name].append(time.process_time() - start)
        seconds = {name: statistics.median(taken) for name, taken in times.items()}
        bytes_ = {
            name: memory(form, work, str(onnx_maxpool.library_path()) if name == "native" else "")
            for name, form in forms.items()
        }
        cases.append({"case": str(case), "seconds": seconds, "bytes": bytes_})
        for name in forms:
            shown.add_row(str(case), name, f"{seconds[name] / seconds['native']:.1f}", f"{bytes_[name] / 1e6:.0f}")
    Console(highlight=False).print(shown)
    if as_json is not None:
        as_json.write_text(json.dumps({"machine": machine(), "cases": cases}, indent=1) + "\n")


if __name__ == "__main__":
    typer.run(main)
