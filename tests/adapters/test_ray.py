"""Ray Data runs `Predictor` as it stands, and `onnx-maxpool batch --engine ray`, on a cluster of two nodes.

The cluster is Ray's own test utility: every node is a set of processes of this machine. scripts/time_batch.py starts
clusters of its own.
"""

from __future__ import annotations

import importlib
import os
import re
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import numpy as np
import pyarrow.parquet as pq
import pytest
import ray
from ray.cluster_utils import Cluster
from support.processes import descendants, run_python
from support.rows import (
    HEAD,
    SLOW,
    Command,
    assert_output_matches,
    assert_rows_match,
    batch_command,
    ragged_rows,
    read_output,
    table,
    write_input,
)

import onnx_maxpool
from onnx_maxpool.batch.cluster import compute_parts
from onnx_maxpool.batch.compute import Computer, PartResult
from onnx_maxpool.batch.inputs import Part

pytestmark = [pytest.mark.slow("starts clusters"), pytest.mark.extras]

ACTOR = "ray::MapWorker"
SCRIPT = Path(__file__).parent.parent.parent / "scripts" / "time_batch.py"


def test_the_page(tmp_path: Path) -> None:
    """That scripts/time_batch.py writes, of few rows: no time is compared with anything."""
    page = tmp_path / "batch.md"
    done = run_python(SCRIPT, "--rows", "2", "10", "--small-rows", "400", "--turns", "1", "--page", page)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert len(re.findall(r"^\| (?:a bare loop|`Predictor`|`--engine)", text, re.MULTILINE)) == 4 + 5
    assert "400 rows of 16 × 38 × 50 and 50 ROIs" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--rows", "8"], "--rows [8], expected two different numbers"),
        (["--rows", "8", "8"], "--rows [8, 8], expected two different numbers"),
        (["--rows", "0", "8"], "'0', expected an integer of at least 1"),
        (["--turns", "-1"], "'-1', expected an integer of at least 1"),
        (["--small-rows", "many"], "'many', expected an integer of at least 1"),
        (["--page", "no-such-folder/batch.md"], "--page no-such-folder/batch.md: its folder is missing"),
    ],
)
def test_the_page_checks_its_options_first(
    options: list[str], message: str, page: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(page, "measure", lambda *_: pytest.fail("it measures"))
    monkeypatch.setattr("sys.argv", ["time_batch.py", *options])
    with pytest.raises(SystemExit) as stopped:
        page.main()
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ([(20, 2**20), (50, 5 * 2**20), (100, 3 * 2**20)], "at most 1 MiB of its own"),
        ([(50, 2**20), (100, 2**20)], "no report of the job's progress came in the first fifth"),
        ([(100, 2**20)], "no report of the job's progress came in the first fifth"),
        ([], "No report of the job's progress came"),
    ],
)
def test_the_page_says_where_too_few_reports_came(seen: list[tuple[int, int]], said: str, page: ModuleType) -> None:
    assert said in " ".join(page.memory_lines(seen))


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """scripts/time_batch.py."""
    monkeypatch.syspath_prepend(str(SCRIPT.parent))
    return importlib.import_module("time_batch")


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two nodes of one processor each, and this process connected to them."""
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    yield cluster
    ray.shutdown()
    cluster.shutdown()


def dataset(batch: dict[str, Any], blocks: int) -> Any:
    rows = [{name: values[i] for name, values in batch.items()} for i in range(len(batch["id"]))]
    return ray.data.from_items(rows, override_num_blocks=blocks)


def in_order(batch: dict[str, Any], rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns in the order of the input; every row must be there once."""
    assert sorted(row["id"] for row in rows) == sorted(batch["id"])
    by_id = {row["id"]: row for row in rows}
    return {name: [by_id[key][name] for key in batch["id"]] for name in ("id", "pooled", "best")}


def test_ragged_rows_on_two_nodes_one_actor_killed(cluster: Cluster) -> None:
    assert len([node for node in ray.nodes() if node["Alive"]]) == 2
    batch = ragged_rows(60, ((3, 12, 16), (3, 9, 16)))
    results = dataset(batch, 30).map_batches(
        onnx_maxpool.Predictor,
        fn_constructor_kwargs={"model": SLOW.SerializeToString()},
        compute=ray.data.ActorPoolStrategy(size=2),
        batch_size=2,
    )
    rows: list[dict[str, Any]] = []
    killed = None
    for row in results.iter_rows():
        if not rows:
            killed = descendants(os.getpid(), ACTOR)
            os.kill(killed[0], signal.SIGKILL)
        rows.append(row)
    assert killed is not None
    assert len(killed) == 2
    assert_rows_match(SLOW, batch, in_order(batch, rows))


