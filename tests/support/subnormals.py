"""A model in a process where the runtime has the processor take subnormal numbers for 0."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from support.processes import run_python

from onnx_maxpool.types import Array

SCRIPT = """
import sys
import numpy as np, onnxruntime as ort
import onnx_maxpool

proto, feeds, expected = sys.argv[1:]
options = ort.SessionOptions()
options.add_session_config_entry("session.set_denormal_as_zero", "1")
session = onnx_maxpool.load(proto, options)
inputs = dict(np.load(feeds))
for _ in range(24):
    y = session.run(None, inputs)[0]
    assert y.tobytes() == np.load(expected).tobytes()
"""
"""In a process of its own, as the runtime sets the processor of the thread that makes the session."""


def run_without_subnormals(proto: onnx.ModelProto, feeds: Mapping[str, Array], expected: Array, folder: Path) -> None:
    """Run a model often enough for all plans, and require the first output to have these bits. Files go to `folder`."""
    files = [folder / name for name in ("model.onnx", "feeds.npz", "y.npy")]
    onnx.save(proto, files[0])
    np.savez(files[1], **feeds)
    np.save(files[2], expected)
    done = run_python("-c", SCRIPT, *files)
    assert done.returncode == 0, done.stderr
