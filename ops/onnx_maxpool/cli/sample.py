"""`onnx-maxpool sample`: write the files that the documentation's examples use."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from onnx_maxpool.cli.outputs import check_absent, prepare_replacement
from onnx_maxpool.cli.terminal import add_row, plain_table
from onnx_maxpool.errors import InputError
from onnx_maxpool.files import replacing
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
        check_absent(path, overwrite)
        prepare_replacement(path)
    for path, row in chosen.items():
        with replacing(path) as unfinished:
            row.write(unfinished)
        console.print(f"wrote {path}: {row.about}", markup=False, soft_wrap=True)


def _known(name: str) -> Sample:
    """The sample of that name. Raises InputError where there is none, or where a package is missing."""
    if name not in SAMPLES:
        raise InputError(f"sample {name}: expected one of {', '.join(SAMPLES)}")
    row = SAMPLES[name]
    if row.package and not find_spec(row.package):
        raise InputError(f'sample {name} needs {row.package}: pip install "onnx-maxpool[{row.extra}]"')
    return row
