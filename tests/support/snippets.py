"""The snippets of a page of Markdown, and how each is run.

A page is run from top to bottom in one folder, so that a snippet finds the files that those before it wrote. A comment
on the line before a snippet says what a reader need not know:

    <!-- not run: why -->             a snippet that is only shown
    <!-- needs: torch torchvision --> it runs where these modules are; scripts/check requires them
    <!-- file: pool.py -->            the reader saves it under this name
    <!-- exit code: 1 -->             the last command ends with it

`; ` stands between two of these.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SHOWN = {"text", "yaml", "c", "toml", "{toctree}", "{eval-rst}"}
"""Languages that are no commands: nothing of them can be run."""
RUN = {"python", "console"}

FENCE = re.compile(r"^(?:<!-- (?P<remark>[^\n]*?) -->\n)?^```(?P<language>\S*)\n(?P<text>.*?)^```$", re.DOTALL | re.M)


@dataclass(frozen=True)
class Snippet:
    """What stands between two fences."""

    line: int
    language: str
    text: str
    remark: str

    @property
    def remarks(self) -> dict[str, str]:
        """What the comment says, by key."""
        return dict(part.split(": ", 1) for part in self.remark.split("; ") if part)

    @property
    def is_run(self) -> bool:
        """Whether it can be run and is not only shown."""
        return self.language in RUN and "not run" not in self.remarks

    def missing(self) -> list[str]:
        """The modules that it needs and that are not here."""
        return [name for name in self.remarks.get("needs", "").split() if not is_here(name)]


def is_here(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def snippets(page: str) -> list[Snippet]:
    """In the order of the page."""
    return [
        Snippet(1 + page[: found.start("text")].count("\n"), found["language"], found["text"], found["remark"] or "")
        for found in FENCE.finditer(page)
    ]


@dataclass(frozen=True)
class Command:
    """A line that a reader types, and what the page says that it prints; None where it says nothing."""

    typed: str
    printed: str | None


def commands(text: str) -> Iterator[Command]:
    """Of a `console` snippet: lines that begin with `$ `, a backslash at the end joins the next line."""
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        typed, lines = "", part.splitlines()
        while True:
            line = lines.pop(0)
            typed += line
            if not line.endswith("\\"):
                break
            typed += "\n"
        yield Command(typed, "\n".join(lines) if lines else None)


def pattern(printed: str) -> str:
    """A regular expression of what is printed, in which `...` stands for any text, lines included."""
    return r"\s*".join(".*".join(map(re.escape, line.rstrip().split("..."))) for line in printed.strip().split("\n"))


def shims(folder: Path, search: str) -> Path:
    """A folder for the front of PATH: `python` and `onnx-maxpool` are those that run the tests.

    They also look for modules in `search`, behind the reader's own PYTHONPATH.
    """
    folder.mkdir(exist_ok=True)
    python = shlex.quote(sys.executable)
    modules = f'PYTHONPATH="${{PYTHONPATH:+$PYTHONPATH:}}"{shlex.quote(search)}'
    for name, command in {"python": python, "onnx-maxpool": f"{python} -m onnx_maxpool"}.items():
        (folder / name).write_text(f'#!/bin/sh\n{modules} exec {command} "$@"\n')
        (folder / name).chmod(0o755)
    return folder
