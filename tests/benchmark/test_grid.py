"""The benchmark's grid: what it draws, how it sums up, and one small run from the command line."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onnx_maxpool.benchmark import processes
from onnx_maxpool.benchmark.grid import race
from onnx_maxpool.benchmark.grid.race import race_row, take_turns
from onnx_maxpool.benchmark.grid.records import append, begin, from_record, record
from onnx_maxpool.benchmark.grid.shapes import GROUPS, MOST_CELLS, drawn, group_of
from onnx_maxpool.benchmark.grid.summary import (
    clearly_lost,
    distributions,
    lost,
    out_of_reach,
    ratio,
    rows_by_processor,
    worst,
)
from onnx_maxpool.benchmark.inputs import row_inputs
from onnx_maxpool.benchmark.measure import Contestant, Runtimes
from onnx_maxpool.benchmark.peers import OURS, RUNTIME, SESSION
from onnx_maxpool.benchmark.processes import Runtime
from onnx_maxpool.benchmark.report.grid import ratio_cell
from onnx_maxpool.benchmark.results import Entry, Results, RowResult, timing
from onnx_maxpool.benchmark.rows import ROI_CASES, AdaptiveCase, Row, SlidingCase, output_bytes
from onnx_maxpool.cli.main import main
from onnx_maxpool.machine import machine
from onnx_maxpool.types import element_type

MANY = {group: drawn(group, seed=7, count=200) for group in GROUPS}


def result_of(
    group: str,
    ours: list[float],
    theirs: list[float] | None,
    threads: int = 2,
    session: float = 0.1,
    peer: str = "OpenVINO",
) -> RowResult:
    result = RowResult(MANY[group][0], threads, 1, 1)
    for name, values in ((OURS, ours), (peer, theirs), (SESSION, [session])):
        if values is not None:
            result.entries[name] = Entry(timing([(value, 1) for value in values]))
    return result


@pytest.mark.parametrize("group", GROUPS)
def test_rows_are_the_seeds(group: str) -> None:
    assert MANY[group][:20] == drawn(group, seed=7, count=20)
    assert MANY[group][:20] != drawn(group, seed=8, count=20)
    assert {group_of(row.case) for row in MANY[group]} == {group}


@pytest.mark.parametrize("group", GROUPS)
def test_rows_spread_over_the_ranges(group: str) -> None:
    rows = MANY[group]
    floats = sum(row.type == "float" for row in rows)
    assert 90 < floats < 150
    assert len({row.type for row in rows}) >= 3
    assert "bfloat16" not in {row.type for row in rows}
    for row in rows:
        assert 0 < output_bytes(row) <= 12 * MOST_CELLS
    shapes = [row.case.shape for row in rows if isinstance(row.case, AdaptiveCase | SlidingCase)]
    channels = [shape[1] for shape in shapes] or [row.case.channels for row in rows if hasattr(row.case, "channels")]
    assert min(channels) <= 2
    assert max(channels) >= 1000
    if shapes:
        assert {len(shape) for shape in shapes} >= {4, 5}


def test_a_drawn_row_can_be_run() -> None:
    for rows in MANY.values():
        for row in [row for row in rows if output_bytes(row) < 10000][:3]:
            assert element_type(row_inputs(row)["X"]) == row.type


def test_windows_lie_in_their_maps() -> None:
    for row in MANY["MaxPooling1 with indices"]:
        assert isinstance(row.case, SlidingCase)
        for side, window, padding in zip(row.case.shape[2:], row.case.window, row.case.padding, strict=True):
            assert 0 <= padding < window <= side + 2 * padding


def test_distributions() -> None:
    adaptive, sliding = "AdaptiveMaxPool", "MaxPooling1 with indices"
    results = [
        result_of(sliding, [1.0], [4.0]),
        result_of(adaptive, [2.0, 2.0, 2.0], [1.0, 1.0, 1.0]),
        result_of(adaptive, [1.0, 2.0, 9.0], [1.0, 1.9, 9.0]),  # the quartiles overlap
        result_of(adaptive, [1.0], [3.0]),
        result_of(adaptive, [1.0], None),
        result_of(adaptive, [1.0], [5.0], threads=1),
    ]
    two, one, other = distributions(results)
    assert (two.title, one.title, other.title) == (
        "AdaptiveMaxPool, 2 threads",
        "AdaptiveMaxPool, 1 thread",
        "MaxPooling1 with indices, 2 threads",
    )
    assert two.ratios == (0.5, 0.95, 3.0)
    assert (two.lost, two.clearly_lost) == (2, 1)
    assert two.figures == (0.5, pytest.approx(0.545), 0.95)
    assert worst(results, adaptive, 2, 2) == [results[1], results[2]]
    assert lost(results) == [results[1], results[2]]


def test_a_row_is_out_of_reach_where_the_session_alone_is_slower() -> None:
    adaptive = "AdaptiveMaxPool"
    slower = result_of(adaptive, [3.0, 3.0, 3.0], [2.0, 2.0, 2.0], session=2.5)
    overlapping = result_of(adaptive, [1.0, 3.0, 9.0], [1.0, 2.0, 9.0], session=2.5)
    faster = result_of(adaptive, [3.0, 3.0, 3.0], [2.0, 2.0, 2.0], session=1.9)
    disturbed = result_of(adaptive, [3.0, 3.0, 3.0], [2.0, 2.0, 2.0], session=3.1)
    in_a_session = result_of(adaptive, [3.0, 3.0, 3.0], [2.0, 2.0, 2.0], session=2.5, peer=RUNTIME)
    results = [slower, overlapping, faster, disturbed, in_a_session]
    (found,) = distributions(results)
    assert (found.lost, found.clearly_lost, found.out_of_reach) == (5, 4, 2)
    cells = ["0.67 (out of reach)", "0.67 (noise, out of reach)", "0.67", "0.67", "0.67"]
    assert [ratio_cell(result) for result in results] == cells


class FakeRuntime:
    """Takes as long as it is told to, or longer from round to round, and counts how often."""

    def __init__(self, seconds: float, growth: float = 1, name: str = "") -> None:
        self.seconds, self.growth, self.name, self.asked = seconds, growth, name, 0

    def ask(self, _: str, row: Row) -> tuple[float, int]:
        assert row == Row(ROI_CASES[5])
        self.asked += 1
        return self.seconds * self.growth**self.asked, 1


def contestants(runtimes: Sequence[FakeRuntime]) -> list[Contestant]:
    """Each with a time from when its row was made ready."""
    row = Row(ROI_CASES[5])
    return [Contestant(fake, row, Entry(), 60, [(fake.seconds, 1)]) for fake in runtimes]  # type: ignore[arg-type]


def test_a_peer_far_behind_is_timed_once() -> None:
    runtimes = [FakeRuntime(seconds) for seconds in (9.0, 1.0, 2.9, 3.1)]
    entered = contestants(runtimes)
    take_turns(entered[0], entered[1:])
    assert [runtime.asked > 0 for runtime in runtimes] == [True, True, True, False]
    medians = [contestant.entry.timing.median for contestant in entered if contestant.entry.timing is not None]
    assert medians == [9.0, 1.0, 2.9, 3.1]


@pytest.mark.parametrize(("peer", "samples"), [(0.9, 9), (1.9, 9), (2.1, 5)])
def test_a_close_race_goes_on(peer: float, samples: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(race, "MOST_ROUNDS", 5)
    monkeypatch.setattr(race, "MOST_CLOSE_ROUNDS", 9)
    runtimes = [FakeRuntime(1.0), FakeRuntime(peer)]
    ours, *peers = contestants(runtimes)
    take_turns(ours, peers)
    assert [runtime.asked for runtime in runtimes] == [samples, samples]


def test_times_are_compared_in_the_same_round() -> None:
    """However much the machine's speed changes from round to round."""
    times = {OURS: 1.0, "OpenVINO": 1.5, SESSION: 0.5}
    ours, peer, session = contestants([FakeRuntime(time, 2.0, name) for name, time in times.items()])
    assert take_turns(ours, [peer], [session]) == {"OpenVINO": (1.5, 1.5, 1.5), SESSION: (0.5, 0.5, 0.5)}
    result = result_of("AdaptiveMaxPool", [2.0], [1.0], peer="OpenVINO")
    assert (ratio(result), clearly_lost(result)) == (0.5, True)
    result.times_ours["OpenVINO"] = (0.7, 0.9, 1.1)
    assert (ratio(result), clearly_lost(result), out_of_reach(result)) == (0.9, False, False)
    result.times_ours[SESSION] = (0.8, 0.95, 1.2)
    assert out_of_reach(result)


