"""Processes that the tests begin, and those that these begin."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def descendants(pid: int, named: str) -> list[int]:
    """The running processes below a process that have this text in their command line."""
    parents: dict[int, int] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = stat.read_text().rpartition(")")[2].split()[:2]
        except OSError:  # it ended meanwhile
            continue
        if state != "Z":
            parents[int(stat.parent.name)] = int(parent)
    below, found = {pid}, []
    while new := {child for child, parent in parents.items() if parent in below} - below:
        below |= new
    for child in below - {pid}:
        try:
            if named in Path(f"/proc/{child}/cmdline").read_bytes().decode(errors="replace"):
                found.append(child)
        except OSError:
            continue
    return sorted(found)


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(reached: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.002)
