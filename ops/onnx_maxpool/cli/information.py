"""`onnx-maxpool info`: what a bug report needs to say about this installation and this machine."""

from __future__ import annotations

import importlib.metadata
import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import onnx
import onnxruntime as ort
import typer
from rich.console import Console
from rich.table import Table

from onnx_maxpool.adapters.registration import library_path, targets
from onnx_maxpool.cli.terminal import add_row
from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.machine import machine
from onnx_maxpool.operators.registry import OPERATORS

REQUIRED = ("onnx-maxpool", "numpy", "onnx")
"""Distributions that are always there. ONNX Runtime has several, of which one is."""
EXTRAS = (
    *("rich", "typer", "hypothesis", "jinja2", "junitparser", "matplotlib", "pillow", "scikit-image", "pyarrow", "ray"),
    *("onnxscript", "torch", "torchvision", "openvino", "MNN", "paddlepaddle"),
)
"""Distributions of the extras, and of the runtimes that `bench` compares with."""
BACKEND_PACKAGES = [
    name
    for row in BACKENDS.values()
    for name in row.package.split()
    if name not in REQUIRED and not name.startswith("onnxruntime")
]
OPTIONAL = tuple(dict.fromkeys([*EXTRAS, *BACKEND_PACKAGES]))
"""What may be installed or not; the runtimes that `conformance` asks are among them."""


@dataclass(frozen=True)
class InstructionSet:
    """One that the native library was compiled for."""

    name: str
    runs_here: bool
    """Whether this processor has it."""
    used: bool


@dataclass(frozen=True)
class Operator:
    """One version of one of our operators."""

    name: str
    since_version: int
    domain: str
    types: tuple[str, ...]


@dataclass(frozen=True)
class Information:
    """What `information` finds."""

    versions: Mapping[str, str]
    """Of Python, of this package and of what it depends on."""
    native_library: str | None
    """The path of the native library; None where it is missing."""
    problem: str | None
    """Why the library cannot be asked; None where it can."""
    instruction_sets: tuple[InstructionSet, ...]
    """Worst first."""
    machine: Mapping[str, Any]
    """Processor, number of processors, operating system, and ONNX_MAXPOOL_TARGET."""
    providers: tuple[str, ...]
    """The execution providers of the installed ONNX Runtime."""
    newest_opset: int
    """Of ai.onnx, in the installed onnx."""
    operators: tuple[Operator, ...]
    """That the library registers."""
    optional: Mapping[str, str | None]
    """The versions of optional packages and peers; None where one is not installed."""


def information() -> Information:
    """Ask the installation. Loads the native library, and imports no optional package."""
    about = machine()
    path = problem = None
    found: tuple[InstructionSet, ...] = ()
    try:
        path = library_path()
        found = tuple(InstructionSet(each.name, each.runs_here, each.chosen) for each in targets())
    except OSError as error:  # missing, or not a library that this system can load
        problem = str(error)
    rows = (Operator(row.name, row.since_version, row.domain or "ai.onnx", row.types["T"]) for row in OPERATORS)
    return Information(
        versions=_versions(),
        native_library=path,
        problem=problem,
        instruction_sets=found,
        machine={name: about[name] for name in ("cpu", "cpus", "system", "target")},
        providers=tuple(ort.get_available_providers()),
        newest_opset=onnx.defs.onnx_opset_version(),
        operators=tuple(rows),
        optional={name: _version(name) for name in OPTIONAL},
    )


def info(as_json: Annotated[bool, typer.Option("--json", help="Print the facts as JSON.")] = False) -> None:
    """Print what a bug report needs: versions, the native library, the processor and what else is installed."""
    facts = information()
    if as_json:
        typer.echo(json.dumps(asdict(facts), indent=2))
        return
    Console(highlight=False).print(_table(facts), soft_wrap=True)


def _versions() -> dict[str, str]:
    """ONNX Runtime and its extensions by the names of the distributions that are installed."""
    names = {each.name for each in importlib.metadata.distributions() if each.name.lower().startswith("onnxruntime")}
    found = {"Python": platform.python_version()}
    found |= {name: _version(name) or "not installed as a package" for name in REQUIRED}
    found |= {name: importlib.metadata.version(name) for name in sorted(names)}
    return found if "onnxruntime" in names else {**found, "onnxruntime": str(ort.__version__)}


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _table(facts: Information) -> Table:
    """A line for each fact, which can be pasted into a bug report."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for name, version in facts.versions.items():
        add_row(grid, name, version)
    add_row(grid, "native library", facts.native_library or f"none: {facts.problem}")
    if facts.native_library:
        add_row(grid, "instruction sets", facts.problem or _instruction_sets(facts))
    if facts.machine["target"]:
        add_row(grid, "ONNX_MAXPOOL_TARGET", facts.machine["target"])
    add_row(grid, "processor", f"{facts.machine['cpu']}, {facts.machine['cpus']} usable")
    add_row(grid, "system", facts.machine["system"])
    add_row(grid, "execution providers", ", ".join(facts.providers))
    add_row(grid, "newest opset of onnx", str(facts.newest_opset))
    for i, row in enumerate(facts.operators):
        types = ", ".join(row.types)
        add_row(grid, "operators" if i == 0 else "", f"{row.domain} {row.name}-{row.since_version}: {types}")
    installed = [f"{name} {version}" for name, version in facts.optional.items() if version]
    missing = [name for name, version in facts.optional.items() if not version]
    add_row(grid, "optional packages", ", ".join(installed) or "none")
    add_row(grid, "not installed", ", ".join(missing) or "none")
    return grid


def _instruction_sets(facts: Information) -> str:
    said = [
        f"{each.name} ({'used' if each.used else 'available' if each.runs_here else 'not in this processor'})"
        for each in facts.instruction_sets
    ]
    return ", ".join(said)
