#!/usr/bin/env python3
"""Write docs/findings from the folders of `onnx-maxpool conformance --bugs`: `write_findings.py FOLDER=PYTHON ...`.

Each FOLDER has the reports of one environment, and PYTHON is that environment's interpreter. Each program is run there,
without this package: a report whose program does not show the difference is left out, and said. Pages that are there
already stay; `--index` writes the index only.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FINDINGS = ROOT / "docs" / "findings"

HEAD = """# Findings

What other runtimes do otherwise, each with the smallest model and inputs that show it, why the answer is so, and
a program that runs with the runtime, onnx and NumPy. `onnx-maxpool conformance --bugs DIR` wrote the pages, and
`scripts/write_findings.py` ran each program, without this package, and saw the difference. Versions are in the pages.

| runtime | version | operator | rule | finding |
|---|---|---|---|---|
"""


def shows(program: Path, python: str) -> bool:
    """Whether a program shows its difference in an environment in which this package cannot be imported."""
    code = "import runpy, sys; sys.modules['onnx_maxpool'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    try:
        done = subprocess.run(
            [python, "-c", code, str(program)], capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode != 1 or "he difference shows" not in done.stdout:
        print(f"{program}: exit code {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
        return False
    return True


def take(folder: Path, python: str) -> int:
    """Copy the reports that show; how many these are."""
    count = 0
    for home in sorted(path.parent for path in folder.glob("*/reproduce.py")):
        if not shows(home / "reproduce.py", python):
            continue
        page = (home / "README.md").read_text(encoding="utf-8")
        page = page.replace("`python reproduce.py`", f"`python {home.name}.py`")
        (FINDINGS / f"{home.name}.md").write_text(page, encoding="utf-8")
        shutil.copyfile(home / "reproduce.py", FINDINGS / f"{home.name}.py")
        count += 1
    return count


def index() -> str:
    """The page that lists the others."""
    rows = []
    for path in sorted(FINDINGS.glob("*.md")):
        if path.name == "index.md":
            continue
        text = path.read_text(encoding="utf-8")
        backend, _, title = text.splitlines()[0].removeprefix("# ").partition(": ")
        operator, _, what = title.partition(" ")
        asked = re.search(r"asked by rule ([A-Z0-9]+)", text)
        version = re.search(r"^\| ran on \| ([^,|]+)", text, re.MULTILINE)
        rule = asked[1] if asked else ""
        ran = version[1].strip().partition("-")[0] if version else ""
        said = " ".join(text.split("\n\n")[1].split())
        detail = re.search(r"another one: (.*)|known, but (.*)", said)
        obtained = re.search(r"^- obtained: (.*)", text, re.MULTILINE)
        more = next((part for match in (detail, obtained) if match for part in match.groups() if part), "")
        more = f": {more[:140]}" + ("..." if len(more) > 140 else "") if more else ""
        rows.append(f"| {backend} | {ran} | {operator} | {rule} | [{what}]({path.name}){more} |")
    return HEAD + "\n".join(rows) + "\n"


def main(arguments: list[str]) -> int:
    FINDINGS.mkdir(exist_ok=True)
    for argument in arguments:
        if argument != "--index":
            folder, _, python = argument.partition("=")
            print(f"{folder}: {take(Path(folder), python or sys.executable)} findings")
    (FINDINGS / "index.md").write_text(index(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
