#!/usr/bin/env python3
"""Write docs/findings from the folders of `onnx-maxpool conformance --bugs`: `write_findings.py FOLDER=PYTHON ...`.

Each FOLDER has the reports of one environment, and PYTHON is that environment's interpreter. Each program is run there,
without this package. A runtime's page becomes what its reports say, so give all its reports at once. A report whose
program does not show the difference is left out, and so is one that `why_not` has a reason against. A section that no
report has leaves the page; a section that no case asks was written by hand, and stays while its program shows. All that
is left out is printed, with the reason. The exit code is 1 where a program cannot be tried, or where none of a
runtime's shows: then its page stays as it is. Without a FOLDER only the index is written again.
"""

from __future__ import annotations

import argparse
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape, unescape
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

LIMITS = {
    r"^- expected: an error, such as `AdaptiveMaxPool: output_size is \[([^]]*,)?0[],]": (
        "the text of AdaptiveMaxPool does not exclude a size of 0: that limit is ours"
    ),
    r"^- expected: an error, such as `\S+: X is \w+, expected [^`]*\b(or|float16)\b": (
        "a runtime may support more types than the operator's text names"
    ),
}
"""What a report has that shows no error of a runtime, whichever it is, each with the reason.

An error on an empty tensor is a finding: the texts are silent (G7), but their formulas of the output's size hold.
"""

TIME_LIMIT_S = 300
"""For a program."""

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

<!-- {{toctree}}
:hidden:
:glob:

*
-->
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
    crash: str = ""
    """Where the process ends, as running the program tells: the report has only the last line that was written."""

    @property
    def heading(self) -> str:
        """The operator, what is otherwise, and the rule: `MaxPool-12 differs: numbered per channel (P1)`."""
        return self.text.splitlines()[0].removeprefix("## ")

    @property
    def title(self) -> str:
        """The heading without the rule, and without the number that makes it a heading of its own."""
        return re.sub(r"(, number \d+)?( \([A-Z]\d+\))?$", "", self.heading)

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
        """What it gave, or which error it should have given, without places, and of numbers only their kinds."""
        if ".rs:" in self.crash:
            return self.crash
        wanted = re.search(r"^- expected: (.*)", self.text, re.MULTILINE)
        # Where a crash has no place, it is that of what was asked.
        asked = wanted[1] if wanted else ""
        said = f"{self.crash}, {asked}" if self.crash else self.detail or asked
        said = re.sub(r"\[[^]]*\]", "[]", said)
        return re.sub(NUMBER, lambda found: kind_of(found[0]), said)


NUMBER = r"(?<!\w)(?:0x[0-9a-f]+|[-+]?\d+(\.\d+)?(e[-+]?\d+)?|[-+]?\binf\b|\bnan\b)"


def kind_of(number: str) -> str:
    """The kinds of numbers that a runtime may treat unlike all others by themselves, else `_`."""
    value = float(int(number, 16) if number.startswith("0x") else number)
    if value in (0, float("inf"), float("-inf")) or value != value:
        return f"{value:g}"
    size = abs(value)
    return "subnormal" if size < 2.0**-126 else "lowest" if value < 0 and size > 3.4e38 else "_"


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
        is_named = "answers-where-an-error" in said and answer not in said and not answer.startswith("gives-")
        title += f": {answer.replace('-', ' ')}" if is_named else ""
        title += f" ({asked[1]})"
    packages = re.findall(r'"([^"]+)"', re.findall(r"^PACKAGES = \((.*)\)$", program, re.MULTILINE)[0])
    shown = PROGRAM.format(packages=" and ".join(packages), program=program.rstrip())
    body = re.sub(r"^## (.*)$", r"**\1**", body, flags=re.MULTILINE)
    return Finding(backend, f"## {title}\n{body}\n{shown}")


