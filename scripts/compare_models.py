"""Run every test model through ONNX Runtime with our operators, and compare it with the reference evaluator, exactly.

    python scripts/compare_models.py [--skip-large] [NAME_CONTAINS]

Exit code 1 if any output of any model differs, or if no model has such a name.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress
from rich.text import Text

from onnx_maxpool import load
from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.cli.comparison import Comparison, compare
from onnx_maxpool.cli.terminal import add_row, milliseconds, plain_table, verdict
from onnx_maxpool.graph.nodes import operator_nodes
from onnx_maxpool.graph.reading import read_model
from onnx_maxpool.types import element_type

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "models"))

from builders import MODELS, Model  # noqa: E402


def main(
    name_contains: Annotated[str, typer.Argument(help="Only models whose name contains this.")] = "",
    skip_large: Annotated[bool, typer.Option("--skip-large", help="Leave out models with external weights.")] = False,
) -> None:
    chosen = [
        model
        for model in MODELS.values()
        if name_contains in model.name and not (skip_large and model.has_large_weights)
    ]
    console = Console(highlight=False)
    table = plain_table("model", "opset", "outputs", "verdict", "runtime", "reference")
    differing = 0
    with Progress(console=console, transient=True) as progress:
        for model in progress.track(chosen, description="comparing"):
            opset, result = run_both(model)
            add_row(
                table,
                model.name,
                opset,
                "\n".join(f"{name} {element_type(array)}" for name, array in result.expected.items()),
                Text("\n").join(verdict(difference) for difference in result.differences.values()),
                milliseconds(result.actual_seconds),
                milliseconds(result.expected_seconds),
            )
            differing += not result.equal
    console.print(table)
    console.print(f"{len(chosen) - differing} of {len(chosen)} models equal")
    sys.exit(1 if differing or not chosen else 0)


def run_both(model: Model) -> tuple[str, Comparison]:
    """The opset of the model's first operator of ours, and the comparison on its sample inputs."""
    with tempfile.TemporaryDirectory(prefix="onnx_maxpool_") as folder:
        path, *_ = model.write(Path(folder))
        opset = str(next(operator_nodes(read_model(path))).opset)
        return opset, compare(load(path), reference_evaluator(path), model.inputs())


if __name__ == "__main__":
    typer.run(main)
