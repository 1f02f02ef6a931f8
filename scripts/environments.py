"""Environments of runtimes that do not install beside this package, or not beside each other."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path


def python_with(packages: Iterable[str], home: Path) -> Path:
    """The Python of an environment in the folder `home`, with packages from PyPI; it is made where it is not whole.

    Raises subprocess.CalledProcessError where it cannot be made, and SystemExit where the folder holds something that
    is not ours: to make it anew deletes what is there.
    """
    python = home / "bin" / "python"
    wanted = "\n".join(packages)
    done, begun = home / "installed", home / "begun"
    if done.exists() and done.read_text() == wanted:
        return python
    is_ours = done.exists() or begun.exists()
    if home.exists() and not is_ours and not (home.is_dir() and not any(home.iterdir())):
        raise SystemExit(f"{home} holds no environment that this script made, expected one or an empty folder")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    begun.touch()  # so what is broken off is known as ours
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *wanted.split("\n")], check=True)
    done.write_text(wanted)
    return python
