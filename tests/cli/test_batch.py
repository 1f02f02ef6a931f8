"""`onnx-maxpool batch` on this machine: every row once, whatever is killed, full or wrong."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.processes import is_running, run_python, wait_until
from support.rows import (
    FORMS,
    HEAD,
    SLOW,
    Command,
    DiesOn,
    arrays,
    assert_output_matches,
    batch_command,
    ragged_rows,
    read_output,
    table,
    write_input,
)

from onnx_maxpool.batch import local
from onnx_maxpool.batch.compute import Computer
from onnx_maxpool.batch.inputs import Part
from onnx_maxpool.batch.job import Job, Summary, failure, run_job
from onnx_maxpool.batch.local import compute_parts
from onnx_maxpool.errors import InputError, OutputError, RowError, WorkerError

pytestmark = pytest.mark.slow("starts and kills processes")


def job(folder: Path, **options: Any) -> Job:
    options = {"batch_size": 3, "part_rows": 8, **options}
    return Job(folder / "head.onnx", folder / "in.parquet", folder / "out", **options)


def here(computer: Computer, parts: Any) -> Any:
    """An engine that is this process: the tests of what is not about processes are quick."""
    yield from map(computer, parts)


def run_here(folder: Path, engine: Callable[..., Any] = here, **options: Any) -> Summary:
    return run_job(job(folder, **options), engine, lambda summary: None)


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


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_tensors(form: str, tmp_path: Path) -> None:
    batch = write_input(tmp_path, form=form)
    run_here(tmp_path)
    assert_output_matches(batch, read_output(tmp_path / "out"))


def test_several_files(tmp_path: Path) -> None:
    batch = write_input(tmp_path)
    whole = pq.read_table(tmp_path / "in.parquet")
    (tmp_path / "in.parquet").unlink()
    (tmp_path / "in.parquet").mkdir()
    for name, rows in (("a", whole.slice(0, 10)), ("b", whole.slice(10))):
        pq.write_table(rows, tmp_path / "in.parquet" / f"{name}.parquet", row_group_size=4)
    run_here(tmp_path)
    output = read_output(tmp_path / "out")
    assert [Path(file).name for file in output["input_file"]] == ["a.parquet"] * 10 + ["b.parquet"] * 13
    assert output["input_row"] == [*range(10), *range(13)]
    assert_output_matches(batch, {**output, "input_row": list(range(23))})


def test_a_folder_of_npz(tmp_path: Path) -> None:
    batch = write_input(tmp_path)
    (tmp_path / "in.parquet").unlink()
    (tmp_path / "in.parquet").mkdir()
    for i, (image, boxes) in enumerate(zip(batch["X"], batch["rois"], strict=True)):
        np.savez(tmp_path / "in.parquet" / f"{i:03}.npz", X=image, rois=boxes)
    summary = run_here(tmp_path)
    assert (summary.parts, summary.written) == (3, 23)
    output = read_output(tmp_path / "out")
    assert output.pop("input_row") == [0] * 23
    names = [Path(file).stem for file in output["input_file"]]
    assert names == [f"{i:03}" for i in range(23)]
    assert_output_matches(batch, {**output, "input_row": list(range(23)), "id": batch["id"]})


def test_a_type_that_arrow_permutes(tmp_path: Path) -> None:
    batch = write_input(tmp_path)
    rows = table(batch)
    images = np.stack(batch["X"])
    permuted = pa.FixedShapeTensorArray.from_numpy_ndarray(images.transpose(0, 2, 1, 3).copy().transpose(0, 2, 1, 3))
    assert permuted.type.permutation == [1, 0, 2]
    storage = pa.struct([("data", pa.list_(pa.float32())), ("shape", pa.list_(pa.int32(), 2))])
    values = [{"data": boxes.T.ravel().tolist(), "shape": [4, len(boxes)]} for boxes in batch["rois"]]
    metadata = {
        "ARROW:extension:name": "arrow.variable_shape_tensor",
        "ARROW:extension:metadata": '{"permutation":[1,0]}',
    }
    schema = pa.schema([rows.field("id"), pa.field("X", permuted.type), pa.field("rois", storage, metadata=metadata)])
    given = pa.table([rows.column("id"), permuted, pa.array(values, storage)], schema=schema)
    pq.write_table(given, tmp_path / "in.parquet")
    run_here(tmp_path)
    assert_output_matches(batch, read_output(tmp_path / "out"))


MASKED = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    masked (float[N,1,4,6] X, bool[N,1,4,6] mask, float[R,5] rois)
    => (float[R,1,2,3] pooled, bool[N,1,4,6] others) <float[1] nothing = {0}> {
        kept = Where (mask, X, nothing)
        pooled = MaxRoiPool <pooled_shape = [2, 3]> (kept, rois)
        others = Not (mask)
    }""")


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (0, 1, 3, 2)], ids=["in order", "permuted"])
def test_bool_tensors_go_in_and_come_out(order: tuple[int, ...], tmp_path: Path) -> None:
    rng = np.random.default_rng(16)
    images, mask = rng.standard_normal((5, 1, 4, 6), np.float32), rng.random((5, 1, 4, 6)) > 0.5
    boxes = [np.array([[0, 0, 5, 3]] * (i % 3), np.float32).reshape(-1, 4) for i in range(5)]
    in_memory = mask.transpose(order)
    kind = pa.fixed_shape_tensor(pa.bool_(), in_memory.shape[1:], permutation=[axis - 1 for axis in order[1:]])
    given = {
        "X": pa.FixedShapeTensorArray.from_numpy_ndarray(images),
        "mask": pa.ExtensionArray.from_storage(
            kind, pa.FixedSizeListArray.from_arrays(pa.array(in_memory.ravel()), 24)
        ),
        "rois": pa.array([part.tolist() for part in boxes], pa.list_(pa.list_(pa.float32()))),
    }
    onnx.save_model(MASKED, tmp_path / "head.onnx")
    for expected in (~mask, mask):  # the output of the first run is the input of the second
        pq.write_table(pa.table(given), tmp_path / "in.parquet", row_group_size=2)
        run_here(tmp_path, existing="overwrite", part_rows=2)
        found = pq.read_table(tmp_path / "out").sort_by([("input_row", "ascending")])
        others = found.column("others").combine_chunks()
        np.testing.assert_array_equal(np.array(others.storage.to_pylist()).reshape(mask.shape), expected)
        for row, pooled in enumerate(arrays(found.column("pooled"))):
            kept = np.where(expected[row], 0, images[row])
            largest = kept.reshape(1, 2, 2, 3, 2).max(axis=(2, 4))
            np.testing.assert_array_equal(pooled, np.broadcast_to(largest, (len(boxes[row]), 1, 2, 3)))
        given["mask"] = others


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


