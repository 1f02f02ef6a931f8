"""scripts/fuzz.py with a program in the place of libFuzzer's, which needs Clang: what it keeps, removes and says."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
FUZZER = """#!{python}
import shutil, sys
from pathlib import Path

with open({log!r}, "a") as file:
    print(*sys.argv[1:], file=file)
if "-merge=1" in sys.argv:
    print("libFuzzer's words", file=sys.stderr)
    kept, *others = [Path(word) for word in sys.argv[1:] if not word.startswith("-")]
    for path in sorted(path for folder in others for path in folder.iterdir())[:{merged}]:
        shutil.copyfile(path, kept / path.name)
    sys.exit({merge_code})
print("#5\\tDONE cov: 1 ft: 2", "stat::number_of_executed_units: 5", sep="\\n")
sys.exit({code})
"""


@pytest.fixture
def fuzz(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script, with folders of its own."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    module = importlib.import_module("fuzz")
    for name in ("programs", "seeds", "build/corpus/operators"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "seeds" / "operators.hex").write_text("01\n0203\n")
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "PROGRAMS", tmp_path / "programs")
    monkeypatch.setattr(module, "SEEDS", tmp_path / "seeds")
    monkeypatch.setattr(module, "build", lambda: None)
    return module


@pytest.fixture
def program(tmp_path: Path, fuzz: ModuleType) -> Callable[..., Path]:
    def write(code: int = 0, merge_code: int = 0, merged: int = 1) -> Path:
        path = tmp_path / "programs" / "fuzz_operators"
        words = {"python": sys.executable, "log": str(tmp_path / "log"), "merged": merged, "merge_code": merge_code}
        path.write_text(FUZZER.format(code=code, **words))
        path.chmod(0o755)
        return path

    return write


def run(fuzz: ModuleType, **options: Any) -> int:
    words = {"seconds": 1, "runs": 5, "seed": 1, "jobs": 2, "corpus": None, "merge_after": True, **options}
    with pytest.raises(SystemExit) as stopped:
        fuzz.main(fuzz.Fuzzer.operators, **words)
    assert isinstance(stopped.value.code, int), stopped.value.code
    return stopped.value.code


def test_a_folder_of_the_users_only_grows(fuzz: ModuleType, program: Callable[..., Path], tmp_path: Path) -> None:
    program()
    mine, beside = tmp_path / "mine", tmp_path / "mine-seeds"
    for folder in (mine, beside):
        folder.mkdir()
        (folder / "input").write_text("x")
    assert run(fuzz, corpus=mine) == 0
    assert (mine / "input").read_text() == (beside / "input").read_text() == "x"
    assert len((tmp_path / "seeds" / "operators.hex").read_text().splitlines()) == 1


def test_a_merge_reduces_our_own_corpus(fuzz: ModuleType, program: Callable[..., Path], tmp_path: Path) -> None:
    program(merged=2)
    own = tmp_path / "build" / "corpus" / "operators"
    for name in "abc":
        (own / name).write_text(name)
    assert run(fuzz) == 0
    assert len(list(own.iterdir())) == 2


def test_a_reduction_that_is_broken_off_loses_nothing(
    fuzz: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, corpus = tmp_path / "kept", tmp_path / "corpus"
    for folder, name in ((kept, "a"), (corpus, "b")):
        folder.mkdir()
        (folder / name).write_text(name)

    def stop(self: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", stop)
        with pytest.raises(KeyboardInterrupt):
            fuzz.reduce_to(kept, corpus)
    assert sorted(path.name for path in corpus.iterdir()) == ["a", "b"]
    fuzz.reduce_to(kept, corpus)
    assert [path.name for path in corpus.iterdir()] == ["a"]


def test_a_merge_that_fails_gives_libfuzzers_words(
    fuzz: ModuleType, program: Callable[..., Path], tmp_path: Path
) -> None:
    program(merge_code=3)
    before = (tmp_path / "seeds" / "operators.hex").read_text()
    with pytest.raises(SystemExit, match="libFuzzer's words"):
        fuzz.main(fuzz.Fuzzer.operators, 1, 5, 1, 1, None, True)
    assert (tmp_path / "seeds" / "operators.hex").read_text() == before


def test_jobs_that_fail_are_not_merged_and_that_is_said(
    fuzz: ModuleType, program: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    program(code=77)
    assert run(fuzz) == 1
    said = capsys.readouterr().out
    assert "not merged, as jobs failed" in said
    assert "10 inputs ran, 2 of 2 jobs failed" in said


def test_a_failing_input_is_run_again_with_its_limits(
    fuzz: ModuleType, program: Callable[..., Path], tmp_path: Path
) -> None:
    path = program()
    fuzz.report(fuzz.Console(), path, tmp_path / "timeout-1", "baseline")
    runs = (tmp_path / "log").read_text().splitlines()
    assert len(runs) == 2
    assert all("-timeout=60 -rss_limit_mb=3000" in each for each in runs)


def test_lines_become_a_folder_and_lines_again(fuzz: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    fuzz.unpack(tmp_path / "seeds" / "operators.hex", tmp_path / "folder")
    assert fuzz.pack(tmp_path / "folder", tmp_path / "lines") == 2
    assert (tmp_path / "lines").read_text() == "01\n0203\n"
