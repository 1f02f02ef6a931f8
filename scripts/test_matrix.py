"""Run the tests on other Pythons, ONNX Runtimes, NumPys and ONNXs: `scripts/test_matrix.py --wheel FILE [CELL ...]`.

Each cell has an environment of its own under --work, with the package's wheel; those of the ONNX Runtimes between the
oldest and the newest share the newest's, with their runtime before it on the path. They run the tests that call every
place of the runtime's interface that the native library knows. Results are kept in --work too, so that cells may be run
one by one; docs/compatibility.md is written from all of them. Needs Pythons named python3.10 and so on, itself 3.11.
"""

from __future__ import annotations

import datetime
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import tomllib
import typer
from packaging.requirements import Requirement
from rich.console import Console

from onnx_maxpool.cli.terminal import plain_table

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("onnxruntime", "onnxruntime-extensions", "numpy", "onnx", "openvino")
RELEASES = (
    *("1.23.0", "1.23.1", "1.23.2", "1.24.1", "1.24.2", "1.24.3", "1.24.4", "1.25.0", "1.25.1"),
    *("1.26.0", "1.27.0", "1.28.0", "1.29.0", "1.30.0", "1.31.0", "1.31.1"),
)
"""Every ONNX Runtime on PyPI from the oldest that is supported, but for the newest."""
INTERFACE_TESTS = (
    *("adapters/test_registration.py", "repository/test_examples.py", "words/test_bad_input.py"),
    *("operators/test_max_roi_pool.py", "operators/test_roi_plans.py"),
    *("operators/test_max_pooling1.py", "operators/test_adaptive_max_pool.py"),
)
VERSIONS = f"""
import importlib.metadata, json, platform
found = {{name: importlib.metadata.version(name) for name in {PACKAGES}}}
print(json.dumps({{"Python": platform.python_version(), **found}}))
"""


@dataclass(frozen=True)
class Cell:
    """Versions to test with. Without a pin, a package is the newest that its Python can have."""

    name: str
    python: str
    pins: dict[str, str] = field(default_factory=dict)
    runtime: str | None = None
    """The ONNX Runtime to put before the cell `newest-3.11`'s own."""

    @property
    def tests(self) -> list[str]:
        """The files to run; none for all."""
        return [f"tests/{name}" for name in INTERFACE_TESTS] if self.runtime else []


def project() -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def cells() -> dict[str, Cell]:
    floors = {}
    for text in project()["dependencies"]:
        requirement = Requirement(text)
        (floor,) = requirement.specifier
        floors[requirement.name] = floor.version
    found = [Cell("oldest-3.10", "3.10", floors)]
    found += [Cell(f"newest-{python}", python) for python in ("3.10", "3.11", "3.12", "3.13")]
    found += [Cell(f"onnxruntime-{release}", "3.11", runtime=release) for release in RELEASES]
    return {cell.name: cell for cell in found}


def environment(cell: Cell, wheel: Path, work: Path) -> tuple[Path, dict[str, str]]:
    """The cell's Python, and the environment variables to run it with."""
    home = work / (cell.name if cell.runtime is None else f"newest-{cell.python}")
    python = home / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    constraints = "".join(f"{name}=={version}\n" for name, version in cell.pins.items())
    # Where any of this changes, other packages belong there.
    wanted = "\n".join([constraints, *project()["dependencies"], *project()["optional-dependencies"]["test"]])
    done = home / "installed"
    if not done.exists() or done.read_text() != wanted:
        make(cell.python, home)
        (home / "constraints.txt").write_text(constraints)
        subprocess.run([*pip, f"{wheel}[test]", "--constraint", home / "constraints.txt"], check=True)
        done.write_text(wanted)
    # The same version may stand for another wheel than the one that is installed.
    subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    if cell.runtime:
        runtime, begun = work / f"{cell.name}-packages", work / f"{cell.name}-begun"
        if not runtime.exists():
            shutil.rmtree(begun, ignore_errors=True)
            subprocess.run([*pip, "--no-deps", "--target", begun, f"onnxruntime=={cell.runtime}"], check=True)
            begun.rename(runtime)  # so that it is whole where it is there
        variables["PYTHONPATH"] = str(runtime)
    return python, variables


