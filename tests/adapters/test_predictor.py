"""`Predictor`, `collate` and `split`: rows in, each row's own outputs out, in this process and in others."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnxruntime as ort
import pytest
from builders import MODELS
from support.one_node import assert_same, native_rois, roi_model
from support.ragged import HEAD, assert_rows_match, ragged_rows

from onnx_maxpool import InputError, Predictor, RowError, collate, load, run, split
from onnx_maxpool.adapters import predictor as module


def test_each_row_gets_its_own() -> None:
    batch = ragged_rows(9)
    result = Predictor(HEAD)(batch)
    assert list(result) == ["id", "pooled", "best"]
    assert_rows_match(HEAD, batch, result)
    assert [part.shape for part in result["pooled"][:3]] == [(0, 3, 2, 3), (1, 3, 2, 3), (2, 3, 2, 3)]
    assert result["best"].shape == (9, 3, 1, 1)


def test_images_of_several_sizes_are_grouped_and_keep_their_order() -> None:
    batch = ragged_rows(10, ((3, 12, 16), (3, 9, 16), (3, 20, 5)))
    assert_rows_match(HEAD, batch, Predictor(HEAD)(batch))


@pytest.mark.parametrize("form", ["an array", "an object array", "nested lists", "a list of five columns"])
def test_columns_come_in_many_forms(form: str) -> None:
    batch = ragged_rows(6)
    boxes = batch["rois"]
    given: dict[str, Any] = dict(batch)
    if form == "an array":
        given["X"] = np.stack(batch["X"])
    elif form == "an object array":  # as Ray gives ragged columns
        given["rois"] = np.empty(6, object)
        given["rois"][:] = boxes
        given["X"] = np.empty(6, object)
        for i, image in enumerate(batch["X"]):
            given["X"][i] = image
    elif form == "nested lists":
        given["rois"] = [part.tolist() for part in boxes]
        given["X"] = [image.tolist() for image in batch["X"]]
    else:
        given["rois"] = [np.insert(part, 0, 77, axis=1) for part in boxes]
    assert_rows_match(HEAD, batch, Predictor(HEAD)(given))


def test_no_rows() -> None:
    result = Predictor(HEAD)({"X": [], "rois": [], "id": []})
    assert {name: len(values) for name, values in result.items()} == {"id": 0, "pooled": 0, "best": 0}


@pytest.mark.parametrize("name", [name for name in MODELS if name.startswith(("max_roi_pool", "roi_pooling"))])
def test_every_version_and_type(name: str) -> None:
    """RoiPooling's (1, 1, R, 5) and bfloat16 too."""
    proto, inputs = MODELS[name].builder(), MODELS[name].inputs()
    rois = inputs["rois"].reshape(-1, 5)
    own = [rois[rois[:, 0].astype(int) == i] for i in range(len(inputs["X"]))]
    result = Predictor(proto)({"X": inputs["X"], "rois": own})["Y"]
    for image, boxes, found in zip(inputs["X"], own, result, strict=True):
        boxes = boxes.copy()
        boxes[:, 0] = 0
        leading = inputs["rois"].shape[:-2]
        (expected,) = run_one(proto, {"X": image[None], "rois": boxes.reshape(*leading, *boxes.shape)})
        assert_same(found, expected)


def run_one(proto: onnx.ModelProto, inputs: dict[str, Any]) -> list[Any]:
    return run(load(proto), inputs)


def test_no_more_images_run_together_than_their_type_numbers() -> None:
    """bfloat16 has whole numbers up to 256: a batch number beyond would round to another image's."""
    count = 600
    x = np.arange(count, dtype=np.float32).reshape(count, 1, 1, 1).repeat(4, 2).astype(ml_dtypes.bfloat16)
    boxes = [np.zeros((1, 4), ml_dtypes.bfloat16)] * count
    proto = MODELS["max_roi_pool_22_bfloat16"].builder()
    result = Predictor(proto)({"X": x, "rois": boxes})["Y"]
    for image, found in zip(x, result, strict=True):
        assert_same(found[0, 0, 0, 0], image[0, 0, 0])
    with pytest.raises(InputError, match="600 images, expected at most 257 with bfloat16 boxes"):
        collate(x, boxes)


def test_a_model_that_fixes_its_batch_runs_row_by_row() -> None:
    text = onnx.printer.to_text(HEAD).replace("[N,C,H,W] X", "[1,3,H,W] X").replace("[N,C,1,1]", "[1,C,1,1]")
    proto = onnx.parser.parse_model(text)
    batch = ragged_rows(5)
    assert Predictor(proto).batching.one_row
    assert_rows_match(HEAD, batch, Predictor(proto)(batch))


def test_an_output_of_which_nothing_is_known_comes_whole() -> None:
    proto = roi_model(pooled_shape=(2, 3), spatial_scale=0.5)  # declares types and no shapes
    batch = ragged_rows(4)
    result = Predictor(proto)({"X": batch["X"], "rois": batch["rois"]})["Y"]
    for image, boxes, found in zip(batch["X"], batch["rois"], result, strict=True):
        assert_same(found, native_rois(proto, image[None], np.insert(boxes, 0, 0, axis=1)))