def run_command(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as stopped:
        main(["bench", "--grid", *map(str, arguments)])
    assert stopped.value.code is None or isinstance(stopped.value.code, int)
    return stopped.value.code or 0


def test_a_small_grid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    group, seed, count = "MaxPooling1 with indices", 5, 60
    rows = sorted(drawn(group, seed, count), key=output_bytes)
    chosen = next(row for row in rows if row.type == "float" and np.prod(row.case.shape) < 20000)  # type: ignore[union-attr]
    files = ["--json", tmp_path / "out.jsonl", "--plot", tmp_path, "--markdown", tmp_path / "out.md"]
    only = ["--operator", "with indices", "--rows", chosen.name, "--peer", "ONNX Runtime", "--threads", "1"]
    assert run_command("--seed", seed, "--draws", count, *only, *files) == 0
    run, row, *others = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert (run["record"], run["settings"]["seed"]) == ("run", seed)
    assert (row["record"], row["name"], row["threads"]) == ("row", chosen.name, 1)
    assert row["microseconds"].keys() == {OURS, "ONNX Runtime", SESSION}
    assert row["ratio"] == pytest.approx(row["times_ours"]["ONNX Runtime"][1], abs=1e-4)
    assert others == []
    page = (tmp_path / "out.md").read_text()
    assert f'onnx-maxpool bench --grid --seed {seed} --draws {count} --operator "{group}"' in page
    assert f"| {group}, 1 thread | 1 |" in page
    assert f"{group}, 1 thread" in (tmp_path / "grid.svg").read_text()
    assert chosen.name in capsys.readouterr().err
    assert run_command("--seed", seed, "--draws", count, *only, *files, "--resume", "--threads", "2") == 0
    _, *again = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    assert [each["threads"] for each in again] == [1, 2]
    assert again[0]["microseconds"] == row["microseconds"]
    # A run that was ended while it wrote a line goes on after the line before.
    text = (tmp_path / "out.jsonl").read_text()
    (tmp_path / "out.jsonl").write_text(text[:-20])
    assert run_command("--seed", seed, "--draws", count, *only, *files, "--resume", "--threads", "2") == 0
    assert [json.loads(line).get("threads") for line in (tmp_path / "out.jsonl").read_text().splitlines()[1:]] == [1, 2]
    assert run_command("--seed", seed + 1, "--draws", count, *files, "--resume", "--threads", "2") == 2
    assert f"found seed {seed}, expected {seed + 1}" in capsys.readouterr().err


def test_resume_goes_on_with_the_same_grid_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What it would not have timed is not reported as its own, and what is there is not lost."""
    file = tmp_path / "out.jsonl"
    _, row = drawn("AdaptiveMaxPool", 1, 2)
    result = RowResult(row, 2, 0, 0)
    settings = {"threads": [2], "peers": ["OpenVINO"], "seed": 1, "command": ""}
    drawn_by = ["--seed", 1, "--draws", 2, "--operator", "Adaptive", "--peer", "OpenVINO", "--seconds", 0]
    for found, changed, said in (
        ({"cpu": "Another"}, [], "processor Another, expected "),
        ({"target": "avx2"}, [], "target avx2, expected None"),
        ({}, ["--peer", "torch"], "peers OpenVINO, expected OpenVINO or torch"),
        ({}, ["--draws", 1], f"{row.name}, expected only rows that these options draw"),
    ):
        begin(Results({**machine(), **found}, settings, {"openvino": "1.2"}), file)
        append(result, file)
        before = file.read_text()
        assert run_command(*drawn_by, *changed, "--json", file, "--resume") == 2
        assert f"--resume {file}: found {said}" in capsys.readouterr().err
        assert file.read_text() == before


def test_several_seeds_are_one_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    slow, fast = result_of("MaxRoiPool", [2.0], [1.0]), result_of("MaxRoiPool", [1.0], [3.0])
    files = []
    for seed, result in ((3, slow), (4, fast)):
        settings = {"threads": [2], "peers": ["OpenVINO"], "seed": seed, "command": f"bench --seed {seed}"}
        begin(Results(machine(), settings, {"openvino": "1.2"}), tmp_path / f"{seed}.jsonl")
        append(result, tmp_path / f"{seed}.jsonl")
        files += ["--from", tmp_path / f"{seed}.jsonl"]
    assert run_command(*files, "--plot", tmp_path, "--markdown", tmp_path / "grid.md") == 0
    page = (tmp_path / "grid.md").read_text()
    assert "bench --seed 3\nbench --seed 4" in page
    assert "- Seed 3, 1 row, " in page
    assert "\n1 of 2. Medians" in page
    assert f"| {slow.place} | 0.50 | OpenVINO | 2000000 | 1000000 |" in page
    assert "| MaxRoiPool, 2 threads | 2 | 0.50 | 0.62 | 1.75 | 1 | 1 |" in page
    assert page.index("## Rows that are lost") < page.index("(grid.svg)") < page.index("## The worst rows of")
    assert "Seeds 3, 4." in (tmp_path / "grid.svg").read_text()
    assert "Rows that are lost" in capsys.readouterr().out
    (tmp_path / "other.jsonl").write_text('{"record": "run", "machine": {}, "settings": {}}\n')
    assert run_command("--from", tmp_path / "other.jsonl") == 2
    assert "expected a file that bench --grid --json wrote" in capsys.readouterr().err


def test_each_processor_has_its_own_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What one processor wins says nothing about another."""
    files = []
    results = [result_of("MaxRoiPool", [2.0], [1.0]), result_of("MaxRoiPool", [1.0], [3.0])]
    for seed, (result, cpu) in enumerate(zip(results, ("One with AVX2", "Other with AVX-512"), strict=True)):
        settings = {"threads": [2], "peers": ["OpenVINO"], "seed": seed, "command": f"bench --seed {seed}"}
        begin(Results({**machine(), "cpu": cpu}, settings, {"openvino": "1.2"}), tmp_path / f"{seed}.jsonl")
        append(result, tmp_path / f"{seed}.jsonl")
        files += ["--from", tmp_path / f"{seed}.jsonl"]
    assert run_command(*files, "--plot", tmp_path, "--markdown", tmp_path / "grid.md") == 0
    _, one, other = (tmp_path / "grid.md").read_text().split("\n## ", 2)
    assert one.startswith("One with AVX2\n\n### Rows that are lost\n\n1 of 1.")
    assert "| MaxRoiPool, 2 threads | 1 | 0.50 | 0.50 | 0.50 | 1 | 1 |" in one
    assert other.startswith("Other with AVX-512\n\n### Rows that are lost\n\n0 of 1.")
    assert "| MaxRoiPool, 2 threads | 1 | 3.00 | 3.00 | 3.00 | 0 | 0 |" in other
    assert "\n## The worst rows of MaxRoiPool, 2 threads on One with AVX2\n" in other
    picture = (tmp_path / "grid.svg").read_text()
    assert ">One with AVX2<" in picture
    assert ">Other with AVX-512<" in picture
    assert ">fastest peer / ours<" in picture
    shown = capsys.readouterr().out
    assert shown.index("One with AVX2\n") < shown.index("Other with AVX-512\n")


def test_a_processor_that_was_held_to_an_instruction_set_is_another() -> None:
    settings = {"threads": [2], "peers": [], "seed": 0, "command": ""}
    held = [{**machine(), "cpu": "One with AVX-512", "target": target} for target in (None, "avx2")]
    kinds = rows_by_processor(Results(each, settings) for each in held)
    assert list(kinds) == ["One with AVX-512", "One with AVX-512, held to avx2"]


KEPT = Path(__file__).parent.parent.parent / "docs" / "benchmark"


def test_the_kept_page_is_that_of_the_kept_files(tmp_path: Path) -> None:
    files = [argument for path in sorted(KEPT.glob("grid-*.jsonl")) for argument in ("--from", path)]
    assert run_command(*files, "--plot", tmp_path, "--markdown", tmp_path / "grid.md") == 0
    assert (tmp_path / "grid.md").read_text() == (KEPT / "grid.md").read_text()
    assert (tmp_path / "grid.svg").exists()


@pytest.mark.slow("starts processes again and again")
def test_a_process_that_ends_or_hangs_is_a_row_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next row gets a new process; if it is our own, the row is a failure and no more."""
    row = Row(ROI_CASES[5])
    results = Results(machine(), {"peers": ["ONNX Runtime"]})
    runtimes = Runtimes(results)
    try:
        assert race_row(runtimes, row, 1).fastest_peer == "ONNX Runtime"
        stock, ask = runtimes.get("ONNX Runtime", 1), Runtime.ask
        os.kill(stock._child.pid, signal.SIGKILL)
        while stock.alive:
            time.sleep(0.01)

        def ended(runtime: Runtime, method: str, *arguments: object) -> Any:
            if runtime.name == OURS and method == "digest":
                os.kill(runtime._child.pid, signal.SIGKILL)
            return ask(runtime, method, *arguments)

        assert race_row(runtimes, row, 1).fastest_peer == "ONNX Runtime"
        with monkeypatch.context() as patch:
            patch.setattr(Runtime, "ask", ended)
            failed = race_row(runtimes, row, 1)
        assert failed.entries[OURS].refusal == "its process ended with exit code -9"
        with monkeypatch.context() as patch:
            patch.setattr(processes, "PATIENCE", 0.0)
            assert race_row(runtimes, row, 1).entries[OURS].refusal == "no answer within 0 s"
        assert race_row(runtimes, row, 1).fastest_peer == "ONNX Runtime"
    finally:
        runtimes.close()


def test_results_are_read_back() -> None:
    result = result_of("AdaptiveMaxPool", [2.0, 3.0, 5.0], [1.0])
    result.entries["OpenVINO"].differing = 4
    result.times_ours["OpenVINO"] = (0.2, 0.3, 0.5)
    result.entries["torch"] = Entry(refusal="says no")
    again = from_record(record(result))
    assert again.row == result.row
    assert record(again) == record(result)
    assert clearly_lost(again)


def test_the_clock_ends_a_grid(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command("--draws", 5, "--seconds", 0) == 0
    assert "Fastest peer / ours" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--operator", "Relu"], f"--operator Relu: expected a part of {', '.join(GROUPS)}"),
        (
            ["--from", "x.jsonl", "--seconds", "9"],
            "--from and --seconds: expected one of them, because --from times nothing",
        ),
        (["--from", "x.jsonl", "--seed", "0"], "--from and --seed: expected one of them, because --from times nothing"),
        (["--draws", "1", "--resume"], "--resume: expected --json FILE beside it"),
        (["--quick"], "--quick: expected without --grid"),
        (["--samples", "3"], "--samples: expected without --grid"),
        (["--draws", "2", "--rows", "no such row"], "--rows no such row: no row has that in its name"),
    ],
)
def test_refusals(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(*arguments) == 2
    assert capsys.readouterr().err.strip() == message


def test_rows_with_the_same_name_are_rare() -> None:
    for rows in MANY.values():
        names = sorted(row.name for row in rows)
        assert sum(a == b for a, b in pairwise(names)) <= 1
