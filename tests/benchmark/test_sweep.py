"""scripts/sweep.py: which points it sweeps, what it calls a step, and one small sweep. No test depends on a time."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from support.processes import run_python

from onnx_maxpool.benchmark.grid.shapes import GROUPS
from onnx_maxpool.benchmark.inputs import row_inputs
from onnx_maxpool.benchmark.rows import AdaptiveCase, RoiCase, Row, SlidingCase

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
ROW = Row(SlidingCase((1, 4, 9, 9), (3, 3), (2, 2), (1, 1), indices=False))


@pytest.fixture
def sweep(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return importlib.import_module("sweep")


@pytest.fixture
def points(sweep: ModuleType) -> ModuleType:
    return importlib.import_module("sweep_points")


def test_every_size_of_every_operator_is_swept(points: ModuleType) -> None:
    found: dict[str, set[str]] = {group: set() for group in GROUPS}
    for each in points.sweeps(list(GROUPS), "float", [1, 2], None, 0):
        found[each.group].add(each.dimension)
        assert len({row.name for _, row, _ in each.points}) == (1 if each.dimension == "threads" else len(each.points))
        for (_, before, _), (_, now, _) in pairwise(each.points):
            assert (before.case.operator, before.type) == (now.case.operator, now.type)
    always = {"channels", "images", "bytes of output", "threads"}
    assert found["MaxRoiPool"] == always | {
        *("ROIs", "bins", "map", "map height", "map width", "ROI side", "ROI height", "ROI width")
    }
    assert found["AdaptiveMaxPool"] >= always | {"all sides", "all output sizes", "output size of axis 4"}
    sliding = {"all sides", "all windows", "window of axis 4", "all strides", "stride of axis 4", "padding"}
    assert found["MaxPooling1 with indices"] == found["MaxPooling1 without indices"]
    assert found["MaxPooling1 with indices"] >= always | sliding


def test_a_seed_adds_cases(points: ModuleType) -> None:
    bases = [{each.base for each in points.sweeps(["MaxRoiPool"], "float", [1], seed, 2)} for seed in (None, 1, 2)]
    assert [len(found) for found in bases] == [4, 6, 6]
    assert bases[1] != bases[2]


def test_integers_are_fine(points: ModuleType) -> None:
    found = points.integers(1, 2048)
    assert found[:8] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found[-1] == 2048
    assert all(now <= before * 1.25 + 1 for before, now in pairwise(found))


@pytest.mark.parametrize(
    ("case", "expected"),
    [
        # Two channels: 8 of 9 rows read, 8x4 windows of 2 cells along rows and 4x4 along columns, 16 written.
        (
            SlidingCase((1, 2, 9, 9), (2, 2), (2, 2), (0, 0), indices=True),
            (2 * 72, 2 * 16, 2 * (72 + 32 * 2 + 16 * 2 + 16)),
        ),
        # Windows of rows 0-1, 3-5 and 7-8 of 9: row 2 and row 6 are in none, and the padding is no work. Columns stay.
        (
            SlidingCase((1, 1, 9, 9), (3, 1), (4, 1), (1, 0), indices=False),
            (7 * 9, 3 * 9, 7 * 9 + 7 * 9 + 3 * 9),
        ),
        (AdaptiveCase((3, 1, 10), (5,)), (3 * 10, 3 * 5, 3 * (10 + 5 * 2 + 5))),
        # Windows of cells 0-2, 2-4, 5-7 and 7-9: neighbours share cells 2 and 7.
        (AdaptiveCase((3, 1, 10), (4,)), (3 * 10, 3 * 4, 3 * (10 + 12 + 4))),
        # As many windows as twice the cells are of one cell each, and no axis that stays as it is.
        (AdaptiveCase((1, 1, 5), (10,)), (5, 10, 5 + 10 + 10)),
        # Three ROIs of 4x6 cells to 2x2: they cover 72 cells of a map of 64.
        (RoiCase(5, 8, 8, 3, 2, 1.0, cells=(4, 6)), (5 * 64, 5 * 12, 5 * (72 + 64 + 4 * 3 * 4))),
        # One of 4x6 to 3x3: bins of rows 0-1, 1-2 and 2-3, which share two.
        (RoiCase(1, 8, 8, 1, 3, 1.0, cells=(4, 6)), (24, 9, 6 * 6 + 24 + 4 * 9)),
    ],
)
def test_work(
    points: ModuleType, case: RoiCase | AdaptiveCase | SlidingCase, expected: tuple[float, float, float]
) -> None:
    found = points.work(case, row_inputs(Row(case)))
    assert (found.read, found.written, found.touched) == expected


def test_growth_of_work(points: ModuleType) -> None:
    before = points.Work(read=10, written=10, touched=100)
    assert points.Work(read=12, written=8, touched=130).growth(before) == (1.3, 0.8)


def test_lines_of_rois(points: ModuleType) -> None:
    case = RoiCase(2, 3, 40, 3, 1, 1.0, batch=2)
    x = np.zeros((2, 2, 3, 40), np.float32)  # 16 cells in each line of memory
    rois = np.array([[0, 15, 1, 17, 2], [1, 38, 2, 50, 9], [1, 0, 0, 0, 0]], np.float32)
    first, second = points.lines_of_rois(case, {"X": x, "rois": rois})
    assert first.tolist() == [48, 80, 96]  # cells 55 to 57 are in one line, 95 to 97 in two
    assert second.tolist() == [112, 0]  # cells 118 and 119, as the ROI leaves the map; and cell 0


def test_a_step_is_measured_once_more(sweep: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    found = sweep.Point("group", "base", "padding", 1.0, "row", 1, (2e6, 2e6, 2e6), 2.0, 1.0, 1.0, None, True)
    turns = sweep.Sweep(ROW, "padding", [(0, ROW, 1), (1, ROW, 1)])
    for seconds, step in ((1.9, True), (1.1, False)):
        fakes: Iterator[Fake] = iter([Fake(1.0, 1, 1.0, 1), Fake(seconds, 1, seconds, 1)])
        monkeypatch.setattr(sweep, "prepared", lambda *_, fakes=fakes: next(fakes))
        again = sweep.once_more(turns, 1, found, 0)
        assert (again.step, again.growth, again.microseconds[1]) == (step, seconds, 1e6 * seconds)


@dataclass
class Fake:
    """A point that takes as long as it is told to, the first time perhaps longer."""

    seconds: float
    touched: float
    first: float
    bytes_take: float
    written: float = 1
    threads: int = 1

    @property
    def work(self) -> Fake:
        return self

    def growth(self, before: Fake) -> tuple[float, float]:
        of_work = self.touched / before.touched
        return of_work, min(of_work, self.written / before.written)

    def samples(self) -> list[tuple[float, int]]:
        return [(self.first, 1)]

    def sample(self) -> tuple[float, int]:
        return self.seconds, 1

    def traffic(self) -> Fake:
        return Fake(self.bytes_take, 1, 1, 1)


@pytest.mark.parametrize(
    ("times", "work", "written", "firsts", "traffic", "steps"),
    [
        ([1.0, 1.2, 1.6], [1, 1, 1], None, None, [1, 1, 1], [False, False, True]),
        ([1.0, 1.2, 1.6], [1.0, 1.2, 1.44], None, None, [1, 1, 1], [False, False, False]),
        ([1.0, 0.95, 0.8], [1, 1, 1], None, None, [1, 1, 1], [False, False, True]),
        ([2.0, 1.0], [2, 1], None, None, [1, 1], [False, False]),  # it falls with the work
        ([2.0, 1.6], [1, 1], [1.0, 0.8], None, [1, 1], [False, False]),  # and with the outputs
        ([2.0, 1.4], [1, 1], [1.0, 0.8], None, [1, 1], [False, True]),
        # Disturbed the first time.
        ([1.0, 1.1, 1.1], [1, 1, 1], None, [1.0, 9.0, 1.1], [1, 1, 1], [False, False, False]),
        # The memory has left a cache.
        ([1.0, 1.2, 2.0], [1, 1, 1], None, None, [1.0, 1.1, 1.8], [False, False, False]),
        ([1.0, 1.2, 2.0], [1, 1, 1], None, None, [1.0, 1.1, 1.2], [False, False, True]),
    ],
)
def test_steps(
    sweep: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    times: list[float],
    work: list[float],
    written: list[float] | None,
    firsts: list[float] | None,
    traffic: list[float],
    steps: list[bool],
) -> None:
    fakes: Iterator[Fake] = iter(map(Fake, times, work, firsts or times, traffic, written or work))
    monkeypatch.setattr(sweep, "prepared", lambda *_: next(fakes))
    found = list(sweep.swept(sweep.Sweep(ROW, "padding", [(i, ROW, 1) for i in range(len(times))]), 0))
    assert [each.step for each in found] == steps


def test_the_summary_says_in_which_steps_time_rises(sweep: ModuleType) -> None:
    base = sweep.Point("group", "base", "padding", 1.0, "row", 1, (1, 1, 1), None, None, None, None, False)
    rises, falls = replace(base, growth=1.6, of_work=1.1, step=True), replace(base, growth=0.7, of_work=1.0, step=True)
    assert sweep.summary([base]) == "0 steps among 1 point"
    assert sweep.summary([base, rises]) == "1 step among 2 points: time grows by too much at 1, falls at 0"
    assert sweep.summary([rises, falls, falls]) == "3 steps among 3 points: time grows by too much at 1, falls at 2"


def test_a_sweep_that_there_is_not() -> None:
    done = run_python(SCRIPTS / "sweep.py", "--operator", "MaxRoiPool", "--dimension", "padding")
    assert done.returncode == 2
    assert "no sweep has these texts" in done.stderr


@pytest.mark.slow("times points")
def test_a_small_sweep(tmp_path: Path) -> None:
    only = ["--operator", "without indices", "--dimension", "padding", "--threads", "1"]
    done = run_python(SCRIPTS / "sweep.py", *only, "--json", tmp_path / "out.jsonl", "--plot", tmp_path, "--every")
    run, *found = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    steps = sum(each["step"] for each in found)
    assert done.returncode == (1 if steps else 0), done.stderr
    assert run["record"] == "run"
    assert {(each["record"], each["dimension"], each["threads"]) for each in found} == {("point", "padding", 1)}
    assert {each["at"] for each in found} == {0, 1, 2, 3, 4}
    assert f"among {len(found)} points" in done.stdout
    assert "Sweeps of MaxPooling1 without indices" in (tmp_path / "sweep_maxpooling1_without_indices.svg").read_text()
