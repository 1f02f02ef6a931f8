"""`Predictor`, `collate` and `split`: rows in, each row's own outputs out, in this process and in others."""

from __future__ import annotations

import multiprocessing
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from builders import MODELS
from support.one_node import assert_same, native_rois, roi_model
from support.rows import HEAD, assert_rows_match, describe, ragged_rows

from onnx_maxpool import InputError, Predictor, RowError, collate, load, run, split
from onnx_maxpool.adapters import predictor as module
from onnx_maxpool.adapters.onnxruntime import ORT_ERRORS


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


def test_outputs_of_no_rows_go_with_those_of_others() -> None:
    """Where a row's shape is known: other columns are lists, with rows too where the shapes differ."""
    proto = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 22]>
        g (float[N,3,H,W] X) => (bfloat16[N,3,1,1] best, int64[N] first, float[N,3,H,W] same) {
            most = GlobalMaxPool (X)
            best = Cast <to = 16> (most)
            flat = Flatten <axis = 1> (X)
            first = ArgMax <axis = 1, keepdims = 0> (flat)
            same = Identity (X)
        }""")
    predictor = Predictor(proto)
    some, none = (predictor({"X": np.zeros((rows, 3, 4, 4), np.float32)}) for rows in (2, 0))
    for name, shape in {"best": (0, 3, 1, 1), "first": (0,)}.items():
        assert (none[name].shape, none[name].dtype) == (shape, some[name].dtype)
        assert_same(np.concatenate([some[name], none[name]]), some[name])
    assert none["same"] == []


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


TWO_LISTS = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
    two (float[N,3,H,W] X, float[A,5] far, float[B,4] near)
    => (float[A,3,2,2] Y, float[B,3,2,2] Z, float[M,3,2,2] all) {
        numbers = Constant <value = float[1,1] {0}> ()
        count = Shape <end = 1> (near)
        one = Constant <value_ints = [1]> ()
        rows = Concat <axis = 0> (count, one)
        batch = Expand (numbers, rows)
        rois = Concat <axis = 1> (batch, near)
        Y = MaxRoiPool <pooled_shape = [2, 2]> (X, far)
        Z = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        all = Concat <axis = 0> (Y, Z)
    }""")
"""One of them without batch numbers, so that a run has one image."""


@pytest.mark.parametrize("named", [None, "far", ("far", "near")])
def test_every_list_of_rois_is_of_its_row(named: Any) -> None:
    """Other batch numbers than 0, which a column's boxes may have, are no images."""
    batch = ragged_rows(6)
    near, far = batch["rois"], [np.insert(boxes, 0, 7, axis=1) for boxes in reversed(batch["rois"])]
    predictor = Predictor(TWO_LISTS, rois=named)
    assert [(each.kind, each.rois) for each in predictor.batching.outputs][:2] == [("roi", "far"), ("roi", "near")]
    result = predictor({"X": batch["X"], "near": near, "far": far})
    for row, image in enumerate(batch["X"]):
        feeds = {"X": image[None], "far": np.insert(far[row][:, 1:], 0, 0, axis=1), "near": near[row]}
        for name, expected in zip(("Y", "Z", "all"), run_one(TWO_LISTS, feeds), strict=True):
            assert_same(result[name][row], expected)


def test_lists_of_rois_in_one_run() -> None:
    """With batch numbers of their own, which the runs of all rows together need."""
    two = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        two (float[N,3,H,W] X, float[R,5] far, float[R,5] near) => (float[R,3,2,2] Y, float[R,3,2,2] Z) {
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, far)
            Z = MaxRoiPool <pooled_shape = [2, 2]> (X, near)
        }""")
    batch = ragged_rows(6)
    predictor = Predictor(two)
    assert not predictor.batching.one_row
    result = predictor({"X": batch["X"], "near": batch["rois"], "far": batch["rois"][::-1]})
    for row, image in enumerate(batch["X"]):
        lists = {"far": batch["rois"][5 - row], "near": batch["rois"][row]}
        feeds = {"X": image[None], **{name: np.insert(boxes, 0, 0, axis=1) for name, boxes in lists.items()}}
        for name, expected in zip(("Y", "Z"), run_one(two, feeds), strict=True):
            assert_same(result[name][row], expected)


def test_an_axis_without_a_name_counts_nothing() -> None:
    """ONNX does not know what Gelu gives, so that its first axis may be anything; here it is the channels'."""
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17, "com.microsoft": 1]>
        g (float[?,2,8,8] X) => (float[?,?] Y) {
            means = ReduceMean <axes = [2, 3], keepdims = 0> (X)
            gelu = com.microsoft.Gelu (means)
            Y = Transpose <perm = [1, 0]> (gelu)
        }""")
    x = np.random.default_rng(0).standard_normal((3, 2, 8, 8), np.float32)
    predictor = Predictor(model)
    assert [output.kind for output in predictor.batching.outputs] == ["whole"]
    for row, found in zip(x, predictor({"X": x})["Y"], strict=True):
        assert_same(found, run_one(model, {"X": row[None]})[0])


@pytest.mark.parametrize("count", [1, 2])
def test_what_a_fixed_size_counts_is_not_known(count: int) -> None:
    """One image, and as many ROIs as a constant has entries."""
    model = onnx.parser.parse_model(f"""<ir_version: 8, opset_import: ["": 17]>
        g (float[1,3,12,16] X, float[{count},5] rois) => (float[a,b,c,d] Y, float[{count}] Z) {{
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
            Z = Constant <value_floats = {[0.5] * count}> ()
        }}""")
    assert [output.kind for output in Predictor(model).batching.outputs] == ["roi", "whole"]


def test_entries_that_are_appended_make_no_other_count() -> None:
    model = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N,3,4,4] X, float[R,5] rois) => (float[M,3,4,4] all, float[R,3,2,2] Y) {
            shape = Constant <value_ints = [2, 3, 4, 4]> ()
            more = ConstantOfShape (shape)
            all = Concat <axis = 0> (X, more)
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
        }""")
    assert [output.kind for output in Predictor(model).batching.outputs] == ["whole", "roi"]


