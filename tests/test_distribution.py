"""The source distribution and the wheel for this platform, where there is no compiler and none of this repository.

scripts/build_wheels.py makes both, the wheel from the source distribution; it asks auditwheel what the wheel needs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "ops" / "onnx_maxpool"
MODEL = ROOT / "models" / "max_roi_pool_22_float.onnx"
SCRIPT = """
import importlib.metadata, shutil, sys
import numpy as np
import onnx_maxpool
assert [shutil.which(name) for name in ("cc", "c++", "gcc", "g++", "clang", "cmake", "ninja")] == [None] * 7
session = onnx_maxpool.load(sys.argv[1])
x = np.arange(1, 61, dtype=np.float32).reshape(1, 2, 5, 6)
(y,) = session.run(None, {"X": x, "rois": np.array([[0, 32, 16, 64, 48]], np.float32)})
print(onnx_maxpool.__file__, importlib.metadata.version("onnx-maxpool"), y.shape, y.min(), y.max())
"""


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, ROOT / "scripts" / "build_wheels.py", "linux-x86_64", "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


def wheel_of(dist: Path) -> Path:
    (wheel,) = dist.glob("*.whl")
    return wheel


def sources() -> set[str]:
    """The package's own files."""
    return {
        f"onnx_maxpool/{path.relative_to(PACKAGE)}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }


def test_the_wheel_holds_the_package_and_its_library(dist: Path) -> None:
    wheel = wheel_of(dist)
    assert wheel.name.endswith("-py3-none-manylinux_2_17_x86_64.whl")
    files = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert files == sources() | {"onnx_maxpool/libonnx_maxpool.so"}


def test_the_source_distribution_holds_what_a_build_needs_and_no_more(dist: Path) -> None:
    (archive,) = dist.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        files = {name.partition("/")[2] for name in tar.getnames()}
    native = {f"ops/native/{path.name}" for path in (ROOT / "ops" / "native").iterdir()}
    package = {f"ops/{name}" for name in sources()}
    others = {"CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
    assert files >= native | package | others
    assert not [name for name in files if name.startswith(("models/", "tests/", "build/", ".venv/"))]


def test_the_wheel_runs_a_model_without_a_compiler(dist: Path, tmp_path: Path) -> None:
    """In an environment of its own; what the package depends on comes from this one, by its path."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel_of(dist)], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    # The wheel's package stands before: a .pth file adds at the end.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    done = subprocess.run(
        [python, "-I", "-c", SCRIPT, MODEL],
        env={"PATH": str(tmp_path), "HOME": os.environ.get("HOME", "/")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    path, *rest = done.stdout.split(maxsplit=2)
    assert Path(path).is_relative_to(site)
    assert rest == ["0.1.0", "(1, 2, 7, 7) 9.0 53.0\n"]
