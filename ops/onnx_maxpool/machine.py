"""The machine, the system and Python, as reports and benchmark results name them."""

from __future__ import annotations

import os
import platform
import sys
from datetime import datetime, timezone
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Processor, cores, system, Python, date and time."""
    return {
        "cpu": cpu_model(),
        "cpus": cpus(),
        # Without the names that builds of a kernel have: the version is what tells.
        "system": f"{platform.system()} {platform.release().partition('-')[0]} {platform.machine()}",
        "python": platform.python_version(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "target": os.environ.get("ONNX_MAXPOOL_TARGET"),
    }


def cpus() -> int:
    """How many processors this process may use."""
    if sys.platform == "linux":
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


VECTORS = {"avx512bw": "AVX-512", "avx2": "AVX2"}
"""Names of instruction sets, best first, by their flags in /proc/cpuinfo."""


def cpu_model() -> str:
    """The processor's name, as far as the system tells it, and its widest vectors: names such as AMD EPYC hide them."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    found = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
    name = found.get("model name") or platform.processor() or platform.machine()
    flags = found.get("flags", "").split()
    vectors = next((f" with {title}" for flag, title in VECTORS.items() if flag in flags), "")
    return name + vectors
