"""What the package costs before any operator runs: importing it, and creating a session with its library.

Each sample is a fresh Python process. Those with our library and those without take turns.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable

from onnx_maxpool.benchmark.results import Overhead, Timing, timing

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


def measure_overheads(samples: int, tell: Callable[[str], None]) -> list[Overhead]:
    """All of `OVERHEADS`, from so many pairs of processes; `tell` hears of each pair. Raises RuntimeError."""
    ours, without = [], []
    for i in range(samples):
        tell(f"import and session, {i + 1} of {samples}")
        ours.append(run_script("ours"))
        without.append(run_script("without"))
    return [
        Overhead(name, what, of(ours, name), of(without, name) if name != "import" else None)
        for name, what in OVERHEADS.items()
    ]


def run_script(argument: str) -> dict[str, float]:
    """Seconds by name, from one fresh process."""
    done = subprocess.run([sys.executable, "-c", SCRIPT, argument], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the session of {argument!r} failed: {done.stderr.strip().splitlines()[-1]}")
    times: dict[str, float] = json.loads(done.stdout)
    return times


def of(samples: list[dict[str, float]], name: str) -> Timing:
    """The timing of one of the script's times."""
    return timing([(sample[name], 1) for sample in samples])
