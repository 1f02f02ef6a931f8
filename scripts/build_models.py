"""Write the test models of `builders` to a folder, and the digests of them and of the conformance cases beside them.

Two builds are byte for byte alike, so only the digests belong in version control: they show where something changed.
`onnx-maxpool conformance --export DIR` writes the cases. With `--check` the digests in the folder are compared with
those of a new build, and the models need not be there.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import track

from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.corpus import digests

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "models"))

from builders import MODELS  # noqa: E402


def model_digests() -> str:
    """A line for each model, as `sha256sum` prints and checks it. External weights are left out."""
    return "".join(f"{hashlib.sha256(model.content()).hexdigest()}  {model.file}\n" for model in MODELS.values())


def case_digests() -> str:
    return digests(all_cases())


DIGESTS = {"models.sha256": model_digests, "cases.sha256": case_digests}
"""The files of digests, and what writes each."""


def main() -> int:
    """Build, with a progress bar, and list what was written."""
    parser = argparse.ArgumentParser(description="Write the test models and the digests to a folder.")
    default = ROOT / "models"
    parser.add_argument("folder", nargs="?", type=Path, default=default, help="where to (default: %(default)s)")
    parser.add_argument("--skip-large", action="store_true", help="leave out models with external weights")
    parser.add_argument("--check", action="store_true", help="write nothing; fail where a digest would differ")
    arguments = parser.parse_args()
    if arguments.check and arguments.skip_large:
        parser.error("--skip-large means nothing with --check, which compares digests and writes no weights")
    if arguments.check:
        return check(arguments.folder)

    arguments.folder.mkdir(parents=True, exist_ok=True)
    chosen = [model for model in MODELS.values() if not (arguments.skip_large and model.has_large_weights)]
    console = Console(highlight=False)
    written = [(model, model.write(arguments.folder)) for model in track(chosen, "Building models", console=console)]
    for model, paths in written:
        for path in paths:
            console.print(f"{path.stat().st_size:>13,}  {path.name:<28} [dim]{model.description}[/]", soft_wrap=True)
    for name, digests_of in DIGESTS.items():
        lines = digests_of()
        (arguments.folder / name).write_text(lines)
        console.print(f"{len(lines):>13,}  {name:<28} [dim]{lines.count(chr(10))} digests[/]", soft_wrap=True)
    return 0


def check(folder: Path) -> int:
    """Compare the digests in the folder with those of a new build, and say what differs."""
    found = [line for name, digests_of in DIGESTS.items() for line in differing(folder / name, digests_of())]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


def differing(file: Path, expected: str) -> list[str]:
    """What is not as `file` says, in a sentence for each of its lines."""
    if not file.is_file():
        return [f"{file} is missing: scripts/build_models.py writes it"]
    texts = file.read_text(), expected
    kept, built = (
        {name: digest for digest, _, name in (line.partition("  ") for line in text.splitlines())} for text in texts
    )
    found = [f"{file} lacks {name}" for name in built if name not in kept]
    found += [f"{file} has {name}, which there is not" for name in kept if name not in built]
    found += [f"{file} has another digest of {name}" for name in built if kept.get(name, built[name]) != built[name]]
    if not found and texts[0] != texts[1]:
        found = [f"{file} has its lines in another order than a new build"]
    return found


if __name__ == "__main__":
    sys.exit(main())
