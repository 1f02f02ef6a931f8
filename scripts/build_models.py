"""Write the test models of `builders` and the conformance corpus to a folder.

Two builds are byte for byte alike. The small files belong in version control; external weights (`*.weights`) do not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import track

from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.corpus import differing_files, write_corpus

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "models"))

from builders import MODELS  # noqa: E402


def main() -> int:
    """Build, with a progress bar, and list what was written."""
    parser = argparse.ArgumentParser(description="Write the test models to a folder.")
    default = ROOT / "models"
    parser.add_argument("folder", nargs="?", type=Path, default=default, help="where to (default: %(default)s)")
    parser.add_argument("--skip-large", action="store_true", help="leave out models with external weights")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a new build would differ")
    arguments = parser.parse_args()
    if arguments.check:
        return check(arguments.folder)

    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = [model for model in MODELS.values() if not (arguments.skip_large and model.has_large_weights)]
    console = Console(highlight=False)
    written = [(model, model.write(arguments.folder)) for model in track(chosen, "Building models", console=console)]
    for model, paths in written:
        for path in paths:
            console.print(f"{path.stat().st_size:>13,}  {path.name:<28} [dim]{model.description}[/]", soft_wrap=True)
    corpus = write_corpus(arguments.folder, all_cases())
    size = sum(path.stat().st_size for path in corpus)
    console.print(f"{size:>13,}  {'manifest.json and its cases':<28} [dim]{len(all_cases())} conformance cases[/]")
    return 0


def check(folder: Path) -> int:
    """Compare the folder's files with a new build, byte for byte. External weights need not be there."""
    with tempfile.TemporaryDirectory() as build:
        for model in MODELS.values():
            model.write(Path(build))
        write_corpus(Path(build), all_cases())
        differing = differing_files(folder, Path(build))
        built = {path.name: path.read_bytes() for path in Path(build).glob("*.onnx")}
    kept = {path.name: path.read_bytes() for path in folder.glob("*.onnx")}
    differing += sorted(name for name in built.keys() | kept.keys() if built.get(name) != kept.get(name))
    for name in differing:
        print(f"{folder / name} is not what scripts/build_models.py writes")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
