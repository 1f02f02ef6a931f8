"""MaxRoiPool between a producer and a consumer: how long a graph of Conv, MaxRoiPool and MatMul takes.

    python scripts/time_roi_graph.py [THREADS] [LIBRARY ...]

In a benchmark of one node the feature map and the output lie where the last run left them. In a model the map was just
written by a convolution, and a matrix product reads the output next. So this decides from how many bytes of output on
stores should go past the caches. Each LIBRARY, of which the installed one is the default, ONNX Runtime's own kernel and
OpenVINO take turns. Prints medians, and the ratio of the faster of the two peers to the first library.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

import numpy as np
import onnxruntime
import openvino
from onnx import ModelProto, TensorProto, helper, numpy_helper
from rich.console import Console

from onnx_maxpool import library_path
from onnx_maxpool.cli.terminal import add_row, plain_table

CHANNELS, HEIGHT, WIDTH, BINS, FEATURES = 256, 38, 50, 7, 32
PRODUCER_CHANNELS = 32
ROIS = (10, 20, 40, 80, 120, 160, 240, 320, 640)
SECONDS, LEAST_ROUNDS = 2.0, 7
TOLERANCE = 1e-3
"""Runtimes add a product's terms in different orders."""


def model(rois: int, random: np.random.Generator) -> ModelProto:
    """The graph, with weights that keep numbers near 1."""
    size = CHANNELS * BINS * BINS
    kernel = random.standard_normal((CHANNELS, PRODUCER_CHANNELS, 1, 1), np.float32) / np.sqrt(PRODUCER_CHANNELS)
    weights = random.standard_normal((size, FEATURES), np.float32) / np.sqrt(size)
    pooled = [BINS, BINS]
    nodes = [
        helper.make_node("Conv", ["X", "kernel"], ["map"]),
        helper.make_node("MaxRoiPool", ["map", "rois"], ["pooled"], pooled_shape=pooled, spatial_scale=1 / 16),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("MatMul", ["flat", "weights"], ["Y"]),
    ]
    declare = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "graph",
        [
            declare("X", TensorProto.FLOAT, [1, PRODUCER_CHANNELS, HEIGHT, WIDTH]),
            declare("rois", TensorProto.FLOAT, [rois, 5]),
        ],
        [declare("Y", TensorProto.FLOAT, [rois, FEATURES])],
        [
            numpy_helper.from_array(kernel.astype(np.float32), "kernel"),
            numpy_helper.from_array(weights.astype(np.float32), "weights"),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 12)], ir_version=8)


def session_call(model: bytes, feeds: dict[str, np.ndarray], threads: int, library: str | None) -> Callable[[], object]:
    """A run in ONNX Runtime, with a library or without."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    if library:
        options.register_custom_ops_library(library)
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, feeds)[0]


def openvino_call(model: bytes, feeds: dict[str, np.ndarray], threads: int) -> Callable[[], object]:
    """A run in OpenVINO."""
    core = openvino.Core()
    config = {
        "INFERENCE_PRECISION_HINT": "f32",
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": 1,
        "PERFORMANCE_HINT": "LATENCY",
    }
    request = core.compile_model(core.read_model(model, b""), "CPU", config).create_infer_request()

    def run() -> object:
        request.infer(feeds)
        return request.get_output_tensor(0).data

    return run


def medians(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of a call of each, in rounds that call each twice and time the second."""
    taken: dict[str, list[float]] = {name: [] for name in calls}
    begin = time.perf_counter()
    rounds = 0
    while rounds < LEAST_ROUNDS or time.perf_counter() - begin < SECONDS:
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            call()
            taken[name].append(time.perf_counter() - start)
        rounds += 1
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def main() -> None:
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    libraries = sys.argv[2:] or [str(library_path())]
    random = np.random.default_rng(0)
    table = plain_table("ROIs", "output, MB", *libraries, "ONNX Runtime", "OpenVINO", "faster peer / ours")
    for rois in ROIS:
        graph = model(rois, random).SerializeToString()
        corners = random.integers(0, [WIDTH * 8, HEIGHT * 8], (rois, 2))
        sizes = random.integers(32, 320, (rois, 2))
        feeds = {
            "X": random.standard_normal((1, PRODUCER_CHANNELS, HEIGHT, WIDTH), np.float32),
            "rois": np.concatenate([np.zeros((rois, 1)), corners, corners + sizes], axis=1).astype(np.float32),
        }
        calls = {library: session_call(graph, feeds, threads, library) for library in libraries}
        calls["ONNX Runtime"] = session_call(graph, feeds, threads, None)
        calls["OpenVINO"] = openvino_call(graph, feeds, threads)
        expected = np.asarray(calls[libraries[0]]())
        for name, call in calls.items():
            worst = float(np.abs(np.asarray(call()) - expected).max())
            if not worst < TOLERANCE:
                raise SystemExit(f"{name} differs by {worst} with {rois} ROIs")
        taken = medians(calls)
        ratio = min(taken["ONNX Runtime"], taken["OpenVINO"]) / taken[libraries[0]]
        megabytes = rois * CHANNELS * BINS * BINS * 4 / 1e6
        times = (f"{seconds * 1e3:.2f} ms" for seconds in taken.values())
        add_row(table, str(rois), f"{megabytes:.1f}", *times, f"{ratio:.2f}")
    Console(highlight=False, width=170).print(table)


if __name__ == "__main__":
    main()
