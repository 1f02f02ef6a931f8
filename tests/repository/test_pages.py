"""The README and the documentation: every snippet runs as it stands, tables are up to date, messages are as quoted."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from builders import MODELS
from onnx.reference import ReferenceEvaluator
from support.extras import needed
from support.processes import environment, run_python
from support.snippets import SHOWN, Snippet, commands, pattern, shims, snippets

import onnx_maxpool

runs_snippets = pytest.mark.slow("runs every snippet of the documentation")

ROOT = Path(__file__).parent.parent.parent
PAGES = {
    str(path.relative_to(ROOT)): snippets(path.read_text())
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
WITH_SNIPPETS = {name: found for name, found in PAGES.items() if any(snippet.is_run for snippet in found)}
KEYS = {"not run", "needs", "file", "exit code"}
SET_UP = 2
"""The `sh` snippets of the README, which .ci/run runs in a fresh environment."""


@runs_snippets
def test_there_are_pages() -> None:
    assert len(WITH_SNIPPETS) >= 15
    assert {"README.md", "docs/tutorials/run-your-model.md"} <= WITH_SNIPPETS.keys()


@runs_snippets
@pytest.mark.parametrize("name", PAGES)
def test_each_snippet_is_known(name: str) -> None:
    """A snippet runs, or its language or its comment says why it does not."""
    found = PAGES[name]
    assert [each.line for each in found if not (each.remarks.keys() <= KEYS)] == []
    shown = [each for each in found if not each.is_run and "not run" not in each.remarks]
    shell = [each for each in shown if each.language == "sh"]
    assert len(shell) == (SET_UP if name == "README.md" else 0)
    assert [(each.line, each.language) for each in shown if each.language not in {*SHOWN, "sh"}] == []
    fences = re.findall(r"^```", (ROOT / name).read_text(), re.MULTILINE)
    assert len(fences) == 2 * len(found)


@pytest.mark.parametrize("folder", ["guides", "tutorials"])
def test_an_index_lists_every_page(folder: str) -> None:
    """In links for readers of the repository, and in the site's contents."""
    index = (ROOT / "docs" / folder / "index.md").read_text()
    contents = index.partition("<!-- {toctree}")[2]
    pages = {page.stem for page in (ROOT / "docs" / folder).glob("*.md")} - {"index"}
    assert set(re.findall(r"^- \[.+?\]\(([\w-]+)\.md\)", index, re.MULTILINE)) == pages
    assert set(re.findall(r"^([\w-]+)$", contents, re.MULTILINE)) == pages


@pytest.mark.parametrize("folder", ["", "guides", "tutorials", "reference"])
def test_a_reader_on_github_sees_no_directive(folder: str) -> None:
    """It shows a directive as code. Those in comments are for the site."""
    for page in (ROOT / "docs" / folder).glob("*.md"):
        assert "```{" not in page.read_text(), page


def test_the_list_of_names_says_what_their_docstrings_say() -> None:
    """The site shows the docstrings; readers on GitHub see their first lines."""
    page = (ROOT / "docs" / "reference" / "api.md").read_text()
    listed = dict(re.findall(r"^- `(onnx_maxpool[.\w]+)`: (.*)$", page, re.MULTILINE))
    shown = re.findall(r"^\.\. auto(?:function|class|exception):: (.*)$", page, re.MULTILINE)
    assert {name for name in listed if not name.startswith("onnx_maxpool.windows.")} == set(shown)
    for name, line in listed.items():
        module, _, last = name.rpartition(".")
        assert line == getattr(importlib.import_module(module), last).__doc__.splitlines()[0]


def test_a_listed_name_needs_no_other_import_than_the_packages() -> None:
    """Which imports no module of ours that few programs want."""
    page = (ROOT / "docs" / "reference" / "api.md").read_text()
    names = re.findall(r"^- `(onnx_maxpool[.\w]+)`: ", page, re.MULTILINE)
    assert {"onnx_maxpool.torch_export.translation_table", "onnx_maxpool.conformance.BackendTest"} <= {*names}
    lazy = "{'onnx_maxpool.conformance', 'onnx_maxpool.torch_export'}"
    done = run_python("-c", "\n".join(["import sys, onnx_maxpool", f"print({lazy} & sys.modules.keys())", *names]))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "set()\n"