def report_in(home: Path) -> Finding:
    """The section made of a folder."""
    # A number that only tells the folder from another one is no part of an answer's name.
    name = re.sub(r"-\d+$", "", home.name)
    name = name if home.with_name(name).is_dir() else home.name
    return finding(name, (home / "README.md").read_text("utf-8"), (home / "reproduce.py").read_text("utf-8"))


def numbered(found: Finding, findings: Sequence[Finding]) -> Finding:
    """The finding, with a number in its heading where others have the heading without one."""
    taken = {other.heading for other in findings}
    rule = f" ({found.rule})" if found.rule else ""
    headings = (found.heading, *(f"{found.title}, number {number}{rule}" for number in range(2, len(taken) + 3)))
    heading = next(each for each in headings if each not in taken)
    return replace(found, text=found.text.replace(f"## {found.heading}\n", f"## {heading}\n", 1))


def read(path: Path) -> list[Finding]:
    """The findings of a runtime's page; none where there is no page."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [Finding(path.stem, part.rstrip() + "\n") for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]]


def write(path: Path, findings: list[Finding]) -> None:
    """Write a runtime's page."""
    head = PAGE.format(name=RUNTIMES.get(path.stem, path.stem), backend=path.stem)
    sections = [found.text for found in sorted(findings, key=lambda found: found.heading)]
    path.write_text("\n".join([head, *sections]), encoding="utf-8")


def why_not(found: Finding, findings: Sequence[Finding]) -> str:
    """Why a report is not kept beside those that the page has; empty where it is.

    The suite often asks one difference under many rules. Its first section is enough for the runtime's developers.
    """
    limits = (reason for pattern, reason in LIMITS.items() if re.search(pattern, found.text, re.MULTILINE))
    if reason := next(limits, "") if "answers where an error" in found.title else "":
        return reason
    others = [other for other in findings if other.heading != found.heading]
    same = [other.heading for other in others if (other.title, other.cause) == (found.title, found.cause)]
    return f"the page has it as {same[0]!r}" if same else ""


@dataclass(frozen=True)
class Shown:
    """What a program gives."""

    shows: bool
    """Whether the difference does."""
    why_not: str = ""
    untried: bool = False
    """Whether that is because the program could not be tried."""
    crash: str = ""
    """Where it ends the process that runs the model; empty where it does not."""


def run(program: Path, python: str) -> Shown:
    """Run a program in an environment in which this package cannot be imported."""
    code = "import runpy, sys; sys.modules['onnx_maxpool'] = None; runpy.run_path(sys.argv[1], run_name='__main__')"
    command = [python, "-c", code, str(program)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=TIME_LIMIT_S, check=False
        )
    except subprocess.TimeoutExpired:
        return Shown(False, f"it did not end within {TIME_LIMIT_S} s", untried=True)
    if done.returncode == 1 and "he difference shows" in done.stdout:
        return Shown(True, crash=crash(done.stdout, done.stderr))
    if done.returncode == 0:
        return Shown(False, "its difference does not show")
    return Shown(False, f"exit code {done.returncode}: {(done.stdout + done.stderr)[-300:]}", untried=True)


def crash(stdout: str, stderr: str) -> str:
    """Where the process that runs the model ended: how, and the first line that tells the place; empty if it did not.

    That is where Rust panicked, else what looks like an error, else the first words.
    """
    ended = re.search(r"exit code of the process that runs the model: (.*)", stdout)
    if not ended:
        return ""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    panics = [i for i, line in enumerate(lines) if "panicked at" in line]
    errors = [line for line in lines if re.search(r"error|assert|fail|terminate|what\(\)", line, re.IGNORECASE)]
    telling = (errors or lines or [""])[0]
    if panics:
        _, _, place = lines[panics[0]].partition("panicked at")
        telling = " ".join([place.strip(), *lines[panics[0] + 1 : panics[0] + 2]])
    return f"{ending(ended[1])}: {re.sub(r'0x[0-9a-f]+|[0-9]{4,}', '_', telling)}"