def make(version: str, home: Path) -> None:
    """Make an environment in `home`, in place of one of ours. Raises SystemExit where something else is there."""
    found = shutil.which(f"python{version}")
    if not found:
        raise SystemExit(f"python{version} is missing, expected on the PATH for {home.name}")
    begun = home / "begun"
    if home.exists() and any(home.iterdir()) and not begun.exists() and not (home / "installed").exists():
        raise SystemExit(f"{home} holds no environment that this script made, expected one or an empty folder")
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    begun.touch()
    subprocess.run([found, "-m", "venv", home], check=True)


def run(cell: Cell, wheel: Path, work: Path) -> dict[str, str]:
    """A row of the table. The tests' output goes to a file beside the environment."""
    python, variables = environment(cell, wheel, work)
    log = work / f"{cell.name}.log"
    with log.open("w") as file:
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *cell.tests]
        done = subprocess.run(command, cwd=ROOT, env=variables, stdout=file, stderr=subprocess.STDOUT, check=False)
    last = (log.read_text().strip().splitlines() or ["no output"])[-1]
    versions = subprocess.run([python, "-c", VERSIONS], env=variables, check=True, capture_output=True, text=True)
    return {
        **json.loads(versions.stdout),
        "tests": "the interface's" if cell.runtime else "all",
        "result": re.sub(r" in [\d.]+s.*", "", last)
        + ("" if done.returncode == 0 else f", exit code {done.returncode}"),
        "date": datetime.date.today().isoformat(),
    }


HEAD = """# What the tests have run on

`scripts/test_matrix.py` writes this page; do not edit it. The machine is Linux on x86-64, with the wheel that
`scripts/build_wheels.py` makes. *All* means all tests that the extra `test` installs the packages for. *The
interface's* means the tests that run every operator and every bad input in ONNX Runtime. Expected failures (`xfailed`)
are indices of another type than the operator's default, which `load` rejects in ONNX Runtime before 1.28, and faults
that ONNX Runtime before 1.24 and ONNX before 1.20 have themselves. A row has the tests of its date: newer rows have
more of them.
"""


def document(results: dict[str, dict[str, str]]) -> str:
    columns = ["Python", *PACKAGES, "tests", "result", "date"]
    rows = [f"| {' | '.join(results[name][column] for column in columns)} |" for name in cells() if name in results]
    return "\n".join([HEAD, f"| {' | '.join(columns)} |", "|" + "---|" * len(columns), *rows, ""])


def main(
    names: Annotated[list[str] | None, typer.Argument(help="Cells to run, by their names; all unless given.")] = None,
    *,
    wheel: Annotated[Path, typer.Option(help="The wheel to test.", exists=True)],
    work: Annotated[Path, typer.Option(help="Where environments and results are kept.")] = ROOT / "build" / "matrix",
) -> None:
    known = cells()
    if unknown := [name for name in names or [] if name not in known]:
        raise typer.BadParameter(f"{', '.join(unknown)}, expected {', '.join(known)}")
    work = work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    kept = work / "results.json"
    console = Console(highlight=False)
    table = plain_table("cell", "result")
    failed = False
    for name in names or known:
        with console.status(name):
            result = run(known[name], wheel.resolve(), work)
        # Read now, not before: cells may run at the same time.
        results = json.loads(kept.read_text()) if kept.exists() else {}
        results[name] = result
        failed |= "exit code" in result["result"]
        table.add_row(name, result["result"])
        kept.write_text(json.dumps(results, indent=2))
        (ROOT / "docs" / "compatibility.md").write_text(document(results))
    console.print(table)
    sys.exit(failed)


if __name__ == "__main__":
    typer.run(main)
