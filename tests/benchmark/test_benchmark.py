"""The benchmark: its arithmetic, its rows, its peers and how it times them. No test depends on a time."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.processes import descendants, is_running, start_python, wait_until

import onnx_maxpool
from onnx_maxpool.benchmark import peers
from onnx_maxpool.benchmark.inputs import agreed, row_inputs
from onnx_maxpool.benchmark.measure import Contestant, differing_cells, take_turns
from onnx_maxpool.benchmark.models import our_model
from onnx_maxpool.benchmark.peers import FORMS, INEXACT, OURS, PEERS, SESSION, TRAFFIC, per_channel, whole_tensor
from onnx_maxpool.benchmark.processes import RefusalError, Runtime
from onnx_maxpool.benchmark.report.tables import digits, factor
from onnx_maxpool.benchmark.results import Entry, Overhead, Results, RowResult, quartiles, timing
from onnx_maxpool.benchmark.rows import (
    ROI_CASES,
    ROWS,
    AdaptiveCase,
    GraphCase,
    RoiCase,
    Row,
    SlidingCase,
    chosen,
    output_bytes,
)
from onnx_maxpool.benchmark.worker import SHORTEST_SAMPLE, answer, one_line
from onnx_maxpool.windows import roi_edges

pytestmark = [pytest.mark.slow("starts processes of the peers"), pytest.mark.extras]

TINY = Row(ROI_CASES[5])
SMALL = [
    Row(RoiCase(3, 9, 11, 5, 2, 0.5, batch=2)),
    Row(RoiCase(3, 9, 11, 5, 2, 0.5), "bfloat16"),
    Row(GraphCase(4, channels=16, height=9, width=11, pooled=2, features=3)),
    Row(AdaptiveCase((2, 3, 7), (4,))),
    Row(AdaptiveCase((2, 3, 4, 8, 6), (2, 4, 2)), "float16"),
    Row(SlidingCase((2, 3, 9, 8), (3, 3), (2, 2), (1, 1), indices=True), "int8"),
    Row(SlidingCase((1, 2, 4, 6, 6), (2, 2, 2), (2, 2, 2), (0, 0, 0), indices=False), "int32"),
]


def result_of(**seconds: float) -> RowResult:
    names = {"ours": OURS, "stock": "ONNX Runtime", "traffic": TRAFFIC}
    entries = {names.get(name, name): Entry(timing([(value, 1)])) for name, value in seconds.items()}
    return RowResult(TINY, 2, 1, 1, entries)


def test_quartiles() -> None:
    assert quartiles([5.0]) == (5.0, 5.0, 5.0)
    assert quartiles([9.0, 1.0, 3.0, 7.0, 5.0]) == (3.0, 5.0, 7.0)
    assert quartiles([1.0, 2.0]) == (1.25, 1.5, 1.75)


def test_timing() -> None:
    found = timing([(4.0, 7), (2.0, 9), (8.0, 8)])
    assert (found.median, found.lower, found.upper, found.samples, found.runs) == (4.0, 3.0, 6.0, 3, 7)
    assert found.spread == 0.375


def test_ratios() -> None:
    result = result_of(ours=2.0, stock=30.0, OpenVINO=8.0, traffic=0.5)
    assert result.fastest_peer == "OpenVINO"
    assert result.ratio("ONNX Runtime", OURS) == 15.0
    assert result.ratio(OURS, TRAFFIC) == 4.0
    assert result.ratio("torch", OURS) is None
    assert result_of(ours=2.0, traffic=0.5).fastest_peer is None
    cost = Overhead("first", "a session", timing([(0.5, 1)]), timing([(0.25, 1)])).cost
    assert cost == 0.25


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1234"), (45.67, "45.7"), (0.012345, "0.0123")])
def test_digits(value: float, text: str) -> None:
    assert digits(value) == text
    assert factor(value) == f"{text}×"


def test_failures_are_what_must_not_be() -> None:
    result = result_of(ours=2.0, OpenVINO=8.0)
    for name in ("Paddle", *INEXACT):
        result.entries[name] = Entry(differing=3, cells=9)
    results = Results({}, {}, rows=[result])
    exact = ["OpenVINO", "Paddle", "torch"]  # MNN is known to differ in every type
    assert results.failures == [f"{TINY.name}, 2 threads: {name} differs in 3 of 9 cells" for name in exact]
    result.entries[OURS] = Entry(refusal="says no")
    assert results.failures[0] == f"{TINY.name}, 2 threads: {OURS} says no"


def test_rows_are_well_formed() -> None:
    assert len({(row.name, row.curve) for row in ROWS}) == len(ROWS)
    operators = {"MaxRoiPool", "AdaptiveMaxPool", "MaxPooling1", GraphCase.operator}
    assert {row.case.operator for row in ROWS} == operators
    assert {row.curve for row in ROWS if row.curve} == {"number of ROIs", "cells per ROI"}
    assert {row.case.operator for row in chosen(quick=True)} == {row.case.operator for row in ROWS}
    assert set(peers.MODULES) == {OURS, *FORMS, *PEERS, TRAFFIC, SESSION}
    for row in ROWS:
        assert output_bytes(row) > 0


def test_chosen() -> None:
    assert TINY.name in {row.name for row in chosen(("8 rois",))}
    assert {row.type for row in chosen(("bfloat16",))} == {"bfloat16"}
    assert all(row.curve == "cells per ROI" for row in chosen(("cells per",)))
    assert chosen(("no such row",)) == []


def test_every_roi_is_cut_alike_by_all() -> None:
    for row in dict.fromkeys(Row(row.case, row.type) for row in ROWS if isinstance(row.case, RoiCase)):
        small = Row(RoiCase(**{**vars(row.case), "channels": 1}), row.type)
        assert isinstance(small.case, RoiCase)
        rois = row_inputs(small)["rois"]
        assert rois.shape == (small.case.rois, 5)
        assert (np.diff(rois[:, 0].astype(int)) >= 0).all()
        assert set(np.unique(rois[:, 0].astype(int))) <= set(range(small.case.batch))
        edges = roi_edges(rois[:, 1:], small.case.scale)
        assert edges.min() >= 0
        assert agreed(edges[:, 2:] - edges[:, :2] + 1, small.case.pooled).all()


def test_a_disputed_extent_is_refused() -> None:
    with pytest.raises(ValueError, match="an extent of 57 is cut otherwise in float32"):
        row_inputs(Row(RoiCase(1, 60, 60, 1, 7, 1.0, cells=(57, 8))))


@pytest.mark.parametrize("row", SMALL, ids=lambda row: row.name)
def test_our_model_of_a_row(row: Row) -> None:
    inputs = row_inputs(row)
    for name, again in row_inputs(row).items():
        np.testing.assert_array_equal(inputs[name], again)
    outputs = onnx_maxpool.run(onnx_maxpool.load(our_model(row, inputs)), inputs)
    assert sum(array.nbytes for array in outputs) == output_bytes(row)
    assert outputs[0].dtype == inputs["X"].dtype


REFUSED = {
    ("ONNX Runtime", "MaxRoiPool 3x9x11, 5 ROIs to 2x2, bfloat16"): "no kernel for bfloat16",
    ("ONNX Runtime", "AdaptiveMaxPool 2x3x7 to 4, float"): "no adaptive pooling into parts of unequal size",
    ("ONNX Runtime", "MaxPooling1 1x2x4x6x6 k2 s2, int32"): "Type 'tensor(int32)' of input parameter (X) of operator "
    "(MaxPool) in node () is invalid",
    ("OpenVINO", "MaxRoiPool 3x9x11, 5 ROIs to 2x2, bfloat16"): "computes in float32",
    **{(form, row.name): "timed in float only" for form in FORMS for row in SMALL if row.type != "float"},
}
"""The rows that a peer does not support, and its message."""


@pytest.mark.parametrize("name", [OURS, *FORMS, "ONNX Runtime", "OpenVINO"])
@pytest.mark.parametrize("row", SMALL, ids=lambda row: row.name)
def test_a_peer_agrees(row: Row, name: str) -> None:
    inputs = row_inputs(row)
    prepared, call = answer(peers.load(name).prepare, (row, inputs, 1))
    if (name, row.name) in REFUSED:
        assert not prepared
        assert REFUSED[name, row.name] in call
        return
    assert prepared, call
    call.run()
    expected = onnx_maxpool.run(onnx_maxpool.load(our_model(row, inputs)), inputs)
    for ours, theirs in zip(expected, call.outputs(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_rows_that_peers_refuse_are_rows() -> None:
    assert {row for _, row in REFUSED} <= {row.name for row in SMALL}


def test_memory_traffic_runs() -> None:
    inputs = row_inputs(TINY)
    for threads in (1, 2):
        call = peers.load(TRAFFIC).prepare(TINY, inputs, threads)
        assert call.repeat is not None
        call.repeat(3)


def test_numbering() -> None:
    values, indices = np.zeros((2, 3, 1)), np.arange(6).reshape(2, 3, 1) % 5
    _, whole = whole_tensor([values, indices], (2, 3, 5))
    assert whole.ravel().tolist() == [0, 6, 12, 18, 24, 25]
    _, back = per_channel([values, whole], (2, 3, 5))
    np.testing.assert_array_equal(back, indices)


def test_differing_cells(tmp_path: Path) -> None:
    for name, array in (("a", np.arange(6)), ("b", np.array([0, 1, 9, 3, 9, 5])), ("c", np.zeros(5, int))):
        np.save(tmp_path / f"{name}.npy", array)
    a, b, c = (tmp_path / f"{name}.npy" for name in "abc")
    assert differing_cells([a, a], [a, b]) == (2, 12)
    with pytest.raises(RefusalError, match=r"shape is \[5\], expected \[6\]"):
        differing_cells([a], [c])


class FakeRuntime:
    """Answers samples, and notes who was asked when."""

    def __init__(self, name: str, log: list[str]) -> None:
        self.name, self.log = name, log

    def ask(self, method: str, row: Row) -> tuple[float, int]:
        self.log.append(self.name)
        if self.name == "dies":
            raise RefusalError("died")
        return 1.0, 2


def test_turns_are_taken_in_changing_order() -> None:
    log: list[str] = []
    made: dict[str, Any] = {name: FakeRuntime(name, log) for name in ("a", "slow", "dies")}
    contestants = [
        Contestant(runtime, TINY, Entry(), wanted=1 if name == "slow" else 3) for name, runtime in made.items()
    ]
    take_turns(contestants, 3)
    assert log == ["a", "slow", "dies", "a", "a"]
    a, slow, dies = (contestant.entry for contestant in contestants)
    assert a.timing is not None
    assert slow.timing is not None
    assert (a.timing.samples, slow.timing.samples, a.timing.runs) == (3, 1, 2)
    assert (dies.timing, dies.refusal) == (None, "died")


def test_answers() -> None:
    assert answer(int, ("7",)) == (True, 7)
    assert answer(int, ("x",))[0] is False
    assert one_line("\n  first\nsecond") == "first"
    assert one_line("Exception from src/core.cpp:117:\nException from src/plugin.cpp:54:\nbad\n\n") == "bad"
    assert one_line("Exception from src/core.cpp:117:\n") == "Exception from src/core.cpp:117:"


def test_a_runtime_is_stopped_between_its_turns() -> None:
    runtime = Runtime(OURS, 1)
    try:
        assert "onnxruntime" in runtime.versions
        assert runtime.ask("prepare", TINY) > 0
        seconds, runs = runtime.ask("sample", TINY)
        assert seconds * runs >= SHORTEST_SAMPLE
        if hasattr(signal, "SIGSTOP") and os.path.exists("/proc"):
            stat = Path(f"/proc/{runtime._child.pid}/stat")
            deadline = time.monotonic() + 20
            while stat.read_text().rpartition(")")[2].split()[0] != "T":
                assert time.monotonic() < deadline, "the process still runs"
                time.sleep(0.01)
        runtime.ask("drop", TINY)
        with pytest.raises(RefusalError):
            runtime.ask("sample", TINY)
    finally:
        runtime.close()
    assert not runtime.alive


@pytest.mark.skipif(sys.platform != "linux", reason="other systems end no stopped process with its parent")
def test_a_killed_benchmark_leaves_no_stopped_process() -> None:
    command = start_python(
        *("-m", "onnx_maxpool", "bench", "--rows", "MaxRoiPool 3x64x64", "--threads", "1", "--samples", "9999"),
        *("--peer", "ONNX Runtime"),
    )
    try:
        wait_until(lambda: len(descendants(command.pid, "spawn_main")) == 2 or command.poll() is not None)
        workers = descendants(command.pid, "spawn_main")
        assert len(workers) == 2
        time.sleep(1)  # until one of them is stopped
    finally:
        command.kill()
        command.communicate()
    wait_until(lambda: not any(map(is_running, workers)), seconds=20)
