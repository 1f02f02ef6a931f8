"""scripts/write_findings.py: which reports become sections, what leaves a page, and what ends the script."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
OTHER = "The published text settles the answer. The backend gives another one: Y: 1 of 1 cells differ, first at [0]: "
CRASH = "The model is small and what it asks is known, but the process ends or hangs: SIGABRT: aborting."
DIFFERS = "gives 0.0 for -7.0"
ENDS = "ends the process"
SIZE_0 = "an error, such as `AdaptiveMaxPool: output_size is [1,0], expected 2 integers from 1 to 2147483647`"
MINE = "## mine\n\nSaid.\n"
SHOWS = "print('The difference shows.')\nraise SystemExit(1)"


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ModuleType:
    """The script, with a folder of pages of its own."""
    monkeypatch.syspath_prepend(str(SCRIPTS))
    module = importlib.import_module("write_findings")
    monkeypatch.setattr(module, "FINDINGS", tmp_path / "findings")
    return module


@pytest.fixture
def report(tmp_path: Path) -> Callable[..., None]:
    """Writes a report as `--bugs` does, of a runtime `toy`."""

    def write(name: str, title: str, said: str, program: str = SHOWS, expected: str = "", rule: str = "G2") -> None:
        home = tmp_path / "bugs" / name
        home.mkdir(parents=True)
        wanted = f"- expected: {expected}\n" if expected else ""
        (home / "README.md").write_text(
            f"# toy: MaxPool-12 {title}\n\n{said}\n\n| | |\n|---|---|\n"
            f"| operator | MaxPool-12, asked by rule {rule} |\n"
            f"| ran on | toy 1.0, device CPU |\n\n## Expected and obtained\n\n{wanted}\n## A program that shows it\n"
        )
        (home / "reproduce.py").write_text(f'PACKAGES = ("toy",)\n{program}\n')

    return write


def headings(writer: ModuleType) -> list[str]:
    return [found.heading for found in writer.read(writer.FINDINGS / "toy.md")]


def take(writer: ModuleType, tmp_path: Path) -> int:
    code: int = writer.main([f"{tmp_path / 'bugs'}={sys.executable}"])
    return code


def test_findings_with_one_heading_are_numbered(
    writer: ModuleType, report: Callable[..., None], tmp_path: Path
) -> None:
    for given in ("-inf", "nan", "1e-40", "-7.0"):
        report(f"toy-max_pooling1-g2-gives-0-0-for-{given}", f"gives 0.0 for {given}", f"{OTHER}0.0, expected {given}")
    assert take(writer, tmp_path) == 0
    plain = "MaxPool-12 gives other values"
    assert headings(writer) == sorted([f"{plain} (G2)", *(f"{plain}, number {i} (G2)" for i in (2, 3, 4))])
    assert len({found.anchor for found in writer.read(writer.FINDINGS / "toy.md")}) == 4
    assert "[gives other values, number 2](toy.md#maxpool-12-gives-other-values-number-2-g2)" in writer.index()


def test_what_differs_only_in_values_is_one_finding_and_said(
    writer: ModuleType, report: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report("toy-max_pooling1-g2-gives-0-0-for-7-0", DIFFERS, f"{OTHER}0.0, expected -7.0")
    report("toy-max_pooling1-g2-gives-0-0-for-7-0-2", "gives 0.0 for -8.0", f"{OTHER}0.0, expected -8.0")
    assert take(writer, tmp_path) == 0
    assert headings(writer) == ["MaxPool-12 gives other values (G2)"]
    assert "for-7-0-2: not kept: the page has it as 'MaxPool-12 gives other values (G2)'" in capsys.readouterr().out


def panic(place: str) -> str:
    words = (
        f"thread (14130) panicked at {place}:",
        "index out of bounds",
        "thread caused non-unwinding panic. aborting.",
    )
    said = f"import sys\nprint(*{words}, sep='\\n', file=sys.stderr)\n"
    return f"{said}print('exit code of the process that runs the model: -6')\n"


def test_crashes_in_other_places_are_other_findings(
    writer: ModuleType, report: Callable[..., None], tmp_path: Path
) -> None:
    for rule, place in (("P1", "patches.rs:100:55"), ("P2", "patches.rs:111:51"), ("P3", "patches.rs:100:55")):
        report(f"toy-max_pooling1-{rule.lower()}-ends-the-process", ENDS, CRASH, panic(place) + SHOWS, rule=rule)
    take(writer, tmp_path)
    assert headings(writer) == ["MaxPool-12 ends the process (P1)", "MaxPool-12 ends the process (P2)"]


def test_a_crash_without_a_place_is_told_by_its_signal_and_by_what_is_asked(writer: ModuleType) -> None:
    ended = "exit code of the process that runs the model: -8\n"
    assert writer.crash("The difference shows.", "words") == ""
    assert writer.crash(ended, "begun\nAssertion failed at 0x7f00\n") == "SIGFPE: Assertion failed at _"
    first, second = (
        writer.Finding("toy", f"## T\n\nSaid\n\n- expected: an error, such as `{what}`\n", "-8: ")
        for what in ("strides", "pads")
    )
    assert first.cause != second.cause


def test_another_signal_is_another_finding(writer: ModuleType, report: Callable[..., None], tmp_path: Path) -> None:
    for rule, code in (("P1", -11), ("P2", -8), ("P3", -8)):
        ended = f"print('exit code of the process that runs the model: {code}')\n"
        report(f"toy-max_pooling1-{rule.lower()}-ends-the-process", ENDS, CRASH, ended + SHOWS, rule=rule)
    take(writer, tmp_path)
    assert headings(writer) == ["MaxPool-12 ends the process (P1)", "MaxPool-12 ends the process (P2)"]


@pytest.mark.parametrize(
    ("other", "title"), [(True, "MaxPool-12 answers where an error is expected (M3)"), (False, "expected 2 (M3)")]
)
def test_the_number_of_a_folder_is_no_part_of_a_heading(
    other: bool, title: str, writer: ModuleType, report: Callable[..., None], tmp_path: Path
) -> None:
    """Where there is no folder without the number, the number is an answer's."""
    name = "toy-max_pooling1-m3-answers-where-an-error-is-expected"
    for each in (name, f"{name}-2") if other else (f"{name}-2",):
        report(each, "answers where an error is expected", "The input is wrong.", rule="M3")
    assert writer.report_in(tmp_path / "bugs" / f"{name}-2").heading.endswith(title)


