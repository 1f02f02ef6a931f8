"""Build the source distribution, and from it wheels to give to others: `python scripts/build_wheels.py [PLATFORM ...]`.

Needs the extra `wheels`. The compiler is Zig's Clang, which brings every platform's libraries with it: on Linux its
wheels ask only for glibc 2.17, as auditwheel then confirms, while `pip wheel .` asks for the glibc of the machine that
it runs on. Wheels for other platforms are compiled and linked, which is all that is proven of them here. CMake gets
what the environment variable CMAKE_ARGS has, too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer
import ziglang
from rich.console import Console
from rich.progress import track

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Platform:
    """Where a wheel runs."""

    tag: str
    """The wheel's platform tag."""
    target: str
    """Zig's name for it, with the oldest system library that it takes."""
    system: str
    processor: str
    """CMake's names."""
    library: str
    """The native library's file name, as registration.py looks for it."""


PLATFORMS = {
    "linux-x86_64": Platform("manylinux_2_17_x86_64", "x86_64-linux-gnu.2.17", "Linux", "x86_64", "libonnx_maxpool.so"),
    "linux-aarch64": Platform(
        "manylinux_2_17_aarch64", "aarch64-linux-gnu.2.17", "Linux", "aarch64", "libonnx_maxpool.so"
    ),
    "macos-arm64": Platform("macosx_11_0_arm64", "aarch64-macos.11.0", "Darwin", "arm64", "libonnx_maxpool.dylib"),
    "macos-x86_64": Platform("macosx_11_0_x86_64", "x86_64-macos.11.0", "Darwin", "x86_64", "libonnx_maxpool.dylib"),
    "windows-x86_64": Platform("win_amd64", "x86_64-windows-gnu", "Windows", "AMD64", "onnx_maxpool.dll"),
}


def run(*command: str | os.PathLike[str], **environment: str) -> str:
    """A command's output. Ends the program with all of it where the command fails."""
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    if done.returncode:
        raise SystemExit(f"{done.stdout}\nexit code {done.returncode}: {' '.join(map(str, command))}")
    return done.stdout


def source_distribution(out: Path) -> Path:
    run(sys.executable, "-m", "build", "--sdist", "--outdir", out, ROOT)
    (archive,) = out.glob("onnx_maxpool-*.tar.gz")
    return archive


def build(platform: Platform, source: Path, out: Path) -> Path:
    """The platform's wheel, from the source distribution."""
    zig = Path(ziglang.__file__).with_name("zig.exe" if sys.platform == "win32" else "zig")
    options = {"CMAKE_SYSTEM_NAME": platform.system, "CMAKE_SYSTEM_PROCESSOR": platform.processor}
    arguments = [os.environ.get("CMAKE_ARGS", ""), *(f"-D{key}={value}" for key, value in options.items())]
    with tempfile.TemporaryDirectory(prefix=".onnx_maxpool_", dir=out) as folder:
        settings = ["--config-settings=install.strip=false", f"--config-settings=build-dir={folder}/build"]
        run(
            *(sys.executable, "-m", "pip", "wheel", "--no-deps", *settings, "--wheel-dir", folder, source),
            CXX=f"{zig} c++ -target {platform.target}",
            # CMake's trial programs get the library's flags: Zig compiles its C++ library anew for others, for minutes.
            CXXFLAGS="-O3 -fPIC" if platform.system != "Windows" else "-O3",
            LDFLAGS="-s",  # this machine's `strip` knows no other platform's files
            CMAKE_ARGS=" ".join(arguments),
        )
        (built,) = Path(folder).glob("*.whl")
        # pip named it after the platform that it ran on.
        tagged = run(sys.executable, "-m", "wheel", "tags", "--remove", "--platform-tag", platform.tag, built).split()
        wheel = Path(folder) / tagged[-1]
        check(platform, wheel)
        return wheel.replace(out / wheel.name)


def check(platform: Platform, wheel: Path) -> None:
    """Ends the program where the wheel has no library of the platform's, or is not what its tag says."""
    if f"onnx_maxpool/{platform.library}" not in (names := zipfile.ZipFile(wheel).namelist()):
        raise SystemExit(f"{wheel.name} has {', '.join(names)}, expected onnx_maxpool/{platform.library}")
    if platform.system != "Linux":
        return
    words = " ".join(run(sys.executable, "-m", "auditwheel", "show", wheel).split())
    found = re.search(r'following platform tag: "(\w+)"', words)
    if not found or found[1] != platform.tag:
        raise SystemExit(f"auditwheel says of {wheel.name}: {words}, expected {platform.tag}")


def main(
    platforms: Annotated[list[str] | None, typer.Argument(help=f"Of {', '.join(PLATFORMS)}; all unless given.")] = None,
    out: Annotated[
        Path, typer.Option(help="Where the files go, in place of the earlier source distribution and wheels there.")
    ] = ROOT / "dist",
) -> None:
    """Build the source distribution, and from it a wheel for each PLATFORM.

    When all of it is built and checked, it replaces what earlier builds left in --out: the source distribution of the
    package, and its wheels for the same platforms, of whatever version; all its wheels where no PLATFORM is given.
    Where a build fails, nothing there changes.
    """
    chosen = platforms or list(PLATFORMS)
    if unknown := [name for name in chosen if name not in PLATFORMS]:
        raise typer.BadParameter(f"{', '.join(unknown)}, expected {', '.join(PLATFORMS)}")
    out = out.resolve()  # as the build's folder, which lies in it, is named to a program in another one
    out.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False, soft_wrap=True)
    # In `out`: files are moved there whole, which cannot be done between file systems.
    with tempfile.TemporaryDirectory(prefix=".onnx_maxpool_", dir=out) as folder:
        source = source_distribution(Path(folder))
        console.print(f"{source.stat().st_size:>10,}  {source.name}")
        built = [source]
        for name in track(chosen, "Building wheels", console=console):
            built.append(build(PLATFORMS[name], source, Path(folder)))
            console.print(f"{built[-1].stat().st_size:>10,}  {built[-1].name}")
        tags = [PLATFORMS[name].tag for name in chosen] if platforms else ["*"]
        replace(out, built, ["*.tar.gz", *(f"*-{tag}.whl" for tag in tags)])


def replace(out: Path, built: Sequence[Path], patterns: Sequence[str]) -> None:
    """Move what is built to `out`, and remove earlier builds of the package there whose names end as a pattern says."""
    for path in built:
        path.replace(out / path.name)
    stale = {path for pattern in patterns for path in out.glob(f"onnx_maxpool-{pattern}")}
    for path in stale - {out / path.name for path in built}:
        path.unlink()


if __name__ == "__main__":
    typer.run(main)
