#!/usr/bin/env python3
"""Write docs/findings from the folders of `onnx-maxpool conformance --bugs`: `write_findings.py FOLDER=PYTHON ...`.

Each FOLDER has the reports of one environment, and PYTHON is that environment's interpreter. Each program is run there,
without this package: a report whose program does not show the difference is left out, and said. A report becomes a
section of its runtime's page, in place of the section with the same heading. The other sections stay. Not every report
is kept: `why_not` says which, and why. Without a FOLDER only the index is written again.
"""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FINDINGS = ROOT / "docs" / "findings"

RUNTIMES = {
    "iree": "IREE",
    "mnn": "MNN",
    "onnxruntime": "ONNX Runtime",
    "opencv": "OpenCV",
    "openvino": "OpenVINO",
    "qnn": "ONNX Runtime's QNN provider",
    "tvm": "TVM",
}
"""The names of runtimes that are not called as their backend is."""

NOT_KEPT = {
    "openvino-adaptive_max_pool-a1-answers-where-an-error-is-expected": (
        "the operator is OpenVINO's own, and its text does not exclude a size of 0: that limit is ours"
    ),
    "openvino-adaptive_max_pool-a4-answers-where-an-error-is-expected": (
        "the operator is OpenVINO's own, and OpenVINO supports more types than its text names"
    ),
    "torch-adaptive_max_pool-g7-fails-on-a-valid-model": (
        "torch's message says that only the batch may be empty, and no text about its function says otherwise"
    ),
}
"""Reports that show, but not an error of the runtime, by the name of their folder, each with the reason."""

PAGE = """# {name}

How {name} differs. Each section can be copied into an issue by itself: it has the inputs, the answer with its
reasons, and a program that needs no part of onnx-maxpool. `onnx-maxpool conformance --backend {backend}` asks the same
questions of the version that you have.
"""

INDEX = """# Findings

How other runtimes differ. Each finding has the smallest model and inputs that show it, the reason for the answer, and
a program that runs with the runtime, onnx and NumPy. `onnx-maxpool conformance --bugs DIR` wrote the reports, and
`scripts/write_findings.py` ran each program, without this package, and saw the difference. Each runtime has a page,
with a section for each finding.

| runtime | operator | rule | finding |
|---|---|---|---|
{rows}

```{{toctree}}
:hidden:
:glob:

*
```
"""

PROGRAM = """**A program that shows it**

Save it as `reproduce.py`. `python reproduce.py` ends with exit code 1 where the difference shows.

<!-- not run: it needs {packages} -->
```python
{program}
```
"""


@dataclass(frozen=True)
class Finding:
    """A section of a runtime's page."""

    backend: str
    text: str

    @property
    def heading(self) -> str:
        """The operator, what is otherwise, and the rule: `MaxPool-12 differs: numbered per channel (P1)`."""
        return self.text.splitlines()[0].removeprefix("## ")

    @property
    def title(self) -> str:
        """The heading without the rule."""
        return re.sub(r" \([A-Z]\d+\)$", "", self.heading)

    @property
    def anchor(self) -> str:
        """The heading's name in a link, as GitHub and the site make it."""
        return re.sub(r"[^\w\- ]", "", self.heading.lower()).replace(" ", "-")

    @property
    def rule(self) -> str:
        """The first of the rules that ask it; empty where no case does."""
        asked = re.search(r"asked by rule ([A-Z0-9]+)", self.text)
        return asked[1] if asked else ""

    @property
    def version(self) -> str:
        """The runtime with its version, without the version's build."""
        ran = re.search(r"^\| ran on \| (\S+) ([^\s,-]+)", self.text, re.MULTILINE)
        return f"{ran[1]} {ran[2]}" if ran else ""

    @property
    def detail(self) -> str:
        """What it gave instead, in one line; empty where the heading says it all."""
        said = " ".join(self.text.split("\n\n")[1].split())
        found = re.search(r"another one: (.*)|known, but (.*)", said)
        found = found or re.search(r"^- obtained: (.*)", self.text, re.MULTILINE)
        return next((part for part in found.groups() if part), "") if found else ""

    @property
    def cause(self) -> str:
        """What it gave, or which error it should have given, without places and values."""
        wanted = re.search(r"^- expected: (.*)", self.text, re.MULTILINE)
        said = self.detail or (wanted[1] if wanted else "")
        return re.sub(r"0x[0-9a-f]+|[-+]?\d+(\.\d+)?(e[-+]?\d+)?|\binf\b|\bnan\b", "_", said)


