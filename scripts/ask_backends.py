"""Ask every backend all cases, and write docs/conformance-results.md and a page in HTML: `scripts/ask_backends.py`.

Runtimes that do not install together get an environment each, from PyPI, under --work, where each backend's answers are
kept as JSON: name backends to ask these again, the others' answers are read. Beside them stand the digests of the cases
that they are to: where a case has changed, its backend is asked again in any case. Kept answers are replaced when the
new ones are there. It takes an hour or two, and 10 GB, most of it torch's.
"""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated

import typer
from environments import python_with
from rich.console import Console

from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.corpus import digests
from onnx_maxpool.conformance.report import formats
from onnx_maxpool.conformance.report.records import read_report
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import InputError

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "conformance-results.md"
NEEDED = ("onnx", "numpy", "ml_dtypes")
"""What every environment needs, beside the runtimes."""
TIME_LIMIT_S = 300
"""For a case: some compile for seconds, on a machine that may be busy."""


OWN = ("native", "reference", "python", "portable", "onnxruntime", "onnx-reference")
"""The backends that run in the environment of this script."""

ENVIRONMENTS = {
    "openvino": ("openvino", "openvino-default"),
    "tvm": ("tvm",),
    "mnn": ("mnn",),
    "torch": ("torch", "torchvision", "onnx2torch", "onnx2pytorch"),
    "small": ("opencv", "tract", "emx", "iree", "tinygrad"),
    "onnxruntime-openvino": ("onnxruntime-openvino",),
    "qnn": ("qnn",),
    "jax": ("jaxonnxruntime",),
}
"""The others, by the environment that has their runtimes."""


def python_of(backend: str, given: Mapping[str, Path], work: Path) -> Path | None:
    """The interpreter that has a backend's runtime; None for this one."""
    if backend in OWN:
        return None
    name, backends = next((name, backends) for name, backends in ENVIRONMENTS.items() if backend in backends)
    packages = dict.fromkeys(package for each in backends for package in BACKENDS[each].packages)
    return given.get(name) or python_with([*NEEDED, *packages], work / name)


def kept(file: Path) -> BackendRun | None:
    """The answers in a file, if these are to cases of the names that there are."""
    try:
        (run,) = read_report(file)
    except (OSError, InputError):
        return None
    return run if [result.case.name for result in run.results] == [case.name for case in all_cases()] else None


def cases_of(file: Path) -> Path:
    """The file of the digests of the cases that the answers in `file` are to."""
    return file.with_suffix(".sha256")


@cache
def cases_now() -> str:
    """The digests of the cases that there are: of their models, inputs and expected outputs."""
    return digests(all_cases())


def still_true(file: Path) -> BackendRun | None:
    """The answers in a file, if these are to the cases that there are, which may have changed under their names."""
    asked = cases_of(file)
    return kept(file) if asked.exists() and asked.read_text() == cases_now() else None


def ask(backend: str, python: Path | None, file: Path) -> BackendRun:
    """Run a backend by the command, which writes its answers. Raises SystemExit where it writes none.

    The answers that are there stay until there are new ones.
    """
    new = file.with_name(f"{file.stem}-new.json")
    new.unlink(missing_ok=True)
    command = [sys.executable, "-m", "onnx_maxpool", "conformance", "--backend", backend, "--json", str(new)]
    limit = ["--time-limit", str(TIME_LIMIT_S)]
    where = [] if python is None else ["--python", str(python)]
    done = subprocess.run([*command, *limit, *where], capture_output=True, text=True, check=False)
    run = kept(new)
    if run is None:
        raise SystemExit(f"{backend}: exit code {done.returncode}\n{done.stderr}")
    cases_of(file).unlink(missing_ok=True)  # else, broken off here, it would speak of other answers
    new.replace(file)
    cases_of(file).write_text(cases_now())
    return run


def interpreters(given: Sequence[str]) -> dict[str, Path]:
    """The Pythons that are given as NAME=PYTHON, by the name of their environment."""
    found = {}
    for each in given:
        name, _, python = each.partition("=")
        if not python:
            raise typer.BadParameter(f"--environment {each}, expected NAME=PYTHON")
        if name not in ENVIRONMENTS:
            raise typer.BadParameter(f"{name}, expected {', '.join(ENVIRONMENTS)}")
        if not Path(python).is_file():
            raise typer.BadParameter(f"--environment {each}: {python} is no file, expected a Python")
        found[name] = Path(python)
    return found


def main(
    backends: Annotated[
        list[str] | None, typer.Argument(help="Those to ask again; all whose answers are not kept.")
    ] = None,
    *,
    work: Annotated[Path, typer.Option(help="Where environments and answers are kept.")] = ROOT / "build" / "backends",
    environment: Annotated[
        list[str] | None, typer.Option(metavar="NAME=PYTHON", help="An environment that is there already.")
    ] = None,
    write: Annotated[bool, typer.Option(help="Write the pages, for which all answers must be there.")] = True,
) -> None:
    pythons = interpreters(environment or [])
    if unknown := [name for name in backends or [] if name not in BACKENDS]:
        raise typer.BadParameter(f"{', '.join(unknown)}, expected {', '.join(BACKENDS)}")
    work = work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    console = Console(highlight=False)
    runs = []
    for name in BACKENDS:
        file = work / f"{name}.json"
        run = None if name in (backends or []) else still_true(file)
        if run is None and (write or name in (backends or BACKENDS)):
            console.print(f"{datetime.datetime.now():%H:%M:%S} {name}")
            run = ask(name, python_of(name, pythons, work / "environments"), file)
        runs.append(run)
    if write:
        whole = [run for run in runs if run is not None]
        DOCUMENT.write_text(formats.markdown(whole), encoding="utf-8")
        page = work / "conformance-results.html"
        page.write_text(formats.html(whole), encoding="utf-8")
        console.print(f"wrote {DOCUMENT} and {page}", soft_wrap=True)


if __name__ == "__main__":
    typer.run(main)
