"""How much memory a process takes, and how much there is: bytes."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from pathlib import Path

GB = 1e9

TAKEN = re.compile(r"took more than ([0-9.e+]+) GB of memory")
"""What is said of a process that was ended for it."""


class TooMuchMemoryError(RuntimeError):
    """A process takes more memory than it may."""

    def __init__(self, limit: float) -> None:
        super().__init__(f"took more than {limit / GB:.3g} GB of memory")


def resident(process: int) -> int | None:
    """What a process takes of the machine's memory; None where the system does not tell, or it has ended."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    with contextlib.suppress(OSError, ValueError, subprocess.SubprocessError):  # macOS
        done = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, text=True, timeout=5)
        return int(done.stdout) * 1024
    return None


def can_tell() -> bool:
    """Whether the system tells what a process takes."""
    return resident(os.getpid()) is not None


def there_is() -> float:
    """What this process may take at most: the machine's memory, or that of its container."""
    limits = [float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))]
    for file in ("memory.max", "memory/memory.limit_in_bytes"):  # of version 2, which may be "max", and of version 1
        with contextlib.suppress(OSError, ValueError):
            limits.append(float((Path("/sys/fs/cgroup") / file).read_text()))
    return min(limits)


def default_limit() -> float:
    """Half of what there is, so that the machine stays of use."""
    return there_is() / 2


def limit_in(text: str) -> float | None:
    """The limit that a process went beyond, by what is said of it; None where that says something else."""
    found = TAKEN.search(text)
    return None if found is None else float(found[1]) * GB
