"""What a call of `max_roi_pool` takes beyond `session.run` of the same model, in calls that take turns.

    python scripts/time_functions.py [CALLS]

CALLS is how often each is called with the tiny input, 3000 unless given, and with the other a hundredth of that; both
are 10 at least.
Prints medians, and the ratio of each to the bare run, for a tiny input, whose work is next to nothing, and for a
feature map of VGG-16.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import onnx
import onnxruntime
from ml_dtypes import bfloat16
from onnx import parser
from rich.console import Console

from onnx_maxpool import load, max_roi_pool
from onnx_maxpool.cli.terminal import add_row, plain_table

SIZES = {"tiny": ((1, 3, 16, 16), 2, (2, 2), 1), "VGG-16": ((1, 512, 38, 50), 300, (7, 7), 100)}
"""Shape of the feature map, ROIs, bins, and the number by which the calls are divided."""


def medians(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Seconds of a call of each; every round calls each once."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(seconds[rounds // 10 :]) for name, seconds in taken.items()}


def model(pooled: tuple[int, int]) -> onnx.ModelProto:
    return parser.parse_model(f"""<ir_version: 10, opset_import: ["" : 22]>
one_node (float[N,C,H,W] X, float[R,5] rois) => (float[R,C,h,w] Y)
{{ Y = MaxRoiPool <pooled_shape = [{pooled[0]}, {pooled[1]}]> (X, rois) }}""")


def count(text: str) -> int:
    """A number of calls."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r}, expected an integer of at least 1")
    return int(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", nargs="?", type=count, default=3000, metavar="CALLS")
    rounds = parser.parse_args().calls
    random = np.random.default_rng(0)
    table = plain_table("input", "call", "median", "ratio")
    for size, (dims, boxes, pooled, divisor) in SIZES.items():
        x = random.standard_normal(dims).astype(np.float32)
        rois = np.tile(np.array([0, 0, 0, 30, 30], np.float32), (boxes, 1))
        options = onnxruntime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # as the function's own session
        session, feeds = load(model(pooled), options), {"X": x, "rois": rois}
        half, half_rois = x.astype(bfloat16), rois.astype(bfloat16)
        taken = medians(
            {
                "session.run": lambda: session.run(None, feeds),  # noqa: B023 all are called before the next size
                "max_roi_pool": lambda: max_roi_pool(x, rois, pooled),  # noqa: B023
                "max_roi_pool, bfloat16": lambda: max_roi_pool(half, half_rois, pooled),  # noqa: B023
            },
            max(rounds // divisor, 10),
        )
        for name, seconds in taken.items():
            ratio = seconds / taken["session.run"]
            add_row(table, size, name, f"{seconds * 1e6:.0f} µs", f"{ratio:.2f}")
    Console(highlight=False).print(table)


if __name__ == "__main__":
    main()