# Rows that cannot be read


@pytest.mark.parametrize(
    ("rois", "said"),
    [
        ([[[0.0] * 4], None], "row 1: column 'rois' is null, expected a value"),
        ([[[0.0] * 4], [[0.0] * 4, [0.0] * 3]], "row 1: column 'rois' has lists of several lengths on one level"),
        ([[[0.0] * 4], [[0.0, None, 0.0, 0.0]]], "row 1: column 'rois' has a null among its numbers, expected none"),
        ([[[0.0] * 3], []], r"row 0: column 'rois' has shape \[1,3\], expected \(r, 4\) or \(r, 5\)"),
    ],
)
def test_rows_that_are_no_boxes(rois: list[Any], said: str, tmp_path: Path) -> None:
    rows = write_input(tmp_path, rows=2)
    boxes = pa.array(rois, pa.list_(pa.list_(pa.float32())))
    given = table(rows).set_column(2, "rois", boxes)
    pq.write_table(given, tmp_path / "in.parquet")
    with pytest.raises(InputError, match=f"in.parquet, {said}"):
        run_here(tmp_path)


@pytest.mark.parametrize("form", ["fixed", "variable"])
def test_a_tensor_with_a_null(form: str, tmp_path: Path) -> None:
    """Arrow allows it, and pyarrow reads a zero or a NaN."""
    batch = write_input(tmp_path, rows=2)
    values = [None, *np.stack(batch["X"]).ravel().tolist()[1:]]
    storage = pa.FixedSizeListArray.from_arrays(pa.array(values, pa.float32()), 3 * 12 * 16)
    images = pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(pa.float32(), (3, 12, 16)), storage)
    field = pa.field("X", images.type)
    if form == "variable":
        rows = storage.cast(pa.list_(pa.float32()))
        shapes = pa.array([[3, 12, 16]] * 2, pa.list_(pa.int32(), 3))
        images = pa.StructArray.from_arrays([rows, shapes], ["data", "shape"])
        metadata = {"ARROW:extension:name": "arrow.variable_shape_tensor", "ARROW:extension:metadata": "{}"}
        field = pa.field("X", images.type, metadata=metadata)
    pq.write_table(table(batch).set_column(1, field, images), tmp_path / "in.parquet")
    with pytest.raises(RowError, match=r"row 0: column 'X' has a null among its numbers, expected none"):
        run_here(tmp_path)
    assert run_here(tmp_path, on_error="skip", existing="overwrite").written == 1


