"""Write the test models of `builders`, and the digests of the conformance cases, to a folder.

Two builds are byte for byte alike. The small files belong in version control; external weights (`*.weights`) do not.
The cases are derived: `onnx-maxpool conformance --export DIR` writes them, and `cases.sha256` shows where one changed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.progress import track

from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.corpus import digests

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "models"))

from builders import MODELS  # noqa: E402

DIGESTS = "cases.sha256"


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
    file = arguments.folder / DIGESTS
    file.write_text(digests(all_cases()))
    console.print(f"{file.stat().st_size:>13,}  {DIGESTS:<28} [dim]{len(all_cases())} conformance cases[/]")
    return 0


def check(folder: Path) -> int:
    """Compare the folder's files with a new build, byte for byte. External weights need not be there."""
    with tempfile.TemporaryDirectory() as build:
        for model in MODELS.values():
            model.write(Path(build))
        built = {path.name: path.read_bytes() for path in Path(build).glob("*.onnx")}
    kept = {path.name: path.read_bytes() for path in folder.glob("*.onnx")}
    differing = [
        f"{folder / name} is not what scripts/build_models.py writes"
        for name in sorted(built.keys() | kept.keys())
        if built.get(name) != kept.get(name)
    ]
    differing += differing_cases(folder / DIGESTS)
    print("\n".join(differing), end="\n" if differing else "")
    return 1 if differing else 0


def differing_cases(file: Path) -> list[str]:
    """What is not as `file` says, in a sentence for each case."""
    if not file.is_file():
        return [f"{file} is missing: scripts/build_models.py writes it"]
    texts = file.read_text(), digests(all_cases())
    kept, built = (
        {case: digest for digest, _, case in (line.partition("  ") for line in text.splitlines())} for text in texts
    )
    found = [f"{file} has no case {case}" for case in built if case not in kept]
    found += [f"{file} has the case {case}, which there is not" for case in kept if case not in built]
    found += [f"{file} has another digest of {case}" for case in built if kept.get(case, built[case]) != built[case]]
    if not found and texts[0] != texts[1]:
        found = [f"{file} has its cases in another order than they have"]
    return found


if __name__ == "__main__":
    sys.exit(main())