def test_images_and_rois_of_one_symbol() -> None:
    """Some exporters call every first axis the same."""
    model = onnx.ModelProto()
    model.CopyFrom(HEAD)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    batch = ragged_rows(5)
    assert_rows_match(HEAD, batch, Predictor(model)(batch))


@pytest.mark.parametrize("name", ["roi_in_function", "fast_rcnn_head"])
def test_rois_are_found_behind_functions_and_layers(name: str, tmp_path: Path) -> None:
    MODELS[name].write(tmp_path)
    found = Predictor(tmp_path / f"{name}.onnx").batching
    assert len(found.rois) == 1
    assert {output.kind for output in found.outputs} == {"roi"}


def test_a_model_without_roi_operators_just_runs_in_batches() -> None:
    proto = onnx.parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N,3] X) => (float[N,3] Y, float total) { Y = Neg (X)  total = ReduceMax <keepdims = 0> (X) }""")
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    result = Predictor(proto)({"X": x})
    np.testing.assert_array_equal(result["Y"], -x)
    assert [float(value) for value in result["total"]] == [2, 5, 8, 11]  # each row's own


# Errors


def test_an_error_of_a_row_pickles() -> None:
    error = pickle.loads(pickle.dumps(RowError({3: "is bad", 5: "too"})))
    assert (str(error), error.failures) == ("row 3: is bad; rows that fail too: 5", {3: "is bad", 5: "too"})


def test_a_model_that_cannot_be_loaded_is_no_error_of_a_row() -> None:
    model = onnx.ModelProto()
    model.CopyFrom(HEAD)
    model.graph.node.add(op_type="Foo", domain="nowhere", output=["foo"])
    model.opset_import.add(domain="nowhere", version=1)
    with pytest.raises(ORT_ERRORS, match="Foo"):
        Predictor(model)(ragged_rows(3))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Predictor(tmp_path / "none.onnx")


# Processes and threads


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


def test_collate_takes_integers_lists_and_any_byte_order() -> None:
    images = np.zeros((2, 1, 4, 4), np.float32)
    expected = [[0, 0, 1, 2, 3], [1, 0, 0, 3, 3]]
    integers = [np.array([[0, 1, 2, 3]]), np.array([[0, 0, 3, 3]])]
    for boxes, dtype in (
        (integers, np.int64),
        ([part.tolist() for part in integers], np.float32),
        ([part.astype(np.dtype(np.float64).newbyteorder()) for part in integers], np.float64),
    ):
        _, rois, counts = collate(images, boxes)
        assert (rois.dtype, rois.dtype.isnative, rois.tolist(), counts) == (dtype, True, expected, [1, 1])
    assert collate(images, [[], [[0, 0, 3, 3]]])[2] == [0, 1]
    assert collate(images, [[], np.array([[0, 0, 3, 3]])])[1].dtype == np.int64
    orders = [images[0], images[1].astype(np.dtype(np.float32).newbyteorder())]
    np.testing.assert_array_equal(collate(orders, integers)[0], images)
    assert collate(images.astype(np.dtype(np.float32).newbyteorder()), integers)[0].dtype.isnative


def test_an_output_behind_an_operator_that_onnx_does_not_know() -> None:
    """What the model declares of the value before it tells what it counts."""
    model = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 18, "com.microsoft": 1]>
        g (float[N,3,12,16] X, float[R,5] rois) => (float[a,b,c,d] Y) <float[R,3,2,2] z> {
            y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
            z = com.microsoft.Gelu (y)
            Y = Identity (z)
        }""")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    assert [output.kind for output in Predictor(model).batching.outputs] == ["roi"]


def test_a_negative_size_is_unknown() -> None:
    """As older exporters write it."""
    model = onnx.ModelProto()
    model.CopyFrom(HEAD)
    for value in model.graph.input:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_param:
                dim.dim_value = -1
    batch = ragged_rows(5)
    assert_rows_match(HEAD, batch, Predictor(model, threads=np.int64(1))(batch))
