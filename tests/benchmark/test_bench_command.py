"""`onnx-maxpool bench`: small runs, the results and pages that are kept, refusals. No test depends on a time."""

from __future__ import annotations

import json
import math
import os
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pytest

from onnx_maxpool.benchmark.overheads import OVERHEADS
from onnx_maxpool.benchmark.peers import OURS, TRAFFIC
from onnx_maxpool.benchmark.results import read_results
from onnx_maxpool.benchmark.rows import ROI_CASES, ROWS, SLIDING_TYPES, Row
from onnx_maxpool.cli.bench import write_json
from onnx_maxpool.cli.main import main

pytestmark = [pytest.mark.slow("starts processes of the peers"), pytest.mark.extras]

TINY = Row(ROI_CASES[5])


def run_command(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["bench", *map(str, arguments)])
    assert stopped.value.code is None or isinstance(stopped.value.code, int)
    return stopped.value.code or 0


def test_a_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--quick", "--rows", "8 ROIs", "--peer", "onnx runtime", "--samples", "2"]
    files = ["--json", tmp_path / "out.json", "--plot", tmp_path / "plots", "--markdown", tmp_path / "out.md"]
    assert run_command(*arguments, "--threads", "2", "--threads", "1", *files) == 0
    out = capsys.readouterr().out
    assert "MaxRoiPool, 2 threads" in out
    assert "3x64x64, 8 ROIs to 2x2" in out
    assert {path.name for path in (tmp_path / "plots").iterdir()} == {"max_roi_pool.svg", "growth.svg"}

    page = (tmp_path / "out.md").read_text()
    assert "](plots/growth.svg)" in page
    assert "| case | type | onnx-maxpool | ONNX Runtime | fastest peer / ours |" in page
    assert page.count("| 3x64x64, 8 ROIs to 2x2 | float |") == 2

    found = json.loads((tmp_path / "out.json").read_text())
    assert found.keys() == {"format", "machine", "settings", "versions", "absent", "rows", "overheads"}
    assert found["machine"].keys() == {"cpu", "cpus", "system", "python", "date", "target"}
    assert found["settings"] == {"quick": True, "threads": [2, 1], "samples": 2, "peers": ["ONNX Runtime"]}
    assert "onnxruntime" in found["versions"]
    assert [row["threads"] for row in found["rows"]] == [2, 1]
    row = found["rows"][0]
    assert (row["operator"], row["type"], row["name"]) == ("MaxRoiPool", "float", TINY.name)
    assert row["bytes_written"] == 8 * 3 * 2 * 2 * 4
    assert row["entries"].keys() == {OURS, "ONNX Runtime", TRAFFIC}
    assert row["ours"].keys() == {"1 thread"}
    stock = row["entries"]["ONNX Runtime"]
    assert stock.keys() == {"timing", "refusal", "differing", "cells"}
    assert stock["timing"].keys() == {"median", "lower", "upper", "samples", "runs"}
    assert (stock["differing"], stock["cells"], stock["timing"]["samples"]) == (0, 96, 2)
    ours = row["entries"][OURS]["timing"]["median"]
    assert math.isclose(row["times_faster_than"]["ONNX Runtime"], stock["timing"]["median"] / ours)
    assert row["fastest_peer"] == "ONNX Runtime"


KEPT = Path(__file__).parent.parent.parent / "docs" / "benchmark"


