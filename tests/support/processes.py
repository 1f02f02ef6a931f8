"""Processes that the tests begin: Pythons that find what the tests find, and those that these begin."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

TESTS = Path(__file__).parent.parent


def run_python(
    *arguments: str | Path,
    variables: Mapping[str, str | None] | None = None,
    seconds: float = 600,
    folder: Path = TESTS,
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS...` in a folder, that of the tests, with this process's module path and other variables.

    A variable that is None is left out.
    """
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={name: value for name, value in {**environment(), **(variables or {})}.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )


def start_python(*arguments: str | Path) -> subprocess.Popen[str]:
    """Begin `python ARGUMENTS...` as `run_python` runs it."""
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, *arguments], cwd=TESTS, env=environment(), stdout=pipe, stderr=pipe, text=True
    )


def environment() -> dict[str, str]:
    """Of processes that find what the tests find."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


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