@runs_snippets
@pytest.mark.extras
@pytest.mark.parametrize("name", WITH_SNIPPETS)
def test_a_page(name: str, tmp_path: Path) -> None:
    """From top to bottom, in one folder that has the repository's examples beside it."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    for snippet in WITH_SNIPPETS[name]:
        if missing := snippet.missing():
            assert not os.environ.get("ONNX_MAXPOOL_ALL_PEERS"), f"{name}:{snippet.line} needs {missing}"
            continue
        if snippet.is_run:
            where = f"{name}, line {snippet.line}"
            {"python": run_snippet, "console": run_commands}[snippet.language](snippet, tmp_path, where)


RAY_LOG = re.compile(r"^(\x1b\[\d+m)?\(raylet\).*$", re.MULTILINE)
"""What Ray's daemon logs to the program's output, as while Ray Serve ends."""


def run_snippet(snippet: Snippet, folder: Path, where: str) -> None:
    """A file that the reader saves, or a program whose `print` says in a comment what it prints."""
    if file := snippet.remarks.get("file"):
        (folder / file).write_text(snippet.text)
        return
    (folder / "snippet.py").write_text(snippet.text)
    done = run_python("snippet.py", folder=folder, variables={"RAY_ADDRESS": "local"}, seconds=240)
    assert done.returncode == 0, f"{where}: {done.stderr}"
    promised = [line.rpartition("  # ")[2] for line in snippet.text.splitlines() if re.match(r"\s*print\(", line)]
    printed = RAY_LOG.sub("", done.stdout).strip()
    assert re.fullmatch(pattern("\n".join(promised)), printed, re.DOTALL), f"{where}: {done.stdout}"


def run_commands(snippet: Snippet, folder: Path, where: str) -> None:
    """Commands in one shell; what the page shows below a command is what it prints."""
    typed = list(commands(snippet.text))
    script = "".join(f"{command.typed}\nprintf '\\036%d\\036' $?\n" for command in typed)
    inherited = environment()
    path = os.pathsep.join([str(shims(folder / ".bin", inherited.pop("PYTHONPATH"))), inherited["PATH"]])
    done = subprocess.run(
        ["sh", "-c", script],
        cwd=folder,
        env={**inherited, "PATH": path, "COLUMNS": "120", "RAY_ADDRESS": "local"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    outputs = done.stdout.split("\036")[:-1]
    assert len(outputs) == 2 * len(typed), f"{where}: {done.stdout}"
    expected_codes = [0] * (len(typed) - 1) + [int(snippet.remarks.get("exit code", 0))]
    for command, output, code, expected in zip(typed, outputs[::2], outputs[1::2], expected_codes, strict=True):
        assert int(code) == expected, f"{where}: {command.typed}\n{output}"
        if command.printed is not None:
            printed = "\n".join(line.rstrip() for line in output.strip().splitlines())
            assert re.fullmatch(pattern(command.printed), printed, re.DOTALL), f"{where}: {command.typed}\n{output}"


@runs_snippets
@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("python", "raise ValueError\n"),
        ("python", "print(1)  # 2\n"),
        ("python", "print(1)  # 1\nprint(2)\n"),
        ("console", "$ false\n"),
        ("console", "$ echo one\ntwo\n"),
        ("console", "$ false\n$ true\n"),
    ],
)
def test_the_runner_sees(language: str, text: str, tmp_path: Path) -> None:
    """What a page must not do."""
    run = {"python": run_snippet, "console": run_commands}[language]
    with pytest.raises(AssertionError, match="here"):
        run(Snippet(1, language, text, ""), tmp_path, "here")


@runs_snippets
def test_tables_are_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "write_docs.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_what_to_install_instead_of_an_extra() -> None:
    """With another build of ONNX Runtime, an extra would install `onnxruntime`."""
    page = (ROOT / "docs" / "guides" / "install.md").read_text()
    table = dict(re.findall(r"^\| `(\w+)` \| `pip install (.*)` \|$", page, re.MULTILINE))
    described = re.findall(r"^\| `(\w+)` \| (?!`pip install)", page, re.MULTILINE)
    assert set(table) == set(described) != set()
    for extra, packages in table.items():
        assert {re.split(r"[\[<>=]", package.strip('"'))[0] for package in packages.split()} == needed(extra), extra


def test_the_design_has_a_place_for_every_module() -> None:
    rooms = re.findall(r"^\| (`.*?) \|", (ROOT / "docs" / "project" / "design.md").read_text(), re.MULTILINE)
    files = [path for path in (ROOT / "ops" / "onnx_maxpool").iterdir() if path.suffix == ".py" or path.is_dir()]
    modules = {path.stem for path in files if not path.name.startswith("__")}
    assert modules <= set(re.findall(r"`([\w/]+)`", " ".join(rooms)))


RECIPES = ROOT / "docs" / "guides" / "recipes.md"


@pytest.mark.slow("starts the engines of the recipes")
@pytest.mark.extras
def test_triton_parses_its_configuration() -> None:
    if importlib.util.find_spec("tritonclient") is None:
        assert not os.environ.get("ONNX_MAXPOOL_ALL_PEERS")
        pytest.skip("tritonclient is not installed, which the extra recipes brings")
    from google.protobuf import text_format
    from tritonclient.grpc import model_config_pb2

    (text,) = re.findall(r"^```text\n(name: .*?)^```", RECIPES.read_text(), re.DOTALL | re.MULTILINE)
    config = text_format.Parse(text, model_config_pb2.ModelConfig())
    # The backend gives it to ONNX Runtime as it is: a name without a folder would be looked for where the system looks.
    assert list(config.model_operations.op_library_filename) == ["/models/fast_rcnn/libonnx_maxpool.so"]


TROUBLESHOOTING = (ROOT / "docs" / "troubleshooting.md").read_text()
HEADINGS = [heading.replace("...", "") for heading in re.findall(r"^## .*?`(.*?)`", TROUBLESHOOTING, re.MULTILINE)]


def session(name: str) -> Any:
    return ort.InferenceSession(MODELS[name].builder().SerializeToString(), providers=["CPUExecutionProvider"])


def evaluate(name: str) -> Any:
    return ReferenceEvaluator(MODELS[name].builder())


def run_with(rois: Any) -> Callable[[str], Any]:
    """Run a model of float inputs with these ROIs."""

    def run(name: str) -> Any:
        model = MODELS[name]
        return onnx_maxpool.load(model.builder()).run(None, {**model.inputs(), "rois": rois})

    return run


@pytest.mark.parametrize(
    ("run", "name", "message"),
    [
        (run_with(np.zeros((6, 4), np.float32)), "max_roi_pool_22_float", "Got invalid dimensions for input: rois"),
        (
            run_with(np.zeros((6, 5))),
            "max_roi_pool_22_float",
            "Unexpected input data type. Actual: (tensor(double)) , expected: (tensor(float))",
        ),
        (session, "max_roi_pool_22_float", "Could not find an implementation for MaxRoiPool(22) node with name ''"),
        (session, "roi_pooling_1_float", "Fatal error: directml:RoiPooling(-1) is not a registered function/op"),
        (evaluate, "max_roi_pool_22_float", "No registered implementation for operator 'MaxRoiPool' and domain ''"),
        (evaluate, "roi_pooling_1_float", "Node type 'RoiPooling' from domain 'directml' is unknown"),
    ],
)
def test_a_message(run: Callable[[str], Any], name: str, message: str) -> None:
    assert any(message in heading for heading in HEADINGS)
    with pytest.raises(Exception, match=re.escape(message)):
        run(name)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="the extra torch is not installed")
@pytest.mark.parametrize(
    ("dynamo", "messages"),
    [
        (True, ["Failed to convert the exported program to an ONNX model", "translating node %adaptive_max_pool2d"]),
        (False, ["ONNX export of operator adaptive_max_pool2d, output size that are not factor of input size"]),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_message_of_torch(dynamo: bool, messages: list[str], tmp_path: Path) -> None:
    import torch

    if dynamo:
        pytest.importorskip("onnxscript")
    model = torch.nn.AdaptiveMaxPool2d((7, 5)).eval()
    with pytest.raises(Exception) as found:  # noqa: PT011 - which class it is, is torch's own affair
        torch.onnx.export(model, (torch.randn(1, 3, 20, 30),), tmp_path / "pool.onnx", dynamo=dynamo, verbose=False)
    for message in messages:
        assert message in TROUBLESHOOTING
        assert message in str(found.value)
