"""`onnx-maxpool batch` on this machine: every row once, whatever is killed, full or wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pyarrow.parquet as pq
import pytest
from support.batches import run_here
from support.processes import is_running, run_python, wait_until
from support.rows import (
    HEAD,
    SLOW,
    Command,
    DiesOn,
    assert_output_matches,
    batch_command,
    ragged_rows,
    read_output,
    table,
    write_input,
)

from onnx_maxpool.batch import local
from onnx_maxpool.batch.compute import Computer, PartResult
from onnx_maxpool.batch.inputs import Part
from onnx_maxpool.batch.job import failure
from onnx_maxpool.batch.local import compute_parts
from onnx_maxpool.errors import ModelError, OutputError, RowError, WorkerError

pytestmark = pytest.mark.slow("starts and kills processes")


def notices(err: str) -> list[str]:
    """What stands on the standard error beside progress, which a slow machine makes it show."""
    return [line for line in err.splitlines() if not re.fullmatch(r"\d+ of \d+ rows, .* rows/s", line)]


def test_the_command(tmp_path: Path) -> None:
    batch = write_input(tmp_path)
    code, out, err = batch_command(tmp_path, "--workers", "2", "--part-rows", "8", "--batch-size", "3")
    assert (code, notices(err)) == (0, [])
    assert out.startswith(f"wrote {tmp_path}/out: 23 rows in 3 parts; ")
    assert "rows/s" in out
    assert_output_matches(batch, read_output(tmp_path / "out"))


# Nothing lost


def test_a_worker_that_is_killed(tmp_path: Path) -> None:
    batch = write_input(tmp_path, rows=48, proto=SLOW)
    with Command(tmp_path, "--workers", "2", "--part-rows", "8", "--batch-size", "2") as command:
        command.wait_for("part-*.parquet")
        command.wait_for(".part-*")  # begun, and not finished
        command.kill_a_worker()
    assert command.ended is not None
    assert command.ended[0] == 0, command.ended[1]
    assert_output_matches(batch, read_output(tmp_path / "out"))
    assert not list((tmp_path / "out").rglob(".*"))


def test_a_run_that_is_killed_and_resumed(tmp_path: Path) -> None:
    batch = write_input(tmp_path, rows=48, proto=SLOW)
    options = ("--workers", "2", "--part-rows", "8", "--batch-size", "2")
    with Command(tmp_path, *options) as command:
        command.wait_for("part-*.parquet")
        command.wait_for(".part-*")
        workers = command.workers()
        command.process.kill()
    wait_until(lambda: not any(map(is_running, workers)))  # they do not stay behind
    finished = {file: file.stat().st_mtime_ns for file in (tmp_path / "out").glob("part-*")}
    assert 0 < len(finished) < 6
    code, out, err = batch_command(tmp_path, *options, "--resume")
    assert code == 0, err
    assert f"48 rows in 6 parts, {len(finished)} of them there before" in out
    assert {file: file.stat().st_mtime_ns for file in finished} == finished  # not computed again
    assert_output_matches(batch, read_output(tmp_path / "out"))


def test_rows_whose_processes_always_die(tmp_path: Path) -> None:
    parts = [Part(number, (f"{number}.parquet",), (0,), 0, 5) for number in range(4)]
    results = {result.number: result for result in compute_parts(DiesOn(2), parts, workers=2)}  # type: ignore[arg-type]
    dead = results.pop(2)
    assert dead.error == "2.parquet, rows 0 to 4: 3 processes died on these rows"
    assert type(failure(dead, dead.error)) is WorkerError
    assert sorted(results) == [0, 1, 3]


def with_bad_rows(folder: Path) -> dict[str, Any]:
    batch = ragged_rows(23)
    batch["rois"][6] = np.full((2, 4), np.nan, np.float32)
    batch["rois"][19] = np.full((1, 4), np.nan, np.float32)
    onnx.save_model(HEAD, folder / "head.onnx")
    pq.write_table(table(batch), folder / "in.parquet", row_group_size=4)
    return batch


SAID = "MaxRoiPool: rois row 0 has x1 nan, expected a number"


def test_a_row_that_fails_ends_the_run(tmp_path: Path) -> None:
    with_bad_rows(tmp_path)
    code, out, err = batch_command(tmp_path, "--workers", "1", "--part-rows", "8", "--batch-size", "3")
    assert (code, out) == (1, "")
    assert notices(err) == [f"{tmp_path}/in.parquet, row 6: {SAID}"]


def test_rows_that_fail_are_skipped_and_noted(tmp_path: Path) -> None:
    batch = with_bad_rows(tmp_path)
    with pytest.raises(RowError, match=r"in\.parquet, row 6: "):
        run_here(tmp_path)
    code, out, err = batch_command(tmp_path, "--on-error", "skip", "--resume", "--part-rows", "8", "--batch-size", "3")
    assert (code, notices(err)) == (0, [])
    assert f"2 rows failed: {tmp_path}/out/_failed.jsonl" in out
    failed = [json.loads(line) for line in (tmp_path / "out" / "_failed.jsonl").read_text().splitlines()]
    assert failed == [{"file": str(tmp_path / "in.parquet"), "row": row, "message": SAID} for row in (6, 19)]
    assert_output_matches(batch, read_output(tmp_path / "out"), [row for row in range(23) if row not in (6, 19)])
    with pytest.raises(RowError, match=r"in\.parquet, row 6: "):  # not finished for one who wants all rows
        run_here(tmp_path, existing="resume")


def test_a_model_that_is_gone_is_not_skipped(tmp_path: Path) -> None:
    """As where workers do not see the folder for a while: no row is noted as failed, and the run can be resumed."""
    batch = write_input(tmp_path)
    away = tmp_path / "away.onnx"

    def without_model(computer: Computer, parts: Sequence[Part]) -> Iterator[PartResult]:
        (tmp_path / "head.onnx").rename(away)
        yield from map(computer, parts)

    with pytest.raises(ModelError, match=r"the model cannot be loaded: .*No such file"):
        run_here(tmp_path, without_model, on_error="skip")
    away.rename(tmp_path / "head.onnx")
    assert run_here(tmp_path, on_error="skip", existing="resume").failed == 0
    assert_output_matches(batch, read_output(tmp_path / "out"))


def test_one_row_is_no_rows(tmp_path: Path) -> None:
    batch = write_input(tmp_path, rows=2)
    batch["rois"][0] = np.full((1, 4), np.nan, np.float32)
    pq.write_table(table(batch), tmp_path / "in.parquet")
    code, out, _ = batch_command(tmp_path, "--on-error", "skip", "--workers", "1")
    assert code == 0
    assert out.startswith(f"wrote {tmp_path}/out: 1 row in 1 part; ")
    assert f"\n1 row failed: {tmp_path}/out/_failed.jsonl\n" in out


def test_a_part_of_failed_rows_only(tmp_path: Path) -> None:
    batch = write_input(tmp_path, rows=8)
    batch["rois"] = [np.full((1, 4), np.nan, np.float32)] * 8
    pq.write_table(table(batch), tmp_path / "in.parquet")
    assert run_here(tmp_path, on_error="skip").failed == 8
    assert pq.read_table(tmp_path / "out").num_rows == 0


def test_an_output_that_cannot_be_written(tmp_path: Path) -> None:
    """The system allows no file of more than 3,000 bytes: a part has more."""
    write_input(tmp_path)
    arguments = [sys.executable, "-m", "onnx_maxpool", "batch", "head.onnx", "in.parquet", "out", "--part-rows", "8"]
    limit = "resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000))"
    done = run_python("-c", f"import os, resource; {limit}; os.execv({arguments[0]!r}, {arguments!r})", folder=tmp_path)
    assert done.returncode == 2
    place = rf"{tmp_path}/in\.parquet, rows \d+ to \d+"
    assert re.fullmatch(rf"{place}: cannot write {tmp_path}/out/\.part-\S*: .*File too large\n", done.stderr)
    assert not list((tmp_path / "out").glob("*part-*"))


def test_what_is_there_is_not_lost_by_mistake(tmp_path: Path) -> None:
    batch = write_input(tmp_path)
    out = tmp_path / "out"
    run_here(tmp_path)
    with pytest.raises(OutputError, match="has the output of a run, expected none: give --resume or --overwrite"):
        run_here(tmp_path)
    with pytest.raises(OutputError, match="of a run where the batch size differs, expected the same run for --resume"):
        run_here(tmp_path, existing="resume", batch_size=4)
    assert run_here(tmp_path, existing="resume").parts_before == 3
    (out / "notes.txt").write_text("mine")
    before = {file.stat().st_mtime_ns for file in out.glob("part-*")}
    run_here(tmp_path, existing="overwrite")
    assert (out / "notes.txt").read_text() == "mine"
    assert not before & {file.stat().st_mtime_ns for file in out.glob("part-*")}
    assert_output_matches(batch, read_output_parts(out))


def read_output_parts(out: Path) -> dict[str, Any]:
    (out / "notes.txt").unlink()
    return read_output(out)


def test_a_folder_of_others_is_left_alone(tmp_path: Path) -> None:
    write_input(tmp_path)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "part-000000.parquet").write_text("of another")
    (tmp_path / "out" / "_failed").write_text("of another")
    for existing in ("refuse", "resume", "overwrite"):
        with pytest.raises(OutputError, match="has files that batch did not write, expected an empty folder"):
            run_here(tmp_path, existing=existing)
    assert (tmp_path / "out" / "part-000000.parquet").read_text() == "of another"


def test_a_folder_that_a_run_only_began(tmp_path: Path) -> None:
    """It ended between two of the first files."""
    batch = write_input(tmp_path)
    out = tmp_path / "out"
    (out / "_failed").mkdir(parents=True)
    (out / "._run.json.123").write_text("{")
    run_here(tmp_path)
    assert not list(out.glob("._run*"))
    assert_output_matches(batch, read_output(out))


@pytest.mark.parametrize("content", ["", "[]"])
def test_what_a_run_said_of_itself_is_damaged(content: str, tmp_path: Path) -> None:
    write_input(tmp_path)
    run_here(tmp_path)
    (tmp_path / "out" / "_run.json").write_text(content)
    with pytest.raises(OutputError, match=r"_run\.json is damaged, expected what a run wrote: give --overwrite"):
        run_here(tmp_path, existing="resume")
    assert run_here(tmp_path, existing="overwrite").parts_before == 0


def test_a_process_that_died_between_two_parts() -> None:
    pool = local._pool(cast(Computer, str))
    first, pool = local._submit(cast(Computer, str), pool, cast(Part, 1))
    assert first.result() == "1"
    (process,) = pool._processes.values()
    process.kill()
    wait_until(lambda: bool(pool._broken))
    second, pool = local._submit(cast(Computer, str), pool, cast(Part, 2))
    assert second.result() == "2"
    local._end(pool)


def test_an_input_or_model_that_changed_is_no_resume(tmp_path: Path) -> None:
    batch = write_input(tmp_path)
    run_here(tmp_path)
    onnx.save_model(SLOW, tmp_path / "head.onnx")
    with pytest.raises(OutputError, match="of a run where the model differs"):
        run_here(tmp_path, existing="resume")
    onnx.save_model(HEAD, tmp_path / "head.onnx")
    pq.write_table(table(batch), tmp_path / "in.parquet", row_group_size=5)
    with pytest.raises(OutputError, match="of a run where what is in the input differs"):
        run_here(tmp_path, existing="resume")


def test_a_part_that_is_broken_is_computed_again(tmp_path: Path) -> None:
    batch = write_input(tmp_path)
    run_here(tmp_path)
    broken = tmp_path / "out" / "part-000001.parquet"
    broken.write_bytes(broken.read_bytes()[:-100])
    assert run_here(tmp_path, existing="resume").parts_before == 2
    assert_output_matches(batch, read_output(tmp_path / "out"))