@pytest.mark.parametrize("boxes", [0, 2], ids=["no row has a ROI", "all have as many"])
def test_blocks_of_one_kind_of_rows(cluster: Cluster, boxes: int) -> None:
    """Where Ray sees no raggedness in a block, its rows are still those of the others."""
    batch = ragged_rows(8)
    batch["rois"] = [np.resize(np.float32([1, 2, 9, 8]), (boxes, 4)) for _ in range(8)]
    results = dataset(batch, 2).map_batches(onnx_maxpool.Predictor, fn_constructor_args=(HEAD,), concurrency=1)
    assert_rows_match(HEAD, batch, in_order(batch, results.take_all()))


def test_an_error_names_the_row(cluster: Cluster) -> None:
    batch = ragged_rows(4)
    batch["rois"][2] = np.full((1, 4), np.nan, np.float32)
    results = dataset(batch, 1).map_batches(onnx_maxpool.Predictor, fn_constructor_args=(HEAD,), concurrency=1)
    with pytest.raises(Exception, match="row 2: MaxRoiPool: rois row 0 has x1 nan, expected a number"):
        results.take_all()


def test_the_command_on_the_cluster_with_an_actor_killed(cluster: Cluster, tmp_path: Path) -> None:
    """And the rows are those of the engine `local`, bit for bit."""
    batch = write_input(tmp_path, rows=48, proto=SLOW)
    options = ("--workers", "2", "--part-rows", "8", "--batch-size", "2")
    code, _, err = batch_command(tmp_path, *options)
    assert code == 0, err
    local = (tmp_path / "out").rename(tmp_path / "local")
    with Command(tmp_path, *options, "--engine", "ray", "--address", cluster.address) as command:
        command.wait_for("part-*.parquet")
        command.wait_for(".part-*")
        os.kill(descendants(os.getpid(), ACTOR)[0], signal.SIGKILL)
    assert command.ended is not None
    assert command.ended[0] == 0, command.ended[1]
    assert_output_matches(batch, read_output(tmp_path / "out"))
    keys = [("input_file", "ascending"), ("input_row", "ascending")]
    assert pq.read_table(tmp_path / "out").sort_by(keys).equals(pq.read_table(local).sort_by(keys))


def test_each_part_has_its_own_attempts(cluster: Cluster, tmp_path: Path) -> None:
    """However often one actor dies."""

    @dataclass(frozen=True)
    class DiesOnce:  # here, as the nodes do not find this file
        folder: Path

        def __call__(self, part: Part) -> PartResult:
            died = self.folder / f"died of {part.number}"
            if not died.exists():
                died.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            return PartResult(part.number, part.rows)

    parts = [Part(i, (str(tmp_path / "in.parquet"),), (i,), i, 1) for i in range(6)]
    results = compute_parts(cast(Computer, DiesOnce(tmp_path)), parts, 1, 1, None)
    assert sorted(result.number for result in results if result.error is None) == list(range(6))


def test_more_threads_than_a_node_has_processors(cluster: Cluster, tmp_path: Path) -> None:
    """Ray would wait for ever."""
    write_input(tmp_path)
    code, _, err = batch_command(tmp_path, "--engine", "ray", "--address", cluster.address, "--threads", "2")
    assert code == 2
    assert err == "--threads 2: expected at most 1, as no machine of the cluster has more processors\n"


def test_the_command_begins_and_ends_a_cluster_of_its_own(tmp_path: Path) -> None:
    batch = write_input(tmp_path)
    batch["rois"][5] = np.full((1, 4), np.nan, np.float32)
    pq.write_table(table(batch), tmp_path / "in.parquet", row_group_size=4)
    options = ("--engine", "ray", "--workers", "1", "--part-rows", "8")
    code, _, err = batch_command(tmp_path, *options)
    assert code == 1
    assert f"{tmp_path}/in.parquet, row 5: MaxRoiPool: rois row 0 has x1 nan, expected a number" in err
    code, out, err = batch_command(tmp_path, *options, "--resume", "--on-error", "skip")
    assert code == 0, err
    assert "22 rows in 3 parts" in out
    assert_output_matches(batch, read_output(tmp_path / "out"), [row for row in range(23) if row != 5])


def test_a_run_without_parts_begins_no_cluster() -> None:
    """As where all of them are there."""
    assert list(compute_parts(cast(Computer, None), [], None, 1, None)) == []


def test_no_cluster_at_an_address(tmp_path: Path) -> None:
    write_input(tmp_path)
    code, _, err = batch_command(tmp_path, "--engine", "ray", "--address", "127.0.0.1:1")
    assert code == 2
    assert err.startswith("--address 127.0.0.1:1: ")
