"""Environments of runtimes that do not install beside this package, or not beside each other."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path


def python_with(packages: Iterable[str], home: Path) -> Path:
    """The Python of an environment in the folder `home`, with packages from PyPI; it is made where it is not whole.

    Raises subprocess.CalledProcessError where it cannot be made.
    """
    python = home / "bin" / "python"
    wanted = "\n".join(packages)
    done = home / "installed"
    if not done.exists() or done.read_text() != wanted:
        shutil.rmtree(home, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", home], check=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *wanted.split("\n")], check=True)
        done.write_text(wanted)
    return python
