"""Write the docs' tables: `python scripts/write_docs.py [--check]`.

They come from the registry, the rules, the tests' data and the benchmark's last whole run that is kept. With `--check`
nothing is written, and the exit code is 1 where a file is not what it would be.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import typer
from typer.cli import get_docs_for_click

from onnx_maxpool.benchmark.rows import ADAPTIVE_CASES, ROI_CASES, SLIDING_CASES, Row
from onnx_maxpool.cli.commands import app
from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.conformance.case import Case
from onnx_maxpool.operators.registry import OPERATORS, newest_versions
from onnx_maxpool.operators.rules import LETTERS, RULES, Rule

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from words import bad_batches  # noqa: E402
from words.bad_arguments import BAD_ARGUMENTS, BAD_COMMANDS  # noqa: E402
from words.bad_exports import BAD_EXPORTS  # noqa: E402
from words.bad_inputs import BAD_INPUTS  # noqa: E402
from words.bad_models import BAD_CONTENTS, BAD_MODELS  # noqa: E402
from words.bad_nodes import INTERFACES, BadInput  # noqa: E402

SPEED_CASES = (*ROI_CASES, *ADAPTIVE_CASES, SLIDING_CASES[0], SLIDING_CASES[4])
"""Of the README's table."""


def operators() -> str:
    lines = ["| operator | since version | domain | types | who else runs it |", "|---|---|---|---|---|"]
    for row in OPERATORS:
        types = ", ".join(row.types["T"])
        lines.append(f"| {row.name} | {row.since_version} | `{row.domain or 'ai.onnx'}` | {types} | {row.elsewhere} |")
    return "\n".join(lines)


def backends() -> str:
    return table(["backend", "what"], [[f"`{name}`", row.about] for name, row in BACKENDS.items()])


def speed() -> str:
    """From the last whole run of the benchmark, in float on two threads."""
    lines = (ROOT / "docs" / "benchmark" / "results.jsonl").read_text().splitlines()
    found = [record for record in map(json.loads, lines) if record["record"] == "row"]
    ratios = {row["name"]: row["times_faster_than"] for row in found if row["threads"] == 2}
    rows = []
    for case in SPEED_CASES:
        others = {peer: ratio for peer, ratio in ratios[Row(case).name].items() if ratio is not None}
        stock = others.pop("ONNX Runtime", None)
        fastest = min(others, key=others.__getitem__)
        rows.append([f"{case.operator} {case}", short(stock), short(others[fastest]), fastest])
    return table(["what", "ONNX Runtime", "fastest other", "who"], rows)


def short(ratio: float | None) -> str:
    if ratio is None:
        return ""
    # What is slower than the other must not look as fast.
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 1 else f"{ratio:.2f}"


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def interfaces() -> str:
    return table(["interface", "how"], [[interface, how] for interface, how in INTERFACES.items()])


def bad_inputs() -> str:
    notes: dict[str, int] = {}

    def absent(bad: BadInput) -> str:
        return ", ".join(
            f"{interface} [{notes.setdefault(why, len(notes) + 1)}]" for interface, why in bad.not_through.items()
        )

    def words(bad: BadInput) -> str:
        return f"`{bad.said}`" + (f"; unchecked `{bad.said_unchecked}`" if bad.said_unchecked != bad.said else "")

    parts = []
    for version in newest_versions():
        rows = [
            [bad.what, bad.rule, bad.found.value, words(bad), absent(bad)]
            for bad in BAD_INPUTS
            if bad.operator == version.name
        ]
        header = ["what is wrong", "rule", "found", "message", "not said by"]
        parts.append(f"### {version.name}\n\n{table(header, rows)}")
    parts.append("\n".join(f"{number}. {why}." for why, number in notes.items()))
    return "\n\n".join(parts)


def bad_models() -> str:
    rows = [
        [bad.what, f"`{bad.error.__name__}`", f"`{bad.said.format(path=bad.name, outside='/elsewhere')}`"]
        for bad in BAD_MODELS
    ]
    return table(["what is there", "exception", "message"], rows)


def bad_contents() -> str:
    return table(["what is given", "message"], [[bad.what, f"`{bad.said}`"] for bad in BAD_CONTENTS])


def bad_arguments() -> str:
    rows = [
        [f"`{bad.function}`", bad.what, f"`{bad.error.__name__}`", f"`{bad.said}`"]
        for bad in (*BAD_ARGUMENTS, *bad_batches.BAD_ARGUMENTS)
    ]
    return table(["function", "what is given", "exception", "message"], rows)


