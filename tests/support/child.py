"""Python processes of the tests' own, which find what the tests find."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

TESTS = Path(__file__).parent.parent


def run_python(
    *arguments: str | Path, variables: Mapping[str, str] | None = None, seconds: float = 600
) -> subprocess.CompletedProcess[str]:
    """Run `python ARGUMENTS...` in the folder of the tests, with this process's module path and more variables."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=TESTS,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **(variables or {})},
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