@pytest.mark.parametrize("bad", ["a.npz", "b.npz"])
@pytest.mark.parametrize("content", [b"", b"no zip file", "x.npy", "corrupt"])
def test_an_npz_that_cannot_be_read(content: Any, bad: str, tmp_path: Path) -> None:
    write_input(tmp_path)
    folder = tmp_path / "in.parquet"
    folder.unlink()
    folder.mkdir()
    for name in ("a", "b", "c"):
        np.savez_compressed(folder / name, X=np.zeros((3, 12, 16), np.float32), rois=np.zeros((1, 4), np.float32))
    if content == "x.npy":
        np.save(tmp_path / "x.npy", np.zeros(3))
        content = (tmp_path / "x.npy").read_bytes()
    elif content == "corrupt":
        content = bytearray((folder / bad).read_bytes())
        data = 30 + int.from_bytes(content[26:28], "little") + int.from_bytes(content[28:30], "little")
        content[data : data + 20] = b"\xff" * 20  # behind the header of the first file
    (folder / bad).write_bytes(content)
    with pytest.raises(RowError, match=rf"{bad[0]}\.npz, row 0: column 'X' cannot be read: \S"):
        run_here(tmp_path)
    summary = run_here(tmp_path, on_error="skip", existing="overwrite")
    assert (summary.written, summary.failed) == (2, 1)
    assert [Path(file).name for file in read_output(tmp_path / "out")["input_file"]] == sorted(
        {"a.npz", "b.npz", "c.npz"} - {bad}
    )


def test_an_npz_that_would_run_code(tmp_path: Path) -> None:
    """Nothing is unpickled: what would run is rejected."""
    write_input(tmp_path)
    (tmp_path / "in.parquet").unlink()
    (tmp_path / "in.parquet").mkdir()
    good, bad = tmp_path / "in.parquet" / "a.npz", tmp_path / "in.parquet" / "b.npz"
    np.savez(good, X=np.zeros((3, 4, 4), np.float32), rois=np.zeros((1, 4), np.float32))
    np.savez(bad, X=np.array([Touches(tmp_path / "ran")], object), rois=np.zeros((1, 4), np.float32))
    with pytest.raises(InputError, match=r"b\.npz, row 0: column 'X' cannot be read: Object arrays cannot be loaded"):
        run_here(tmp_path)
    assert not (tmp_path / "ran").exists()


class Touches:
    """What touches a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)
