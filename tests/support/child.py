"""Python processes of the tests' own, which find what the tests find."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
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