@pytest.fixture(scope="module")
def again(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page and the pictures of the kept results, drawn by the command that CONTRIBUTING.md names."""
    folder = tmp_path_factory.mktemp("again")
    for page in KEPT.glob("*.md"):  # which the page links
        shutil.copy(page, folder)
    files = ["--plot", folder, "--markdown", folder / "README.md"]
    assert run_command("--from", KEPT / "results.jsonl", *files) == 0
    return folder


def test_the_kept_page_is_that_of_the_kept_results(again: Path) -> None:
    assert (again / "README.md").read_text() == (KEPT / "README.md").read_text()
    drawn = {path.name for path in KEPT.glob("*.svg") if not path.name.startswith("grid")}
    assert {path.name for path in again.glob("*.svg")} == drawn
    assert not list(KEPT.glob("*.png"))


def labels(picture: Path) -> list[str]:
    """The text of a picture, which must be text to be found."""
    return ["".join(each.itertext()) for each in ElementTree.parse(picture).iter("{http://www.w3.org/2000/svg}text")]


def test_pictures_explain_themselves(again: Path) -> None:
    """Every type that another runtime supports is a panel, at most a dozen; marks and labels are explained."""
    for picture, types in {
        "max_roi_pool": ["float", "float16"],
        "conv_max_roi_pool_mat_mul": ["float"],
        "adaptive_max_pool": ["float", "float16"],
        "max_pooling1": list(SLIDING_TYPES),
    }.items():
        found = labels(again / f"{picture}.svg")
        assert [text for text in found if text in SLIDING_TYPES] == types
        everything = " ".join(found)
        assert ("is no lower limit" in everything) == (picture != "conv_max_roi_pool_mat_mul")
        assert ("MNN cuts bins" in everything) == (picture == "max_roi_pool")
        assert ("k3 s1 p1: windows of 3 cells" in everything) == (picture == "max_pooling1")
        assert ("all sums exact" in everything) == (picture == "conv_max_roi_pool_mat_mul")
        assert "prefers-color-scheme: dark" in (again / f"{picture}.svg").read_text()
        assert "time / ours" in found
        below = " ".join(reversed(found))  # the lines of small print are drawn from the last one up
        assert ("A hollow mark: some cells differ from ours." in below) == ("some of its cells differ" in below)
    found = labels(again / "growth.svg")
    assert {"cells per ROI", "64x200x304, 100 ROIs to 7x7, from 1 cell to the whole map"} <= set(found)
    assert found.count("milliseconds per run") == 3


@pytest.mark.parametrize("name", ["kept.json", "kept.jsonl"])
def test_results_are_read_back(tmp_path: Path, name: str) -> None:
    found = read_results(KEPT / "results.jsonl")
    timed = {(result.row.name, result.row.curve, result.threads) for result in found.rows}
    assert timed == {(row.name, row.curve, threads) for row in ROWS for threads in (2, 1)}
    assert OVERHEADS.keys() <= {overhead.name for overhead in found.overheads}
    write_json(found, tmp_path / name)
    assert read_results(tmp_path / name).as_json() == found.as_json()
    assert list(found.json_lines()) == (KEPT / "results.jsonl").read_text().splitlines()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"format": 1}', "found format 1, expected 2"),
        ("", "expected a file that bench --json wrote, without --grid"),
        ('{"record": "run", "machine": {}}', "expected a file that bench --json wrote, without --grid"),
        ("[1]", "expected a file that bench --json wrote, without --grid"),
    ],
)
def test_other_files_are_rejected(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(content)
    assert run_command("--from", path) == 2
    assert capsys.readouterr().err.strip() == f"{path}: {message}"


def test_runtimes_are_held_to_an_instruction_set(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ)
    arguments = ["--rows", "8 ROIs", "--peer", "OpenVINO", "--samples", "1", "--threads", "1", "--target", "baseline"]
    assert run_command(*arguments, "--json", tmp_path / "out.jsonl") == 0
    assert "Limited to baseline: onnx-maxpool, OpenVINO and torch." in capsys.readouterr().out
    run, *rows = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (run["record"], run["machine"]["target"]) == ("run", "baseline")
    assert {(row["record"], row["threads"]) for row in rows} == {("row", 1)}
    assert TINY.name in {row["name"] for row in rows}
    assert dict(os.environ) == before


def test_overheads(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("--rows", "overheads", "--samples", "1") == 0
    out = capsys.readouterr().out
    assert "import onnx_maxpool, beyond numpy, onnx and onnxruntime" in out
    for way in ("run", "run_with_iobinding"):
        assert f"{way}, MaxRoiPool 3x64x64, 8 ROIs to 2x2, beyond Slice to as many cells" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rows", "no such row"], "--rows no such row: no row has that in its name"),
        (
            ["--peer", "Caffe"],
            "--peer Caffe: expected one of ONNX Runtime, OpenVINO, torch, Paddle, MNN, "
            "with control flow, without control flow",
        ),
        (["--from", "x.jsonl", "--quick"], "--from and --quick: expected one of them, because --from times nothing"),
        (["--from", "missing.jsonl"], "missing.jsonl: no such file"),
        (["--target", "mmx"], "--target mmx: expected one of avx2, baseline"),
        *(
            ([option, *value], f"{option}: expected with --grid")
            for option, *value in (
                ("--seed", "0"),
                ("--draws", "3"),
                ("--operator", "Roi"),
                ("--seconds", "0"),
                ("--resume",),
            )
        ),
    ],
)
def test_refusals(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(*arguments) == 2
    assert capsys.readouterr().err.strip() == message
