"""What SECURITY.md says that ROI operators need besides their outputs, compared with the peak of a process."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

pytestmark = pytest.mark.slow("compares the memory of large runs with what is promised")

ROOT = Path(__file__).parent.parent.parent
MIB = 2**20

RUN = """
import sys
from pathlib import Path

import numpy as np
import onnxruntime as ort

import onnx_maxpool

model, inputs = sys.argv[1:]
options = ort.SessionOptions()
options.intra_op_num_threads = 1
options.enable_cpu_mem_arena = False
session = onnx_maxpool.load(model, options)
given = dict(np.load(inputs))
few = {name: array[:1] for name, array in given.items()}
few["rois"] = few["rois"] * 0
session.run(None, few)


def memory(line):
    return 1024 * int(Path("/proc/self/status").read_text().split(line)[1].split()[0])


Path("/proc/self/clear_refs").write_text("5")  # the peak is what there is now
before = memory("VmRSS:")
(y,) = session.run(None, given)
print(memory("VmHWM:") - before - y.nbytes)
"""


def allowed(x: np.ndarray, rois: int, bins: tuple[int, int]) -> int:
    """As SECURITY.md has it, for one thread; and what Python and malloc round up."""
    rows, columns = bins
    blocks = math.ceil(x.shape[1] * x.itemsize / 16)
    windows = 8 * rois * (2 * rows + columns)
    tables = min(max(x.nbytes, 4 * MIB), 32 * MIB)
    thread = 8 * MIB + tables + 64 * (x.shape[3] + 3 * rows * columns)
    return windows + 48 * rois + 32 * rois * blocks + thread + 2 * MIB


@pytest.mark.skipif(sys.platform != "linux", reason="a process's peak is read from /proc")
@pytest.mark.parametrize(
    ("shape", "dtype", "rois", "bins"),
    [
        ((8_000_000, 1, 1, 1), "float16", 10, (1, 1)),  # images without ROIs
        ((400_000, 1, 1, 1), "float", 400_000, (1, 1)),  # an ROI for each image
        ((100_000, 2, 3, 3), "float", 100_000, (4, 4)),
        ((1, 4, 8, 8), "float", 300_000, (2, 2)),  # many ROIs in one image
    ],
)
def test_roi_operators_want_no_more(
    tmp_path: Path, shape: tuple[int, ...], dtype: str, rois: int, bins: tuple[int, int]
) -> None:
    model = onnx.parser.parse_model(
        f"""<ir_version: 8, opset_import: ["": 17]> pool ({dtype}[n, c, h, w] X, {dtype}[r, 5] rois)
        => ({dtype}[r, c, y, x] Y) {{ Y = MaxRoiPool <pooled_shape = [{bins[0]}, {bins[1]}]> (X, rois) }}"""
    )
    onnx.save_model(model, tmp_path / "model.onnx")
    x = np.ones(shape, {"float": "float32"}.get(dtype, dtype))
    table = np.zeros((rois, 5), x.dtype)
    table[:, 0] = np.random.default_rng(0).permutation(rois) % min(shape[0], 2048 if dtype == "float16" else 2**24)
    table[:, 3:] = shape[2] - 1
    np.savez(tmp_path / "inputs.npz", X=x, rois=table)
    command = [sys.executable, "-c", RUN, str(tmp_path / "model.onnx"), str(tmp_path / "inputs.npz")]
    taken = int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert taken <= allowed(x, rois, bins)


def test_security_says_it() -> None:
    promised = re.sub(r"\s+", " ", (ROOT / "SECURITY.md").read_text())
    assert "8 bytes for each row of bins and each column of bins of an ROI, twice for rows" in promised
    assert "48 bytes for each ROI, and 32 for each ROI and 16 bytes of channels" in promised
    assert "Tables of at most the size of X (or 4 MiB, if X is smaller), and at most 32 MiB" in promised
