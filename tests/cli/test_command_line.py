"""What people expect of every command line: help, version, completion, exit codes, and what a bug report needs."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pyarrow.parquet as pq
import pytest
import typer.main
from builders import MODELS
from packaging.requirements import Requirement
from support.processes import run_python

import onnx_maxpool
from onnx_maxpool.adapters.python.extensions import NEWEST_PYTHON, missing
from onnx_maxpool.adapters.registration import library_path, targets
from onnx_maxpool.benchmark.peers import PEERS
from onnx_maxpool.cli.commands import app
from onnx_maxpool.cli.information import OPTIONAL
from onnx_maxpool.cli.main import main
from onnx_maxpool.conformance.backends import BACKENDS
from onnx_maxpool.operators.registry import OPERATORS
from onnx_maxpool.samples import SAMPLES

ROOT = Path(__file__).parent.parent.parent
VERSION = importlib.metadata.version("onnx-maxpool")
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    code = ended.value.code
    return (code if isinstance(code, int) else 0), out, err


def test_the_version_has_three_ways(capsys: pytest.CaptureFixture[str]) -> None:
    assert onnx_maxpool.__version__ == VERSION
    assert run(capsys, "--version") == (0, f"onnx-maxpool {VERSION}\n", "")
    done = run_python("-m", "onnx_maxpool", "--version")
    assert (done.returncode, done.stdout) == (0, f"onnx-maxpool {VERSION}\n")


def test_without_arguments_it_shows_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys)
    assert (code, err) == (2, "")
    assert out.strip() == run(capsys, "--help")[1].strip()
    assert all(name in out for name in COMMANDS)


def test_operators_in_python_say_which_package_they_miss(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Beside onnxruntime-gpu, pip has not installed it: its users install our dependencies one by one."""
    path, *_ = MODELS["max_roi_pool_22_float"].write(tmp_path)
    monkeypatch.setitem(sys.modules, "onnxruntime_extensions", None)
    dims = [word for name in "NCHWR" for word in ("--dim", f"{name}=1")]
    needed = "operators in Python need onnxruntime-extensions: pip install onnxruntime-extensions"
    if sys.version_info >= (3, 14):
        needed = missing()
    assert run(capsys, "compare", path, *dims) == (2, "", f"{needed}\n")
    with pytest.raises(ModuleNotFoundError, match=re.escape(needed)):
        onnx_maxpool.load(path, implementation="python")
    assert onnx_maxpool.load(path).get_inputs()[0].name == "X"


def test_where_there_is_no_such_package_they_say_which_python_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "version_info", (3, 14, 0, "final", 0))
    needed = "operators in Python need onnxruntime-extensions"
    assert missing() == f"{needed}, which up to 0.15.2 has no wheel for Python 3.14: use Python 3.13 or older"
    declared = Requirement(declared_dependency("onnxruntime-extensions"))
    assert declared.marker
    for minor in (10, 13, 14):
        environment = {"python_version": f"3.{minor}"}
        assert declared.marker.evaluate(environment) == ((3, minor) <= NEWEST_PYTHON)


