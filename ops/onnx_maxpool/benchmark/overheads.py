"""What the package costs beside the work on cells: importing it, creating a session with its library, a small run.

Each sample of the first two is a fresh Python process. Those with our library and those without take turns. Small runs
take turns with those of a node of ONNX Runtime that does next to nothing: Slice, with the same inputs in the graph, and
as many cells in its output.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from onnx_maxpool.benchmark.inputs import row_inputs
from onnx_maxpool.benchmark.results import Overhead, Timing, timing
from onnx_maxpool.benchmark.rows import RoiCase, Row
from onnx_maxpool.types import Array

# A model that stock ONNX Runtime takes too. The first session of a process also loads the library and sets up ONNX
# Runtime; the later ones show what each further session costs.
SCRIPT = """
import json, sys, time
import numpy, onnx, onnxruntime
from onnx import parser

def seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start

def session():
    options = onnxruntime.SessionOptions()
    if ours:
        onnx_maxpool.register(options)
    onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

ours = sys.argv[1] == "ours"
model = parser.parse_model(
    '<ir_version: 8, opset_import: ["": 12]> g (float[1,3,8,8] X, float[R,5] rois) => (float[R,3,2,2] Y)'
    '{ Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois) }'
).SerializeToString()
start = time.perf_counter()
if ours:
    import onnx_maxpool
times = {"import": time.perf_counter() - start, "first": seconds(session)}
times["further"] = sorted(seconds(session) for _ in range(9))[4]
print(json.dumps(times))
"""

OVERHEADS = {
    "import": "import onnx_maxpool, beyond numpy, onnx and onnxruntime",
    "first": "a process's first session with the library, beyond one without",
    "further": "each further session with the library, beyond one without",
}
"""What each of the script's times says."""


class SmallRun(NamedTuple):
    """A node of ours, and Slice with the same inputs and as many cells in its output."""

    what: str
    inputs: dict[str, Array]
    declared: str
    """The graph's inputs, as ONNX's textual form has them."""
    ours: str
    ends: tuple[int, ...]
    """Slice's."""

    def model(self, *, ours: bool) -> str:
        """The model, in the textual form."""
        opsets = '["": 12, "directml": 5, "org.openvinotoolkit": 8]'
        bounds = f"<int64[4] starts = {{0, 0, 0, 0}}, int64[4] ends = {{{', '.join(map(str, self.ends))}}}>"
        node = self.ours if ours else "Slice(X, starts, ends)"
        graph = f"g ({self.declared}) => (float[a, b, c, d] Y) {'' if ours else bounds}"
        return f"<ir_version: 8, opset_import: {opsets}> {graph} {{ Y = {node} }}"


def small_runs() -> dict[str, SmallRun]:
    """A small run of each kind of operator, by a name."""
    random = np.random.default_rng(0)
    sliding = "window_size = [3, 3], strides = [2, 2], start_padding = [1, 1], end_padding = [0, 0]"
    return {
        "roi": SmallRun(
            "MaxRoiPool 3x64x64, 8 ROIs to 2x2",
            row_inputs(Row(RoiCase(3, 64, 64, 8, 2, 1.0))),
            "float[1, 3, 64, 64] X, float[8, 5] rois",
            "MaxRoiPool <pooled_shape = [2, 2]> (X, rois)",
            (1, 3, 8, 4),
        ),
        "window": SmallRun(
            "MaxPooling1 1x16x14x14 k3 s2",
            {"X": random.standard_normal((1, 16, 14, 14), np.float32)},
            "float[1, 16, 14, 14] X",
            f"directml.MaxPooling1 <{sliding}> (X)",
            (1, 16, 7, 7),
        ),
        "adaptive": SmallRun(
            "AdaptiveMaxPool 1x16x7x7 to 3x3",
            {"X": random.standard_normal((1, 16, 7, 7), np.float32), "size": np.array([3, 3])},
            "float[1, 16, 7, 7] X, int64[2] size",
            "org.openvinotoolkit.AdaptiveMaxPool (X, size)",
            (1, 16, 3, 3),
        ),
    }


def measure_overheads(samples: int, tell: Callable[[str], None]) -> list[Overhead]:
    """All of `OVERHEADS`, from so many pairs of processes, and small runs; `tell` hears of it. Raises RuntimeError."""
    ours, without = [], []
    for i in range(samples):
        tell(f"import and session, {i + 1} of {samples}")
        ours.append(run_script("ours"))
        without.append(run_script("without"))
    tell("small runs")
    return [
        Overhead(name, what, of(ours, name), of(without, name) if name != "import" else None)
        for name, what in OVERHEADS.items()
    ] + measure_small_runs(samples)


def measure_small_runs(samples: int) -> list[Overhead]:
    """Of each small run, bound and not, in a process of its own. Raises RuntimeError."""
    script = (
        "import sys; from onnx_maxpool.benchmark.overheads import print_small_runs; print_small_runs(int(sys.argv[1]))"
    )
    found = json.loads(output_of(script, str(samples)))
    overheads = []
    for name, run in small_runs().items():
        for way in ("run_with_iobinding", "run"):
            times = (
                timing([(seconds, RUNS) for seconds in found[f"{name}, {way}, {who}"]]) for who in ("ours", "Slice")
            )
            overheads.append(Overhead(f"{name}, {way}", f"{way}, {run.what}, beyond Slice to as many cells", *times))
    return overheads


RUNS = 20
"""In a sample of a small run: so short that few are interrupted."""
TURNS = 100
"""For each sample of the other overheads."""


def print_small_runs(samples: int) -> None:
    """Seconds of every small run of either node, in turns on one thread, as JSON."""
    from onnx import parser
    from onnxruntime import InferenceSession

    from onnx_maxpool.adapters.onnxruntime import load
    from onnx_maxpool.benchmark.peers.onnxruntime import bound_call, session_options

    calls: dict[str, Callable[[], object]] = {}
    for name, run in small_runs().items():
        for who in ("ours", "Slice"):
            model = parser.parse_model(run.model(ours=who == "ours"))
            if who == "ours":
                session = load(model, session_options(1))
            else:
                session = InferenceSession(model.SerializeToString(), session_options(1), ["CPUExecutionProvider"])
            calls[f"{name}, run_with_iobinding, {who}"] = bound_call(session, run.inputs).run
            calls[f"{name}, run, {who}"] = partial(session.run, None, run.inputs)
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(TURNS * samples):
        for name, call in calls.items():
            call()
            start = time.perf_counter()
            for _ in range(RUNS):
                call()
            times[name].append((time.perf_counter() - start) / RUNS)
    print(json.dumps(times))


def run_script(argument: str) -> dict[str, float]:
    """Seconds by name, from one fresh process."""
    times: dict[str, float] = json.loads(output_of(SCRIPT, argument))
    return times


def output_of(script: str, *arguments: str) -> str:
    """What a script prints in a fresh process. Raises RuntimeError."""
    done = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
        raise RuntimeError(f"a process that measures overheads failed: {said[-1]}")
    return done.stdout


def of(samples: list[dict[str, float]], name: str) -> Timing:
    """The timing of one of the script's times."""
    return timing([(sample[name], 1) for sample in samples])
