"""Write the test models of `onnx_maxpool.models` to a folder.

Two builds are byte for byte alike. The small files belong in version control; external weights (`*.weights`) do not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console
from rich.progress import track

from onnx_maxpool.models import MODELS


def main() -> None:
    """Build, with a progress bar, and list what was written."""
    parser = argparse.ArgumentParser(description="Write the test models to a folder.")
    default = Path(__file__).resolve().parent.parent / "models"
    parser.add_argument("folder", nargs="?", type=Path, default=default, help="where to (default: %(default)s)")
    parser.add_argument("--skip-large", action="store_true", help="leave out models with external weights")
    arguments = parser.parse_args()

    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = [model for model in MODELS.values() if not (arguments.skip_large and model.has_large_weights)]
    console = Console(highlight=False)
    written = [(model, model.write(arguments.folder)) for model in track(chosen, "Building models", console=console)]
    for model, paths in written:
        for path in paths:
            console.print(f"{path.stat().st_size:>13,}  {path.name:<28} [dim]{model.description}[/]", soft_wrap=True)


if __name__ == "__main__":
    main()