def declared_dependency(name: str) -> str:
    """The line of pyproject.toml, as the installed package may be of an older one."""
    (line,) = re.findall(rf'"({name}[ >=].*?)"', (ROOT / "pyproject.toml").read_text())
    return line


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=lambda command: " ".join(command))
def test_help_is_short_too(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    short, long = (run(capsys, *command, option) for option in ("-h", "--help"))
    assert short == long
    assert short[0] == 0
    assert "Usage: onnx-maxpool" in short[1]


def test_a_shell_can_complete_commands() -> None:
    asked = {"_ONNX_MAXPOOL_COMPLETE": "complete_bash", "COMP_WORDS": "onnx-maxpool con", "COMP_CWORD": "1"}
    done = run_python("-m", "onnx_maxpool", variables=asked)
    assert done.stdout.split() == [name for name in COMMANDS if name.startswith("con")]
    # Else Typer asks which shell has started the tests, and there may be none.
    told = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = run_python("-m", "onnx_maxpool", "--show-completion", "bash", variables=told)
    assert "complete -o default -F _onnx_maxpool_completion onnx-maxpool" in done.stdout


def test_mistakes_of_the_caller_end_with_2(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "inspect", "missing.onnx") == (2, "", "missing.onnx: no such file\n")
    assert run(capsys, "inspect", ".") == (2, "", ".: is a directory\n")
    assert run(capsys, "walk") == (2, "", "No such command 'walk'.\n")
    assert run(capsys, "inspect") == (2, "", "Missing argument 'MODEL'.\n")
    (tmp_path / "empty.onnx").touch()
    assert run(capsys, "inspect", "empty.onnx") == (1, "", "empty.onnx is not an ONNX model: it has no graph\n")


def test_an_interrupted_command_ends_as_shells_expect(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("onnx_maxpool.cli.information.information", interrupt)
    assert run(capsys, "info")[:2] == (130, "")


def without_typer(folder: Path, instead: str) -> subprocess.CompletedProcess[str]:
    """`onnx-maxpool --help` where this statement stands for typer."""
    (folder / "typer.py").write_text(instead)
    path = os.pathsep.join([str(folder), str(Path(onnx_maxpool.__file__).parent.parent)])
    return subprocess.run(
        [sys.executable, "-m", "onnx_maxpool", "--help"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_terminal_without_the_letters_of_a_name(tmp_path: Path) -> None:
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 22]>
        g (float[1,1,4,4] x, float[1,5] rois) => (float[1,1,2,2] y) { y = MaxRoiPool <pooled_shape = [2, 2]> (x, rois) }
    """)
    model.graph.node[0].name = "Knoten_ü"
    onnx.save_model(model, tmp_path / "model.onnx")
    done = run_python("-m", "onnx_maxpool", "inspect", tmp_path / "model.onnx", variables={"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert r"Knoten_\xfc" in done.stdout


def test_a_command_that_is_interrupted_before_it_begins(tmp_path: Path) -> None:
    ended = without_typer(tmp_path, "raise KeyboardInterrupt")
    assert (ended.returncode, ended.stdout, ended.stderr) == (130, "", "")


def test_info_says_what_is_installed(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code, out, err = run(capsys, "info", "--json")
    assert (code, err) == (0, "")
    facts = json.loads(out)
    installed = {name: facts["versions"][name] for name in ("Python", "onnx-maxpool", "numpy", "onnx")}
    assert installed == {
        "Python": platform.python_version(),
        "onnx-maxpool": VERSION,
        "numpy": np.__version__,
        "onnx": onnx.__version__,
    }
    assert ort.__version__ in facts["versions"].values()
    assert Path(facts["native_library"]).samefile(library_path())
    assert [each["name"] for each in facts["instruction_sets"]] == [target.name for target in targets()]
    assert sum(each["used"] for each in facts["instruction_sets"]) == 1
    assert facts["providers"] == ort.get_available_providers()
    assert [(each["name"], each["since_version"]) for each in facts["operators"]] == [
        (row.name, row.since_version) for row in OPERATORS
    ]
    assert facts["optional"]["pyarrow"] == importlib.metadata.version("pyarrow")
    monkeypatch.setenv("COLUMNS", "500")  # Wide enough for the path of any checkout: a narrower table folds it.
    text = run(capsys, "info")[1]
    assert facts["native_library"] in text
    assert all(version in text for version in facts["versions"].values())


def test_info_works_where_the_library_is_missing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("onnx_maxpool.adapters.registration.PACKAGE", tmp_path)
    code, out, _ = run(capsys, "info", "--json")
    assert (code, json.loads(out)["native_library"]) == (0, None)
    assert "is missing" in run(capsys, "info")[1]


def test_info_asks_for_every_optional_package() -> None:
    tools = ("test", "wheels", "check", "docs", "recipes", "runtimes")
    extras = [
        re.findall(r"^[\w-]+", requirement)[0]
        for requirement in importlib.metadata.requires("onnx-maxpool") or ()
        if (extra := re.search(r"extra == ['\"](\w+)['\"]", requirement)) and extra[1] not in tools
    ]
    backends = [name for row in BACKENDS.values() for name in row.package.split() if "onnxruntime" not in name]
    peers = {"Paddle": "paddlepaddle"}
    wanted = {name.lower() for name in (*extras, *backends, *(peers.get(name, name) for name in PEERS))}
    required = {"onnx-maxpool", "onnx", "onnxruntime", "onnx runtime"}
    assert wanted - required <= {name.lower() for name in OPTIONAL}


def test_sample_writes_what_the_documentation_uses(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / "new"
    code, out, err = run(capsys, "sample", *SAMPLES, "--folder", folder)
    assert (code, err) == (0, "")
    assert sorted(path.name for path in folder.iterdir()) == sorted(SAMPLES)
    assert [line.split(": ")[0] for line in out.splitlines()] == [f"wrote {folder / name}" for name in SAMPLES]

    onnx.checker.check_model(str(folder / "fast_rcnn.onnx"), full_check=True)
    inputs = dict(np.load(folder / "inputs.npz"))
    outputs = onnx_maxpool.load(folder / "fast_rcnn.onnx").run(None, inputs)
    assert [output.shape for output in outputs] == [(64, 512, 7, 7), (64, 21), (64, 84)]
    expected = onnx_maxpool.reference_evaluator(folder / "fast_rcnn.onnx").run(None, inputs)
    for output, wanted in zip(outputs, expected, strict=True):  # in any order of sums
        np.testing.assert_array_equal(output, wanted)

    rows = pq.read_table(folder / "rows.parquet")
    columns = {name: rows[name].to_pylist() for name in ("id", "rois")}
    columns["features"] = rows["features"].combine_chunks().to_numpy_ndarray()
    columns["rois"] = [np.array(boxes, np.float32).reshape(-1, 4) for boxes in columns["rois"]]
    found = onnx_maxpool.Predictor(folder / "fast_rcnn.onnx")(columns)
    assert [len(part) for part in found["bbox_pred"]] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_sample_writes_the_same_file_every_time(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "fast_rcnn.onnx"
    for code in (0, 2):
        found = run(capsys, "sample", path.name, "--folder", tmp_path)
        assert found[0] == code
    assert found == (2, "", f"{path} exists: give --overwrite to replace it\n")
    first = path.read_bytes()
    path.write_bytes(b"another")
    assert run(capsys, "sample", path.name, "--folder", tmp_path, "--overwrite")[0] == 0
    assert path.read_bytes() == first
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_sample_lists_what_there_is(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(capsys, "sample", "--list")[1]
    assert all(name in out for name in SAMPLES)
    names = ", ".join(SAMPLES)
    assert run(capsys, "sample") == (2, "", f"sample: no file is named, expected {names} or --list\n")
    assert run(capsys, "sample", "x.onnx") == (2, "", f"sample x.onnx: expected one of {names}\n")


def test_a_missing_cli_extra_is_one_line(tmp_path: Path) -> None:
    ended = without_typer(tmp_path, "raise ModuleNotFoundError('no typer', name='typer')")
    assert ended.returncode == 2
    assert ended.stderr == 'onnx-maxpool needs typer: pip install "onnx-maxpool[cli]"\n'


EXTRAS = {
    "demo": ("PIL", "demo needs PIL", "demo"),
    "sample rows.parquet": ("pyarrow", "sample rows.parquet needs pyarrow", "batch"),
    "batch m.onnx rows.parquet out": ("pyarrow", "batch needs pyarrow", "batch"),
    "bench --quick --plot out": ("matplotlib", "--plot needs matplotlib", "bench"),
    "conformance --backend native --html out.html": ("jinja2", "reports need jinja2", "conformance"),
    "conformance --backend native --search 9": ("hypothesis", "--search needs hypothesis", "conformance"),
}
"""Commands that need an extra: the module that is hidden, what they say of it, and the extra."""
WITHOUT = """
import sys
from importlib.abc import MetaPathFinder

class Hidden(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == sys.argv[1]:
            raise ModuleNotFoundError(f"No module named '{name}'", name=name)

sys.meta_path.insert(0, Hidden())
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *more: None if name.partition(".")[0] == sys.argv[1] else found(name, *more)
from onnx_maxpool.cli.main import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("command", EXTRAS)
def test_a_missing_extra_is_one_line_of_one_form(command: str, tmp_path: Path) -> None:
    module, said, extra = EXTRAS[command]
    ended = run_python("-c", WITHOUT, module, *command.split(), folder=tmp_path)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.strip() == f'{said}: pip install "onnx-maxpool[{extra}]"'


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_says_in_a_sentence_what_it_does(name: str) -> None:
    assert COMMANDS[name].help
    for parameter in COMMANDS[name].params:
        said = getattr(parameter, "help", None) or ""
        assert re.fullmatch(r"[A-Z].*\.", said, re.DOTALL), f"{name} {parameter.name}: {said}"
        verb = said.split()[0]
        assert not re.fullmatch("The|A|An|Of|After|At|How|What|Whether|Only", verb), f"{name} {parameter.name}: {said}"