def test_rows_that_differ_in_an_input_of_the_whole_run_run_apart() -> None:
    proto = MODELS["roi_in_if"].builder()
    batch = ragged_rows(6)
    columns = {"X": batch["X"], "rois": batch["rois"], "mirrored": [True, False, True, True, False, True]}
    result = Predictor(proto)(columns)["Y"]
    for image, boxes, mirrored, found in zip(*columns.values(), result, strict=True):
        feeds = {"X": image[None], "rois": np.insert(boxes, 0, 0, axis=1), "mirrored": np.array(mirrored)}
        assert_same(found, run_one(proto, feeds)[0])


def test_boxes_without_batch_numbers_run_row_by_row() -> None:
    proto = MODELS["roi_in_function"].builder()
    inputs = MODELS["roi_in_function"].inputs()
    fine = [inputs["fine"][0], inputs["fine"][0][..., ::-1]]
    boxes = [inputs["boxes"], inputs["boxes"][:1]]
    columns = {"fine": fine, "coarse": [inputs["coarse"][0]] * 2, "boxes": boxes}
    result = Predictor(proto)(columns)["Y"]
    for fine_row, boxes_row, found in zip(fine, boxes, result, strict=True):
        feeds = {"fine": fine_row[None], "coarse": inputs["coarse"], "boxes": boxes_row}
        assert_same(found, run_one(proto, feeds)[0])


@pytest.mark.parametrize("name", ["roi_in_function", "fast_rcnn_head"])
def test_rois_are_found_behind_functions_and_layers(name: str, tmp_path: Path) -> None:
    MODELS[name].write(tmp_path)
    found = Predictor(tmp_path / f"{name}.onnx").batching
    assert found.rois is not None
    assert {output.kind for output in found.outputs} == {"roi"}


