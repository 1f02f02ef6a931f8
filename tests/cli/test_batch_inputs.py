"""What `onnx-maxpool batch` reads: tensors of every form, files of every kind, and rows that cannot be read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.batches import run_here
from support.rows import FORMS, arrays, assert_output_matches, read_output, table, write_input

from onnx_maxpool import to_portable
from onnx_maxpool.errors import InputError, RowError


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


def test_no_rows(tmp_path: Path) -> None:
    """The output has its columns all the same."""
    write_input(tmp_path)
    pq.write_table(pq.read_table(tmp_path / "in.parquet").slice(0, 0), tmp_path / "in.parquet")
    assert run_here(tmp_path).written == 0
    output = pq.read_table(tmp_path / "out")
    assert output.schema.names == ["input_file", "input_row", "id", "pooled", "best"]
    assert output.num_rows == 0


@pytest.mark.parametrize("kind", [pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str)
def test_columns_of_any_type_where_rows_are_skipped(kind: pa.DataType, tmp_path: Path) -> None:
    batch = write_input(tmp_path)
    for row in (1, 2, 6):
        batch["rois"][row] = np.full((1, 4), np.nan, np.float32)
    rows = table(batch)
    rows = rows.set_column(0, "id", pa.array(batch["id"], pa.string()).cast(kind))
    pq.write_table(rows, tmp_path / "in.parquet")
    assert run_here(tmp_path, on_error="skip").failed == 3
    ids = pq.read_table(tmp_path / "out").column("id")
    assert ids.type == kind
    assert ids.to_pylist() == [batch["id"][row] for row in range(23) if row not in (1, 2, 6)]


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


# Rows that cannot be read


def test_boxes_for_a_model_whose_operators_are_converted(tmp_path: Path) -> None:
    """Nothing in it says which input holds ROIs."""
    batch = write_input(tmp_path, rows=3)
    onnx.save_model(to_portable(tmp_path / "head.onnx"), tmp_path / "head.onnx")
    with pytest.raises(InputError, match=r"'rois' has shape \[\?,\?\], expected \[5\]; if it .* give its name as rois"):
        run_here(tmp_path)
    run_here(tmp_path, rois=("rois",))
    assert_output_matches(batch, read_output(tmp_path / "out"))


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