def ending(code: str) -> str:
    """The name of the signal of a negative exit code, else what is said of it: numbers are not compared, names are."""
    try:
        return signal.Signals(-int(code)).name
    except ValueError:
        return code


def run_section(section: Finding, python: str) -> Shown:
    """Run the program of a section that a page has."""
    (program,) = re.findall(r"^```python\n(.*?)^```$", section.text, re.DOTALL | re.MULTILINE)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "reproduce.py"
        path.write_text(program, encoding="utf-8")
        return run(path, python)


def renew(page: Path, reports: Sequence[tuple[Path, str]]) -> bool:
    """Make a runtime's page of its reports, each with a Python for it; whether all could be tried, and one is kept."""
    kept: list[Finding] = []
    is_whole = True
    for home, python in reports:
        found = report_in(home)
        shown = run(home / "reproduce.py", python)
        is_whole &= not shown.untried
        found = numbered(replace(found, crash=shown.crash), kept)
        reason = why_not(found, kept) if shown.shows else shown.why_not
        if reason:
            print(f"{home}: not kept: {reason}")
        else:
            kept.append(found)
    if not kept:
        print(f"{page.name} stays as it is: no program of {len(reports)} shows a difference that is kept")
        return False
    before, (_, python) = read(page), reports[0]
    for section in before:
        if section.heading in {found.heading for found in kept}:
            continue
        shown = run_section(section, python)
        by_hand = not section.rule
        is_whole &= not (by_hand and shown.untried)
        if by_hand and (shown.shows or shown.untried):
            kept.append(section)
        if not shown.shows or not by_hand:
            says = shown.why_not or "no report that is kept has it, though its program still shows"
            print(f"{page.name}: {section.heading!r} {'stays' if section in kept else 'leaves'}: {says}")
    write(page, kept)
    print(f"{page.name}: {len(kept)} findings, of {len(reports)} reports; {len(before)} were there")
    return is_whole


def index() -> str:
    """The page that lists all findings."""
    rows = []
    for path in sorted(FINDINGS.glob("*.md")):
        for found in read(path) if path.name != "index.md" else []:
            operator, _, what = re.sub(r" \([A-Z]\d+\)$", "", found.heading).partition(" ")
            said = unescape(found.detail)
            detail = f": {said[:140]}" + ("..." if len(said) > 140 else "") if said else ""
            # Words between < and > would be taken for HTML, and vanish.
            link = f"[{escape(what, quote=False)}]({path.name}#{found.anchor}){escape(detail, quote=False)}"
            rows.append(f"| [{found.version}]({path.name}) | {operator} | {found.rule} | {link} |")
    return INDEX.format(rows="\n".join(rows))


def reports_of(arguments: Sequence[str]) -> Iterator[tuple[Path, str]]:
    """The folders of reports, each with the Python to run it. Raises ValueError where something is not there."""
    for argument in arguments:
        folder, _, python = argument.partition("=")
        python = python or sys.executable
        homes = sorted(path.parent for path in Path(folder).glob("*/reproduce.py"))
        if not homes:
            raise ValueError(f"{folder} has no report, expected a folder that onnx-maxpool conformance --bugs wrote")
        if shutil.which(python) is None:
            raise ValueError(f"{python} is no program, expected the Python to run {folder} with")
        yield from ((home, python) for home in homes)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", metavar="FOLDER=PYTHON", help="reports, and the Python to run them with")
    try:
        reports = list(reports_of(parser.parse_args(arguments).folders))
    except ValueError as error:
        parser.error(str(error))
    FINDINGS.mkdir(exist_ok=True)
    runtimes: dict[str, list[tuple[Path, str]]] = {}
    for home, python in reports:
        runtimes.setdefault(report_in(home).backend, []).append((home, python))
    whole = [renew(FINDINGS / f"{backend}.md", found) for backend, found in runtimes.items()]
    (FINDINGS / "index.md").write_text(index(), encoding="utf-8")
    return 0 if all(whole) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