def test_a_model_without_roi_operators_just_runs_in_batches() -> None:
    proto = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N,3] X) => (float[N,3] Y, float total) { Y = Neg (X)  total = ReduceMax <keepdims = 0> (X) }""")
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    result = Predictor(proto)({"X": x})
    np.testing.assert_array_equal(result["Y"], -x)
    assert [float(value) for value in result["total"]] == [2, 5, 8, 11]  # each row's own


# Errors


def bad_batches() -> Iterator[Any]:
    def case(what: str, error: type[Exception], said: str, **columns: Any) -> Any:
        return pytest.param(columns, error, said, id=what)

    good = ragged_rows(4)
    images, boxes = good["X"], good["rois"]
    yield case("a column missing", InputError, "the batch has no column 'rois', only id or X", X=images, rois=None)
    yield case("an output's name", InputError, "the batch has a column 'pooled', expected none", pooled=[0] * 4)
    yield case("lengths", InputError, "column 'rois' has 3 rows, expected 4, as column 'id' has", rois=boxes[:3])
    double = np.zeros((4, 3, 4, 4))
    yield case("another type", InputError, "column 'X' is double, expected float", X=double)
    yield case(
        "a row of another type", RowError, "row 2: column 'X' is double, expected float", X=at(images, 2, double[0])
    )
    yield case(
        "boxes of three columns",
        RowError,
        r"row 1: column 'rois' has shape \[2,3\], expected \(r, 4\) or \(r, 5\)",
        rois=at(boxes, 1, np.zeros((2, 3), np.float32)),
    )
    yield case(
        "an image's rank",
        RowError,
        r"row 3: column 'X' has shape \[12,16\], expected \[C,H,W\]",
        X=at(images, 3, images[0][0]),
    )
    nan = np.full((1, 4), np.nan, np.float32)
    yield case(
        "what the operator rejects",
        RowError,
        "row 0: MaxRoiPool: rois row 0 has x1 nan, expected a number; rows that fail too: 2",
        rois=at(at(boxes, 0, nan), 2, nan),
    )
    said = r"row 1: column 'rois' has parts of shapes \[4\] and \[3\]"
    yield case("ragged lists", RowError, said, rois=at(boxes, 1, [[0] * 4, [0] * 3]))
    yield case("words", RowError, "row 1: column 'rois' is string, expected float", rois=at(boxes, 1, ["a"]))


def at(values: list[Any], row: int, value: Any) -> list[Any]:
    return [*values[:row], value, *values[row + 1 :]]


@pytest.mark.parametrize(("columns", "error", "said"), list(bad_batches()))
def test_bad_batches(columns: dict[str, Any], error: type[Exception], said: str) -> None:
    batch = {name: values for name, values in {**ragged_rows(4), **columns}.items() if values is not None}
    with pytest.raises(error, match=said) as found:
        Predictor(HEAD)(batch)
    assert type(found.value) is error


def test_an_error_of_a_row_pickles() -> None:
    error = pickle.loads(pickle.dumps(RowError({3: "is bad", 5: "too"})))
    assert (str(error), error.failures) == ("row 3: is bad; rows that fail too: 5", {3: "is bad", 5: "too"})


TWO_INPUTS = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    g (float[N,C,H,W] X, float[A,5] first, float[B,5] second) => (float[R,C,2,2] Y) {
        rois = Concat <axis = 0> (first, second)
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
    }""")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"model": TWO_INPUTS}, "ROIs may come from the inputs first or second, expected one: name it with rois"),
        ({"model": HEAD, "rois": "boxes"}, "rois is 'boxes', expected an input of the model: X or rois"),
        ({"model": HEAD, "threads": -1}, "threads is -1, expected an integer from 0 to 1024"),
        ({"model": HEAD, "session_options": ort.SessionOptions()}, "session_options is no mapping"),
        ({"model": HEAD, "session_options": {"threads": 3}}, "session_options has 'threads', expected an attribute"),
        ({"model": HEAD, "session_options": {"intra_op_num_threads": "x"}}, "has 'x' for 'intra_op_num_threads'"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        Predictor(**arguments)


def test_a_fixed_batch_that_rows_cannot_fill() -> None:
    proto = onnx.parser.parse_model(onnx.printer.to_text(HEAD).replace("[N,C,H,W] X", "[8,3,H,W] X"))
    with pytest.raises(InputError, match=r"input 'X' has shape \[8,3,H,W\], expected a batch of 1 or of any size"):
        Predictor(proto)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Predictor(tmp_path / "none.onnx")


# Processes and threads


def describe(predictor: Predictor, batch: dict[str, Any]) -> tuple[dict[str, Any], int]:
    return predictor(batch), predictor.session.get_session_options().intra_op_num_threads


@pytest.mark.parametrize("kind", ["path", "bytes", "ModelProto"])
@pytest.mark.parametrize("method", ["spawn", "fork"])
def test_it_pickles_and_forks(kind: str, method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    onnx.save_model(HEAD, tmp_path / "head.onnx")
    monkeypatch.chdir(tmp_path)
    given: Any = {"path": "head.onnx", "bytes": HEAD.SerializeToString(), "ModelProto": HEAD}[kind]
    predictor = Predictor(given, threads=2, session_options={"session.intra_op.allow_spinning": "0"})
    batch = ragged_rows(5)
    here = predictor(batch)  # its session stays here
    monkeypatch.chdir("/")  # a relative path means the same in another folder
    with ProcessPoolExecutor(1, multiprocessing.get_context(method)) as pool:
        there, threads = pool.submit(describe, predictor, batch).result()
    assert threads == 2
    for name in ("pooled", "best"):
        for a, b in zip(here[name], there[name], strict=True):
            assert_same(a, b)


def test_many_threads_make_one_session(monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    monkeypatch.setattr(
        module, "load", lambda *args, _load=module.load, **options: made.append(1) or _load(*args, **options)
    )
    predictor, batch = Predictor(HEAD), ragged_rows(4)
    assert not made
    start = threading.Barrier(8)

    def call(_: int) -> dict[str, Any]:
        start.wait()
        return predictor(batch)

    with ThreadPoolExecutor(8) as pool:
        for result in pool.map(call, range(8)):
            assert_rows_match(HEAD, batch, result)
    assert len(made) == 1


# collate and split


def test_collate_and_split() -> None:
    batch = ragged_rows(6)
    x, rois, counts = collate(batch["X"], batch["rois"])
    assert (x.shape, rois.shape, counts) == ((6, 3, 12, 16), (7, 5), [0, 1, 2, 3, 0, 1])
    np.testing.assert_array_equal(rois[:, 0], [1, 2, 2, 3, 3, 3, 5])
    for part, boxes in zip(split(rois, counts), batch["rois"], strict=True):
        np.testing.assert_array_equal(part[:, 1:], boxes)
    assert collate(x, batch["rois"])[0] is x


def test_what_collate_and_split_reject() -> None:
    image, boxes = np.zeros((1, 4, 4), np.float32), np.zeros((1, 4), np.float32)
    with pytest.raises(RowError, match=r"row 1: is float \[1,4,5\], expected float \[1,4,4\], as row 0 is"):
        collate([image, np.zeros((1, 4, 5), np.float32)], [boxes, boxes])
    with pytest.raises(RowError, match=r"row 1: boxes are float \[4\], expected \(r, 4\) or \(r, 5\)"):
        collate([image, image], [boxes, boxes[0]])
    with pytest.raises(RowError, match=r"row 1: boxes are double.*, expected float, as those of row 0 are"):
        collate([image, image], [boxes, boxes.astype(np.float64)])
    with pytest.raises(InputError, match="2 images and 1 boxes, expected one of each per row"):
        collate([image, image], [boxes])
    with pytest.raises(InputError, match=r"split: the output has shape \[3,2\], expected 4 entries"):
        split(np.zeros((3, 2)), [1, 3])