def bad_commands() -> str:
    rows = [[f"`{bad.command}`", bad.what, f"`{bad.said}`"] for bad in (*BAD_COMMANDS, *bad_batches.BAD_COMMANDS)]
    return table(["command", "what is given", "message"], rows)


def bad_exports() -> str:
    rows = [[f"`{bad.model}`", f"`Dim.{bad.hint}`", f"`{bad.said}`"] for bad in BAD_EXPORTS]
    return table(["what the model makes of `x` and `rois`", "dynamic axes", "message"], rows)


def rules() -> str:
    """Each rule with its sources, and the cases that ask it."""
    parts = []
    for letter, about in LETTERS.items():
        parts.append(f"## {letter}: {about}")
        parts += [part for number, rule in RULES.items() if number[0] == letter for part in of_rule(number, rule)]
    return "\n\n".join(parts)


def of_rule(number: str, rule: Rule) -> list[str]:
    """A rule's paragraphs."""
    parts = [f"### {number}", literal(rule.text)]
    if rule.retired:
        return parts
    lines = [f"- Binds {', '.join(rule.operators)}."]
    for source in rule.sources:
        document = f"[{source.document.title}]({source.document.url})"
        lines.append(f"- {document}, *{source.section}*: `{source.quote}`")
    lines += [f"- **Ours**: {literal(rule.ours)}"] if rule.ours else []
    citing = [case for case in all_cases() if number in case.rules]
    # The first rule that a case cites is the one that it is about. What follows from others has no case of its own.
    about = [case for case in citing if case.rules[0] == number]
    shown, what = (about, "about it") if about else (citing, "that rest on it")
    more = f", and {len(citing) - len(about)} more that rest on it" if about and len(citing) > len(about) else ""
    count = f"{len(shown)} case{'s' if len(shown) > 1 else ''} {what}{more}"
    return [*parts, "\n".join(lines), f"<details><summary>{count}</summary>", questions(shown), "</details>"]


def literal(text: str) -> str:
    """Text in which no character has a meaning of Markdown's."""
    return re.sub(r"([*_<\[\]])", r"\\\1", text)


def questions(cases: Sequence[Case]) -> str:
    """What the cases ask, a line each, and the names of those that ask it."""
    asked: dict[str, list[str]] = {}
    for case in cases:
        level = "" if case.required else " *(open)*"
        asked.setdefault(f"{literal(case.question)}{level}", []).append(f"`{case.name}`")
    return "\n".join(f"- {question} {', '.join(names)}" for question, names in asked.items())


def commands() -> str:
    """What `--help` says of every command."""
    group = typer.main.get_command(app)
    text = get_docs_for_click(obj=group, ctx=typer.Context(group, info_name="onnx-maxpool"), name="onnx-maxpool")
    _, _, text = text.partition("\n## ")  # the list of commands cuts their texts short
    # Usage is not a command that one can type, and "{MODEL}" is how click marks what is required.
    text = text.replace("```console\n$ ", "```text\n").replace("{", "").replace("}", "")
    return f"## {text.strip()}"


TABLES = {
    "docs/reference/command-line.md": {"commands": commands},
    "README.md": {"operators": operators, "speed": speed, "backends": backends},
    "docs/rules.md": {"rules": rules},
    "docs/errors.md": {
        "interfaces": interfaces,
        "models": bad_models,
        "contents": bad_contents,
        "inputs": bad_inputs,
        "arguments": bad_arguments,
        "commands": bad_commands,
        "exports": bad_exports,
    },
}


def written(text: str, name: str, content: str) -> str:
    """`text` with what stands between the marks of table `name` replaced."""
    marks = rf"(<!-- {name}: [^>]*-->\n).*?(<!-- end of {name} -->)"
    new, count = re.subn(marks, lambda found: f"{found[1]}{content}\n{found[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"the marks of table {name!r} stand {count} times, expected once")
    return new


def main() -> int:
    stale = 0
    for file, tables in TABLES.items():
        path = ROOT / file
        before = after = path.read_text()
        for name, table in tables.items():
            after = written(after, name, table())
        if before == after:
            continue
        if "--check" in sys.argv[1:]:
            print(f"{file} is not what it is written from: run scripts/write_docs.py")
            stale += 1
        else:
            path.write_text(after)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
