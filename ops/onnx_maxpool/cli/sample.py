"""`onnx-maxpool sample`: write the files that the documentation's examples use."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onnx_maxpool.cli.outputs import prepare_replacement
from onnx_maxpool.cli.terminal import add_row, plain_table
from onnx_maxpool.errors import InputError
from onnx_maxpool.samples import SAMPLES, Sample


def sample(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="FILE...", help="Write these samples, for example fast_rcnn.onnx.", show_default=False),
    ] = None,
    folder: Annotated[Path, typer.Option("--folder", metavar="DIR", help="Write the files to this folder.")] = Path(),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that exist.")] = False,
    list_samples: Annotated[bool, typer.Option("--list", help="List the samples and stop.")] = False,
) -> None:
    """Write the models and inputs that the documentation uses.

    A sample always has the same content. It is made on this machine: nothing is downloaded.
    """
    console = Console(highlight=False)
    if list_samples:
        table = plain_table("sample", "what it is")
        for name, row in SAMPLES.items():
            add_row(table, name, row.about)
        console.print(table)
        return
    if not names:
        raise InputError(f"sample: no file is named, expected {', '.join(SAMPLES)} or --list")
    chosen = {folder / name: _known(name) for name in names}
    for path in chosen:
        if path.exists() and not overwrite:
            raise InputError(f"{path} exists: give --overwrite to replace it")
    targets = {path: prepare_replacement(path) for path in chosen}
    for path, row in chosen.items():
        write_whole(row, path.name, targets[path])
        console.print(f"wrote {path}: {row.about}", markup=False, soft_wrap=True)


def _known(name: str) -> Sample:
    """The sample of that name. Raises InputError where there is none, or where a package is missing."""
    if name not in SAMPLES:
        raise InputError(f"sample {name}: expected one of {', '.join(SAMPLES)}")
    row = SAMPLES[name]
    if row.package and not find_spec(row.package):
        raise InputError(f'sample {name} needs {row.package}: pip install "onnx-maxpool[{row.extra}]"')
    return row


def write_whole(row: Sample, name: str, target: Path) -> None:
    """Write the sample `name`. What stands at `target`, of any name, is replaced when everything is written."""
    with tempfile.TemporaryDirectory(prefix=f"{name}.", dir=target.parent) as folder:
        unfinished = Path(folder, name)
        row.write(unfinished)
        unfinished.replace(target)
