"""The machine, the system and Python, as reports and benchmark results name them."""

from __future__ import annotations

import contextlib
import math
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
    """How many processors this process may use, at least one: those that it is bound to, or a container's quota."""
    if sys.platform != "linux":
        return os.cpu_count() or 1
    return max(1, math.ceil(min(len(os.sched_getaffinity(0)), quota(Path("/sys/fs/cgroup")))))


def quota(cgroups: Path) -> float:
    """The processor time that a container may use, in processors; infinity without a limit."""
    with contextlib.suppress(OSError, ValueError):  # of version 2: "200000 100000" or "max 100000"
        most, period = (cgroups / "cpu.max").read_text().split()
        return math.inf if most == "max" else int(most) / int(period)
    with contextlib.suppress(OSError, ValueError):  # of version 1, where -1 is no limit
        most, period = ((cgroups / "cpu" / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
        return math.inf if int(most) < 0 else int(most) / int(period)
    return math.inf


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
