"""Write the docs' tables: `python scripts/write_docs.py [--check]`.

They come from the registry, the rules, the tests' data and the benchmark's last whole run that is kept. With `--check`
nothing is written, and the exit code is 1 where a file is not what it would be.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from onnx import defs, helper
from speed_tables import chart, measured, portable, speed, table
from typer.models import ArgumentInfo, OptionInfo

from onnx_maxpool.cli.commands import app
from onnx_maxpool.conformance import all_cases
from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.conformance.case import Case
from onnx_maxpool.operators.registry import OPERATORS, OperatorVersion, newest_versions, versions_of
from onnx_maxpool.operators.rules import LETTERS, RULES, Rule
from onnx_maxpool.operators.schemas import register_schemas

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "tests"))

from words import bad_batches  # noqa: E402
from words.bad_arguments import BAD_ARGUMENTS  # noqa: E402
from words.bad_commands import BAD_COMMANDS  # noqa: E402
from words.bad_conversions import BAD_CONVERTED, BAD_EXPORTS  # noqa: E402
from words.bad_inputs import BAD_INPUTS  # noqa: E402
from words.bad_models import BAD_CONTENTS, BAD_MODELS  # noqa: E402
from words.bad_nodes import INTERFACES, BadInput  # noqa: E402


def operators() -> str:
    lines = ["| operator | since version | domain | types | who else runs it |", "|---|---|---|---|---|"]
    for row in OPERATORS:
        types = ", ".join(row.types["T"])
        lines.append(f"| {row.name} | {row.since_version} | `{row.domain or 'ai.onnx'}` | {types} | {row.elsewhere} |")
    return "\n".join(lines)


def backends() -> str:
    return table(["backend", "what"], [[f"`{name}`", row.about] for name, row in BACKENDS.items()])


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


def guards() -> str:
    said = dict.fromkeys(bad.said for bad in BAD_CONVERTED)
    return table(["message"], [[f"`{sentence}`"] for sentence in said])


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
    lines = [f"- Applies to {', '.join(rule.operators)}."]
    for source in rule.sources:
        document = f"[{source.document.title}]({source.document.url})"
        lines.append(f"- {document}, *{source.section}*: `{source.quote}`")
    lines += [f"- **Ours**: {literal(rule.ours)}"] if rule.ours else []
    citing = [case for case in all_cases() if number in case.rules]
    # The first rule that a case cites is the one that it is about. What follows from others has no case of its own.
    about = [case for case in citing if case.rules[0] == number]
    shown, what = (about, "about it") if about else (citing, "that depend on it")
    more = f", and {len(citing) - len(about)} more that depend on it" if about and len(citing) > len(about) else ""
    count = f"{len(shown)} case{'s' if len(shown) > 1 else ''} {what}{more}"
    return [*parts, "\n".join(lines), f"<details><summary>{count}</summary>", questions(shown), "</details>"]


def literal(text: str) -> str:
    """Text in which no character has a meaning of Markdown's."""
    parts = text.split("`")  # every second one is code, in which nothing has
    return "`".join(part if i % 2 else re.sub(r"([*_<\[\]])", r"\\\1", part) for i, part in enumerate(parts))


def questions(cases: Sequence[Case]) -> str:
    """What the cases ask, a line each, and the names of those that ask it."""
    asked: dict[str, list[str]] = {}
    for case in cases:
        level = "" if case.required else " *(open)*"
        asked.setdefault(f"{literal(case.question)}{level}", []).append(f"`{case.name}`")
    return "\n".join(f"- {question} {', '.join(names)}" for question, names in asked.items())


def commands() -> str:
    """What `--help` says about each command, read from the functions' signatures: typer's own text varies."""
    parts = []
    for info in app.registered_commands:
        hints = get_type_hints(info.callback, include_extras=True)
        parameters = inspect.signature(info.callback).parameters.values()
        declared = [(each, annotated(hints[each.name])) for each in parameters]
        found = [(each, unwrapped(values[0]), values[-1]) for each, values in declared]
        arguments = [argument_name(each, info) for each, _, info in found if isinstance(info, ArgumentInfo)]
        rows = [[f"`{argument_name(each, info)}`", info.help] for each, _, info in found if not is_option(info)]
        rows += [[f"`{option_name(*each)}`", option_help(*each)] for each in found if is_option(each[-1])]
        usage = " ".join(["onnx-maxpool", info.name or info.callback.__name__, *arguments, "[OPTIONS]"])
        parts += [f"## {usage.split()[1]}", literal(inspect.getdoc(info.callback) or ""), f"```text\n{usage}\n```"]
        parts += [table(["argument or option", "what it does"], rows)] if rows else []
    return "\n\n".join(parts)


