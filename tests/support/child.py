"""Python processes of the tests' own, which find what the tests find."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TESTS = Path(__file__).parent.parent


def run_python(
    *arguments: str | Path, variables: Mapping[str, str | None] | None = None, seconds: float = 600
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS...` in the folder of the tests, with this process's module path and other variables.

    A variable that is None is left out.
    """
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **(variables or {})}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=TESTS,
        env={name: value for name, value in environment.items() if value is not None},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