def finding(name: str, report: str, program: str) -> Finding:
    """The section made of a report, from the folder `name`, and its program."""
    backend, _, title = report.splitlines()[0].removeprefix("# ").partition(": ")
    body, _, _ = report.partition("\n## A program that shows it\n")
    _, _, body = body.partition("\n")
    asked = re.search(r"asked by rule ([A-Z0-9]+)", report)
    # Which values it gives depends on how far the case was reduced, and links to the heading are to last.
    title = re.sub(r"gives (?!element type|shape)\S+ for \S+$", "gives other values", title)
    if asked:
        # The folder's name has the named answer, which the title of a wrong input does not say.
        _, _, answer = name.partition(f"-{asked[1].lower()}-")
        said = re.sub(r"[^a-z0-9]+", "-", title.lower())
        title += f": {answer.replace('-', ' ')}" if answer not in said and not answer.startswith("gives-") else ""
        title += f" ({asked[1]})"
    packages = re.findall(r'"([^"]+)"', re.findall(r"^PACKAGES = \((.*)\)$", program, re.MULTILINE)[0])
    shown = PROGRAM.format(packages=" and ".join(packages), program=program.rstrip())
    body = re.sub(r"^## (.*)$", r"**\1**", body, flags=re.MULTILINE)
    return Finding(backend, f"## {title}\n{body}\n{shown}")


def read(path: Path) -> list[Finding]:
    """The findings of a runtime's page; none where there is no page."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [Finding(path.stem, part.rstrip() + "\n") for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]]


def write(path: Path, findings: list[Finding]) -> None:
    """Write a runtime's page."""
    head = PAGE.format(name=RUNTIMES.get(path.stem, path.stem), backend=path.stem)
    sections = [found.text for found in sorted(findings, key=lambda found: found.heading)]
    path.write_text("\n".join([head, *sections]), encoding="utf-8")


def why_not(name: str, found: Finding, findings: list[Finding]) -> str:
    """Why a report is not kept; empty where it is.

    The suite often asks one difference under many rules. Its first section is enough for the runtime's developers. A
    section that the page already has is written again in any case.
    """
    if any(other.heading == found.heading for other in findings):
        return ""
    same = [other.heading for other in findings if (other.title, other.cause) == (found.title, found.cause)]
    return NOT_KEPT.get(name) or (f"the page has it as {same[0]!r}" if same else "")


def shows(program: Path, python: str) -> bool:
    """Whether a program shows its difference in an environment in which this package cannot be imported."""
    code = "import runpy, sys; sys.modules['onnx_maxpool'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    try:
        done = subprocess.run(
            [python, "-c", code, str(program)], capture_output=True, text=True, timeout=300, check=False
        )
    except subprocess.TimeoutExpired:
        print(f"{program}: it did not end within 300 s")
        return False
    if done.returncode != 1 or "he difference shows" not in done.stdout:
        print(f"{program}: exit code {done.returncode}: {(done.stdout + done.stderr)[-300:]}")
        return False
    return True


def take(folder: Path, python: str) -> int:
    """Put the reports that show into the pages; how many these are."""
    count = 0
    for home in sorted(path.parent for path in folder.glob("*/reproduce.py")):
        program = home / "reproduce.py"
        found = finding(home.name, (home / "README.md").read_text("utf-8"), program.read_text("utf-8"))
        page = FINDINGS / f"{found.backend}.md"
        findings = read(page)
        if reason := why_not(home.name, found, findings):
            print(f"{program}: not kept: {reason}")
        elif shows(program, python):
            write(page, [*(other for other in findings if other.heading != found.heading), found])
            count += 1
    return count


def index() -> str:
    """The page that lists all findings."""
    rows = []
    for path in sorted(FINDINGS.glob("*.md")):
        for found in read(path) if path.name != "index.md" else []:
            operator, _, what = found.title.partition(" ")
            detail = f": {found.detail[:140]}" + ("..." if len(found.detail) > 140 else "") if found.detail else ""
            link = f"[{what}]({path.name}#{found.anchor})"
            rows.append(f"| [{found.version}]({path.name}) | {operator} | {found.rule} | {link}{detail} |")
    return INDEX.format(rows="\n".join(rows))


def main(arguments: list[str]) -> int:
    FINDINGS.mkdir(exist_ok=True)
    for argument in arguments:
        folder, _, python = argument.partition("=")
        print(f"{folder}: {take(Path(folder), python or sys.executable)} findings")
    (FINDINGS / "index.md").write_text(index(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