def annotated(hint: Any) -> tuple[Any, ...]:
    """The type and the notes of an `Annotated`; Python 3.10 puts it in an `Optional` where the default is None."""
    while get_origin(hint) is Union:
        hint = get_args(hint)[0]
    return get_args(hint)


def is_option(info: object) -> bool:
    return isinstance(info, OptionInfo) and not info.hidden


def unwrapped(kind: Any) -> Any:
    """The type of one value: for `list[str] | None` it is str."""
    while get_origin(kind) in (Union, UnionType, list):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    return kind


def argument_name(parameter: inspect.Parameter, info: ArgumentInfo) -> str:
    name = info.metavar or parameter.name.upper()
    return name if parameter.default is inspect.Parameter.empty else f"[{name}]"


def option_name(parameter: inspect.Parameter, kind: Any, info: OptionInfo) -> str:
    # Within `Annotated`, typer has the first name where a default would else be.
    given = [each for each in (info.default, *(info.param_decls or ())) if isinstance(each, str)]
    names = given or [f"--{parameter.name.replace('_', '-')}"]
    value = "|".join(map(str, get_args(kind))) or kind.__name__.upper()
    if kind is bool:
        return names[0].replace("/", "`, `")
    return f"{'`, `'.join(names)} {info.metavar or value}"


def option_help(parameter: inspect.Parameter, kind: Any, info: OptionInfo) -> str:
    default = parameter.default
    if kind is bool and default is True:
        default = option_name(parameter, kind, info).partition("`")[0]
    if default is None or default is False or default == "":
        return literal(info.help or "")
    return f"{literal(info.help or '')} Default: `{default}`."


def operator_pages() -> str:
    """Each operator's schema, newest version, and which types its versions have."""
    register_schemas()
    parts = []
    for newest in newest_versions():
        schema = defs.get_schema(newest.name, newest.since_version, newest.domain)
        parts += [f"## {newest.name}", f"Domain `{newest.domain or 'ai.onnx'}`. {WHERE_FROM[newest.name]}"]
        values = [
            (kind, value) for kind, found in (("input", schema.inputs), ("output", schema.outputs)) for value in found
        ]
        rows = [
            [f"`{value.name}`", kind + ", optional" * (value.option.name == "Optional"), sentence(value.description)]
            for kind, value in values
        ]
        rows += [
            [f"`{each.name}`", f"attribute, {each.type.name}{default(each)}", sentence(each.description)]
            for each in sorted(schema.attributes.values(), key=lambda each: (not each.required, each.name))
        ]
        parts.append(table(["name", "what", "meaning"], rows))
        lines = [
            f"- Version {row.since_version}: {version_types(row)}." for row in versions_of(newest.domain, newest.name)
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts)


WHERE_FROM = {
    row.name: "Its text is ONNX's." if not row.domain else "This package registers a schema for it."
    for row in newest_versions()
}


def sentence(text: str) -> str:
    return literal(" ".join(text.split()))


def default(attribute: Any) -> str:
    if attribute.required:
        return ", required"
    value = helper.get_attribute_value(attribute.default_value) if attribute.default_value.name else None
    value = value.decode() if isinstance(value, bytes) else value
    return "" if value is None else f", default `{value}`"


def version_types(row: OperatorVersion) -> str:
    listed = ", ".join(row.types["T"])
    return f"{listed}; indices {' or '.join(row.index_types)}" if row.index_types else listed


TABLES = {
    "docs/reference/command-line.md": {"commands": commands},
    "README.md": {"operators": operators, "speed": speed},
    "docs/guides/performance.md": {"measured": measured},
    "docs/guides/portable.md": {"portable": portable},
    "docs/reference/backends.md": {"backends": backends},
    "docs/reference/operators.md": {"operators": operator_pages},
    "docs/rules.md": {"rules": rules},
    "docs/errors.md": {
        "interfaces": interfaces,
        "models": bad_models,
        "contents": bad_contents,
        "inputs": bad_inputs,
        "arguments": bad_arguments,
        "commands": bad_commands,
        "exports": bad_exports,
        "guards": guards,
    },
}


def written(text: str, name: str, content: str) -> str:
    """`text` with what stands between the marks of table `name` replaced."""
    marks = rf"(<!-- {name}: [^>]*-->\n).*?(<!-- end of {name} -->)"
    new, count = re.subn(marks, lambda found: f"{found[1]}{content}\n{found[2]}", text, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"the marks of table {name!r} stand {count} times, expected once")
    return new


WHOLE_FILES = {"docs/pictures/speed.svg": chart}


def main() -> int:
    stale = 0
    for file in (*TABLES, *WHOLE_FILES):
        path = ROOT / file
        before = after = path.read_text() if path.exists() else ""
        for name, write in TABLES.get(file, {}).items():
            after = written(after, name, write())
        if file in WHOLE_FILES:
            after = WHOLE_FILES[file]()
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
