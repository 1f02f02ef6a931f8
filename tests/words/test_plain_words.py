"""Plain English: phrases that mislead readers stand in no page, no public docstring and no help text.

Only what text alone can tell without false alarms is here. CONTRIBUTING.md says the rest.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
from typer.models import ArgumentInfo, OptionInfo

import onnx_maxpool
from onnx_maxpool import torch_export
from onnx_maxpool.cli.commands import app
from onnx_maxpool.conformance import BackendTest

ROOT = Path(__file__).parent.parent.parent

MISLEADING = {
    r"\bdoors?\b": "an adapter, or an interface",
    r"\bheld (to|against)\b|\bholds? \w+ (to|against)\b": "restricted to, or compared with",
    r"\brefus(e|es|ed|ing|als?)\b": "reject, rejected",
    r"\balone\b": "only, or by itself",
    r"(^|[.!?:] )Of (?!course\b)": "begin with the subject",
    r"\bpasses them\b": "runs them",
    r"\btakes? no\b": "does not support, or does not accept",
    r"\bin (its|their|his|the same|our)( own)? words\b|\bsame words\b": "message",
    r", for (it|they|there|we|this) ": "because",
    r"\bthat there (is|are) not\b": "unknown, or does not exist",
}
"""Each with what to say instead."""

QUOTES_OTHERS = {"conformance-results.md", "portable-runtimes.md"}
"""Pages written from what other programs say."""
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted(
        path
        for path in (ROOT / "docs").rglob("*.md")
        if path.name not in QUOTES_OTHERS and path.relative_to(ROOT / "docs").parts[0] not in ("findings", "benchmark")
    ),
]


def prose(page: str) -> str:
    """Without code, comments and quotations in code."""
    without_blocks = re.sub(r"^```.*?^```$|<!--.*?-->", "", page, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`", "CODE", without_blocks)


def misleading(text: str) -> list[str]:
    """What stands there, with what to say instead."""
    paragraphs = [" ".join(part.split()) for part in re.split(r"\n\s*\n|\n(?=\s*[-|#*])|\|", text)]
    return [
        f"{paragraph[max(0, found.start() - 30) : found.end() + 30]!r}: {instead}"
        for paragraph in paragraphs
        for pattern, instead in MISLEADING.items()
        for found in re.finditer(pattern, paragraph)
    ]


@pytest.mark.parametrize(
    "text", ["It refuses\nthem.", "a\n\nOf the two", "that alone", "It is held to AVX2", "a. Of b"]
)
def test_it_finds(text: str) -> None:
    assert misleading(text)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page(path: Path) -> None:
    assert misleading(prose(path.read_text())) == []


@pytest.mark.parametrize("name", [*onnx_maxpool.__all__, "translation_table", "BackendTest"])
def test_a_public_docstring(name: str) -> None:
    found = {"translation_table": torch_export.translation_table, "BackendTest": BackendTest}.get(name)
    public = found or getattr(onnx_maxpool, name)
    documented = [public, *(vars(public).values() if inspect.isclass(public) else ())]
    texts = [inspect.getdoc(each) or "" for each in documented if inspect.isroutine(each) or each is public]
    assert texts[0]
    assert misleading(prose("\n\n".join(texts))) == []


@pytest.mark.parametrize("command", [info.callback for info in app.registered_commands], ids=lambda c: c.__name__)
def test_a_help_text(command: object) -> None:
    assert callable(command)
    declared = inspect.signature(command, eval_str=True).parameters.values()
    infos = [info for each in declared for info in getattr(each.annotation, "__metadata__", ())]
    texts = [info.help or "" for info in infos if isinstance(info, (ArgumentInfo, OptionInfo))]
    assert misleading(prose("\n\n".join([inspect.getdoc(command) or "", *texts]))) == []
