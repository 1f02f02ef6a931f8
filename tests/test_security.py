"""What SECURITY.md promises: nothing is fetched or opened behind a user's back, and hostile text stays text."""

from __future__ import annotations

import json
import re
import subprocess
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import pytest
from rich.console import Console

import onnx_maxpool
from onnx_maxpool.cli import main
from onnx_maxpool.conformance.attempt import Attempt
from onnx_maxpool.conformance.cases import all_cases
from onnx_maxpool.conformance.command import print_run
from onnx_maxpool.conformance.judge import judge
from onnx_maxpool.conformance.report.files import json_report, junit
from onnx_maxpool.conformance.report.pages import html, markdown
from onnx_maxpool.conformance.runner import BackendRun
from onnx_maxpool.errors import printable
from onnx_maxpool.models import MODELS

ROOT = Path(__file__).parent.parent

FORBIDDEN = re.compile(
    r"f?open(at)?(64)?|creat|p?read|p?write|fdopen|opendir|stat|unlink|remove|rename|mkdir|mmap|ioctl"
    r"|socket|connect|bind|listen|accept|send\w*|recv\w*|getaddrinfo|gethostby\w+"
    r"|exec\w+|v?fork|clone|posix_spawnp?|popen|system|kill|ptrace|dlopen|dlsym|dlmopen|pthread_create|setenv|putenv"
)
"""Of libc, whatever reaches files, the network, other processes, other code or threads of one's own."""


def symbols(kind: str) -> set[str]:
    """Of the native library's dynamic table, without their versions."""
    command = ["nm", "--dynamic", "--format=posix", kind, onnx_maxpool.library_path()]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return {line.split()[0].partition("@")[0] for line in listed.splitlines()}


def test_the_native_library_has_one_face() -> None:
    assert symbols("--defined-only") == {"RegisterCustomOps"}


def test_the_native_library_reaches_nothing_but_memory() -> None:
    imported = symbols("--undefined-only")
    assert "memcpy" in imported
    assert {name for name in imported if FORBIDDEN.fullmatch(name)} == set()


def test_the_native_library_reads_one_environment_variable() -> None:
    sources = "".join(path.read_text() for path in (ROOT / "ops" / "native").glob("*.[ch]*"))
    assert re.findall(r"getenv\((.*?)\)", sources) == ['"ONNX_MAXPOOL_TARGET"']


HOSTILE = (
    "<script>alert(1)</script> <img src=x onerror=alert(2)> \"'> &amp; [red]markup[/red] | [link](javascript:alert(3)) "
    "`code` \x1b[2J\x1b]0;title\x07 \r\b\u202egnp\u2028"
)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def hostile_run() -> BackendRun:
    """A backend that says something hostile wherever it can: its name, its description, its answer."""
    cases = [case for case in all_cases() if case.name.startswith("max_roi_pool_22_half")]
    results = tuple(judge(case, Attempt("raised", text=HOSTILE)) for case in cases)
    assert all(result.detail == HOSTILE for result in results)
    return BackendRun(HOSTILE, {HOSTILE: HOSTILE}, results)


class Page(HTMLParser):
    """Collects what a browser would act on."""

    def __init__(self) -> None:
        super().__init__()
        self.scripts = 0
        self.suspicious: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.scripts += tag == "script"
        if tag in ("img", "iframe", "object", "embed") or any(name.startswith("on") for name, _ in attrs):
            self.suspicious.append(self.get_starttag_text() or tag)
        self.suspicious += [str(value) for name, value in attrs if name == "href" and not str(value).startswith("#")]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_the_html_report_escapes(hostile_run: BackendRun) -> None:
    page = Page()
    page.feed(html([hostile_run]))
    assert page.scripts == 1  # its own
    assert page.suspicious == []
    assert "<script>alert(1)</script>" in page.text


def test_the_markdown_report_escapes(hostile_run: BackendRun) -> None:
    page = markdown([hostile_run])
    assert "\\<script\\>alert(1)" in page
    assert not CONTROL.search(page)
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert all(line.endswith("|") for line in rows)
    # Without what is escaped, and without the page's own links.
    bare = re.sub(r"\\.|\[[^\]\\]*\]\(\.\./models/[^)]*\)", "", "".join(rows))
    assert not re.search(r"[<`]|\]\(", bare)


def test_the_reports_for_programs_are_well_formed(hostile_run: BackendRun) -> None:
    (suite,) = ElementTree.fromstring(junit([hostile_run]))
    assert suite.get("name") == printable(HOSTILE)
    (backend,) = json.loads(json.dumps(json_report([hostile_run])))["backends"]
    assert backend["name"] == HOSTILE


def test_the_terminal_obeys_nothing(hostile_run: BackendRun) -> None:
    console = Console(force_terminal=False, width=400, record=True, highlight=False)
    with console.capture() as captured:
        print_run(console, hostile_run)
    assert "[red]markup[/red]" in captured.get()
    assert not CONTROL.search(captured.get())


@pytest.mark.parametrize("command", ["inspect", "run"])
def test_names_in_a_model_are_text(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In what is printed about a model, and in what is printed of its refusal."""
    model = MODELS["max_roi_pool_22_float"].builder()
    model.graph.node[0].name = HOSTILE
    if command == "run":
        model.graph.node[0].attribute[0].name = HOSTILE
    onnx.save_model(model, tmp_path / "model.onnx")
    with pytest.raises(SystemExit):
        main([command, str(tmp_path / "model.onnx")])
    printed = "".join(capsys.readouterr())
    assert "[red]markup[/red]" in printed
    assert not CONTROL.search(printed)


def test_output_names_are_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = MODELS["max_roi_pool_22_float"].builder()
    model.graph.node[0].output[0] = model.graph.output[0].name = "[red]Y[/red]\x1b[2J"
    onnx.save_model(model, tmp_path / "model.onnx")
    np.savez(tmp_path / "inputs.npz", **MODELS["max_roi_pool_22_float"].inputs())
    for command in ("run", "compare"):
        with pytest.raises(SystemExit) as ended:
            main([command, str(tmp_path / "model.onnx"), "--input", str(tmp_path / "inputs.npz")])
        out = capsys.readouterr().out
        assert not ended.value.code
        assert "[red]Y[/red]\\x1b[2J" in out.replace("\n", "")
