"""The source distribution, and wheels where there is no compiler and none of this repository.

The plain wheel is pip's, as it was installed where these tests run: to have pip make it once more would compile all
for minutes. A portable one, for other machines, is scripts/build_wheels.py's, from the source distribution that it
makes; it asks auditwheel itself. Here it has the kernels of one instruction set: those of all take minutes more, and
what a wheel needs and holds is the same.
"""

from __future__ import annotations

import importlib.metadata
import io
import os
import platform
import re
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from builders import MODELS
from elftools.elf.elffile import ELFFile

ROOT = Path(__file__).parent.parent.parent
PACKAGE = ROOT / "ops" / "onnx_maxpool"
(VERSION,) = re.findall(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
HERE = f"{platform.system()} on {platform.machine()}"
C_LIBRARY = {"ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libm.so.6", "libpthread.so.0", "librt.so.1"}

pytestmark = [
    pytest.mark.slow("builds the library for other platforms"),
    pytest.mark.extras,
    pytest.mark.skipif(HERE != "Linux on x86_64", reason=f"the wheels are those for Linux on x86_64, this is {HERE}"),
]

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


def run(*command: str | os.PathLike[str], **environment: str) -> str:
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source distribution and the portable wheel, and files that are not ours."""
    folder = tmp_path_factory.mktemp("dist")
    for name in ("other-1.0.tar.gz", "other-1.0-py3-none-any.whl"):
        (folder / name).touch()
    script = ROOT / "scripts" / "build_wheels.py"
    run(sys.executable, script, "linux-x86_64", "--out", folder, CMAKE_ARGS="-DONNX_MAXPOOL_TARGETS=baseline")
    return folder


@pytest.fixture(scope="module")
def portable(dist: Path) -> Path:
    (wheel,) = dist.glob("onnx_maxpool-*.whl")
    return wheel


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The installed files, packed as they were before pip added its own."""
    installed = importlib.metadata.distribution("onnx-maxpool")
    files = {str(path): path for path in installed.files or [] if ".." not in path.parts and path.suffix != ".pyc"}
    pips = [name for name in files if name.endswith(("/INSTALLER", "/REQUESTED", "/direct_url.json", "/RECORD"))]
    (record,) = (files[name] for name in pips if name.endswith("/RECORD"))
    for name in pips:
        del files[name]
    (tag,) = re.findall(r"^Tag: (.*)$", installed.read_text("WHEEL") or "", re.MULTILINE)
    wheel = tmp_path_factory.mktemp("plain") / f"onnx_maxpool-{installed.version}-{tag}.whl"
    lines = record.read_text().splitlines(keepends=True)
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, path in files.items():
            archive.write(path.locate(), name)
        archive.writestr(str(record), "".join(line for line in lines if line.partition(",")[0] in files))
    return wheel


@pytest.fixture(params=["plain", "portable"])
def wheel(request: pytest.FixtureRequest) -> Path:
    found: Path = request.getfixturevalue(request.param)
    return found


def sources() -> set[str]:
    """The package's own files."""
    return {
        f"onnx_maxpool/{path.relative_to(PACKAGE)}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".so"
    }


def test_a_wheel_holds_the_package_and_its_library(wheel: Path) -> None:
    files = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert files == sources() | {"onnx_maxpool/libonnx_maxpool.so"}


def test_the_description_links_to_no_file_of_the_repository(wheel: Path) -> None:
    """A package index shows it without these."""
    (metadata,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith(".dist-info/METADATA"))
    links = re.findall(r"\]\(([^)]*)\)", zipfile.ZipFile(wheel).read(metadata).decode())
    assert len(links) > 20
    assert [link for link in links if not link.startswith("https://")] == []


def test_the_wheels_names(plain: Path, portable: Path) -> None:
    assert plain.name == f"onnx_maxpool-{VERSION}-py3-none-linux_x86_64.whl"
    assert portable.name == f"onnx_maxpool-{VERSION}-py3-none-manylinux_2_17_x86_64.whl"


def test_the_c_library_is_all_that_a_wheel_needs(wheel: Path) -> None:
    """The C++ library is linked statically."""
    library = ELFFile(io.BytesIO(zipfile.ZipFile(wheel).read("onnx_maxpool/libonnx_maxpool.so")))
    needed = {tag.needed for tag in library.get_section_by_name(".dynamic").iter_tags("DT_NEEDED")}
    assert "libc.so.6" in needed
    assert needed <= C_LIBRARY


def test_the_plain_wheel_needs_no_newer_c_library_than_this_machines(plain: Path) -> None:
    words = " ".join(run(sys.executable, "-m", "auditwheel", "show", plain).split())
    (major, minor), *others = re.findall(r'following platform tag: "manylinux_(\d+)_(\d+)_x86_64"', words)
    assert not others
    assert (int(major), int(minor)) <= tuple(map(int, platform.libc_ver()[1].split(".")[:2]))


def test_a_build_leaves_the_files_of_others(dist: Path) -> None:
    assert {path.name for path in dist.iterdir()} == {
        *("other-1.0.tar.gz", "other-1.0-py3-none-any.whl", f"onnx_maxpool-{VERSION}.tar.gz"),
        f"onnx_maxpool-{VERSION}-py3-none-manylinux_2_17_x86_64.whl",
    }


def test_the_source_distribution_holds_what_a_build_needs_and_no_more(dist: Path) -> None:
    with tarfile.open(dist / f"onnx_maxpool-{VERSION}.tar.gz") as tar:
        files = {member.name.partition("/")[2] for member in tar if member.isfile()}
    native = {str(path.relative_to(ROOT)) for path in (ROOT / "ops" / "native").rglob("*") if path.is_file()}
    package = {f"ops/{name}" for name in sources()}
    needed = {"CMakeLists.txt", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml"}
    assert files == native | package | needed | {"CHANGELOG.md", "SECURITY.md"}


STRAY = (".env", "fast_rcnn.onnx", "cases/model.onnx", "ops/notes.txt", "ops/onnx_maxpool/.env", "ops/native/a.out")


def test_a_source_distribution_takes_nothing_else_that_lies_in_the_folder(dist: Path, tmp_path: Path) -> None:
    """As where somebody builds one by hand, in a folder that is no clone of a minute ago."""
    with tarfile.open(dist / f"onnx_maxpool-{VERSION}.tar.gz") as tar:
        safely: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # since Python 3.11.4
        tar.extractall(tmp_path, **safely)
    (folder,) = tmp_path.iterdir()
    (folder / ".gitignore").write_text("")
    before = {path for path in folder.rglob("*") if path.is_file()}
    for name in STRAY:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("secret")
    run(sys.executable, "-m", "build", "--sdist", "--outdir", tmp_path / "again", folder)
    with tarfile.open(tmp_path / "again" / f"onnx_maxpool-{VERSION}.tar.gz") as tar:
        files = {member.name.partition("/")[2] for member in tar if member.isfile()}
    assert files == {str(path.relative_to(folder)) for path in before} - {".gitignore"}


def test_a_wheel_runs_a_model_without_a_compiler(wheel: Path, tmp_path: Path) -> None:
    """In an environment of its own; what the package depends on comes from this one, by its path."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    python = home / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel], check=True)
    (site,) = home.glob("lib/python*/site-packages")
    # The wheel's package stands before: a .pth file adds at the end.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    (model,) = MODELS["max_roi_pool_22_float"].write(tmp_path)
    done = subprocess.run(
        [python, "-I", "-c", SCRIPT, model],
        env={"PATH": str(tmp_path), "HOME": os.environ.get("HOME", "/")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    path, *rest = done.stdout.split(maxsplit=2)
    assert Path(path).is_relative_to(site)
    assert rest == [VERSION, "(1, 2, 7, 7) 9.0 53.0\n"]