def test_a_page_becomes_what_a_run_found(
    writer: ModuleType, report: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report("toy-max_pooling1-g2-gives-0-0-for-7-0", DIFFERS, f"{OTHER}0.0, expected -7.0")
    take(writer, tmp_path)
    page = writer.FINDINGS / "toy.md"
    section = "\n## Loop {}{}\n\nSaid.\n\n{}\n```python\n{}\n```\n"
    for title, asked, program in (
        ("stale (G1)", "asked by rule G1", "raise SystemExit(0)"),
        ("not found (G1)", "asked by rule G1", SHOWS),
        ("by hand", "", SHOWS),
        ("by hand, mended", "", "raise SystemExit(0)"),
    ):
        page.write_text(page.read_text() + section.format(title, "", asked, program))
    capsys.readouterr()
    assert take(writer, tmp_path) == 0
    assert headings(writer) == ["Loop by hand", "MaxPool-12 gives other values (G2)"]
    said = capsys.readouterr().out
    assert "'Loop stale (G1)' leaves: its difference does not show" in said
    assert "'Loop not found (G1)' leaves: no report that is kept has it, though its program still shows" in said
    assert "'Loop by hand, mended' leaves: its difference does not show" in said


@pytest.mark.parametrize("program", ["raise SystemExit(0)", "raise SystemExit(2)", "import no_such_module"])
def test_where_no_program_shows_the_page_stays(
    program: str,
    writer: ModuleType,
    report: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    writer.FINDINGS.mkdir()
    (writer.FINDINGS / "toy.md").write_text(MINE)
    report("toy-max_pooling1-g2-gives-0-0-for-7-0", DIFFERS, OTHER, program)
    assert take(writer, tmp_path) == 1
    assert (writer.FINDINGS / "toy.md").read_text() == MINE
    assert "toy.md stays as it is" in capsys.readouterr().out


def test_a_program_that_cannot_be_tried_fails(
    writer: ModuleType, report: Callable[..., None], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report("toy-max_pooling1-g2-gives-0-0-for-7-0", DIFFERS, OTHER)
    report("toy-max_pooling1-g3-gives-0-0-for-nan", DIFFERS, OTHER, "raise SystemExit(2)", rule="G3")
    assert take(writer, tmp_path) == 1
    assert headings(writer) == ["MaxPool-12 gives other values (G2)"]
    assert "for-nan: not kept: exit code 2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("argument", "message"),
    [("{}/mistyped", "mistyped has no report"), ("{}/bugs={}/no-python", "no-python is no program")],
)
def test_what_is_not_there_is_said_before_anything_runs(
    argument: str,
    message: str,
    writer: ModuleType,
    report: Callable[..., None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    report("toy-max_pooling1-g2-gives-0-0-for-7-0", DIFFERS, OTHER)
    with pytest.raises(SystemExit) as stopped:
        writer.main([argument.format(tmp_path, tmp_path)])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err
    assert not writer.FINDINGS.exists()


@pytest.mark.parametrize(
    ("expected", "reason"),
    [
        (SIZE_0, "that limit is ours"),
        ("an error, such as `AdaptiveMaxPool: output_size is [1,-1], expected 2 integers`", ""),
        (
            "an error, such as `AdaptiveMaxPool-8: X is int32, expected float16, float, double or bfloat16`",
            "more types",
        ),
    ],
)
@pytest.mark.parametrize("backend", ["openvino", "torch"])
def test_a_reason_not_to_keep_holds_for_every_runtime(
    backend: str, expected: str, reason: str, writer: ModuleType
) -> None:
    text = f"## AdaptiveMaxPool-8 answers where an error is expected (A1)\n\nWrong.\n\n- expected: {expected}\n"
    said = writer.why_not(writer.Finding(backend, text), [])
    assert reason in said
    assert bool(said) == bool(reason)


def test_words_of_the_index_are_no_html(writer: ModuleType, report: Callable[..., None], tmp_path: Path) -> None:
    report("toy-max_pooling1-g2-gives-0-0-for-7-0", DIFFERS, f"{OTHER}<stdin>:4")
    take(writer, tmp_path)
    index = (writer.FINDINGS / "index.md").read_text()
    assert re.search(r"&lt;stdin&gt;:4", index)
    assert "<stdin>" not in index
