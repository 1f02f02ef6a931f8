"""A row's outputs do not depend on the rows that run with it: what `Predictor` runs one by one, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from support.one_node import assert_same

from onnx_maxpool import InputError, Predictor, to_portable

HEADER = '<ir_version: 10, opset_import: ["": 21, "directml": 5]>'
POOL = "pooled = MaxRoiPool <pooled_shape = [1, 1]> (X, boxes)"


def model(text: str) -> onnx.ModelProto:
    return onnx.parser.parse_model(f"{HEADER} {text}")


def assert_rows_get_what_they_get_alone(predictor: Predictor, batch: dict[str, Any]) -> None:
    together = predictor(batch)
    for row in range(len(next(iter(batch.values())))):
        alone = predictor({name: values[row : row + 1] for name, values in batch.items()})
        for output in predictor.batching.outputs:
            assert_same(together[output.name][row], alone[output.name][0])


def images(count: int, *shape: int) -> list[np.ndarray[Any, Any]]:
    return list(np.random.default_rng(0).standard_normal((count, *shape), np.float32))


INDICES = """g (float[N,1,4,4] X) => (float[N,1,2,2] Y, {result}) {{
    Y, places = {pooling} (X)
    {use}
}}"""
MAX_POOL, MAX_POOLING = (
    "MaxPool <kernel_shape = [2, 2], strides = [2, 2]>",
    "directml.MaxPooling1 <window_size = [2, 2], strides = [2, 2]>",
)
AS_FLOAT = "Z = Cast <to = 1> (places)"
UNPOOLED = "same = Identity (places)  Z = MaxUnpool <kernel_shape = [2, 2], strides = [2, 2]> (Y, same)"


@pytest.mark.parametrize(
    ("pooling", "use", "side", "is_apart"),
    [
        (MAX_POOL, AS_FLOAT, 2, True),
        (MAX_POOLING, AS_FLOAT, 2, True),
        (MAX_POOL, UNPOOLED, 4, False),
        (MAX_POOL, "Z = Neg (X)", 4, False),
    ],
)
def test_indices_that_count_over_the_batch(pooling: str, use: str, side: int, is_apart: bool) -> None:
    """P5; MaxUnpool reads them in the same batch."""
    predictor = Predictor(model(INDICES.format(pooling=pooling, use=use, result=f"float[N,1,{side},{side}] Z")))
    assert predictor.batching.one_row == is_apart
    assert_rows_get_what_they_get_alone(predictor, {"X": images(3, 1, 4, 4)})


def test_indices_in_a_function() -> None:
    predictor = Predictor(
        onnx.parser.parse_model("""<ir_version: 10, opset_import: ["": 21, "local": 1]>
        g (float[N,1,4,4] X) => (int64[N,1,2,2] Z) { Z = local.places (X) }
        <domain: "local", opset_import: ["": 21]>
        places (x) => (i) { y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }""")
    )
    assert_rows_get_what_they_get_alone(predictor, {"X": images(3, 1, 4, 4)})


@pytest.mark.parametrize("back", ["boxes = Identity (narrow)", "boxes = Cast <to = 1> (narrow)"])
def test_batch_numbers_in_a_narrower_type(back: str) -> None:
    """As `keep_io_types` of a converter to float16 has it: the last whole number of float16 is 2048."""
    kind = 10 if "Identity" in back else 1
    predictor = Predictor(
        model(f"""g (float[N,1,1,1] image, float[R,5] rois) => (float[R,1,1,1] Y) {{
            narrow = Cast <to = 10> (rois)
            {back}
            X = Cast <to = {kind}> (image)
            {POOL}
            Y = Cast <to = 1> (pooled)
        }}""")
    )
    count = 2100
    image = np.arange(count, dtype=np.float32).reshape(count, 1, 1, 1) % 2000
    result = predictor({"image": image, "rois": [np.zeros((1, 4), np.float32)] * count})["Y"]
    assert_same(np.concatenate(result), image)


def test_batch_numbers_whose_types_are_not_known() -> None:
    """Of a converted model, in which no operator tells what reads them."""
    plain = to_portable(model(f"g (float[N,1,1,1] X, float[R,5] boxes) => (float[R,1,1,1] pooled) {{ {POOL} }}"))
    count = 300
    x = np.arange(count, dtype=np.float32).reshape(count, 1, 1, 1)
    predictor = Predictor(plain, rois="boxes")
    assert "bfloat16" in predictor.batching.number_types
    result = predictor({"X": x, "boxes": [np.zeros((1, 4), np.float32)] * count})["pooled"]
    assert_same(np.concatenate(result), x)


def test_rows_with_several_images() -> None:
    """A batch number is that of a row."""
    frames = model(f"""g (float[N,4,C,H,W] clips, float[R,5] boxes) => (float[R,C,1,1] pooled) {{
        tail = Shape <start = 2> (clips)
        all = Constant <value_ints = [-1]> ()
        shape = Concat <axis = 0> (all, tail)
        X = Reshape (clips, shape)
        {POOL}
    }}""")
    boxes = [np.array([[0, 0, 4, 4]], np.float32)] * 3
    assert_rows_get_what_they_get_alone(Predictor(frames), {"clips": images(3, 4, 1, 5, 5), "boxes": boxes})
    pairs = model(f"""g (float[N,6,5,5] pairs, float[R,5] boxes) => (float[R,3,1,1] pooled) {{
        shape = Constant <value_ints = [-1, 3, 5, 5]> ()
        X = Reshape (pairs, shape)
        {POOL}
    }}""")
    assert_rows_get_what_they_get_alone(Predictor(pairs), {"pairs": images(3, 6, 5, 5), "boxes": boxes})


KEEPING = {
    "a cast": "boxes = Cast <to = 1> (rois)",
    "a scale of the boxes": "c = Constant <value_floats = [1.0, 0.5, 0.5, 0.5, 0.5]> ()  boxes = Mul (rois, c)",
    "columns apart": "a, b = Split <axis = 1> (rois, sizes)  d = Mul (b, half)  boxes = Concat <axis = 1> (a, d)",
    "slices": """a = Slice (rois, zero, one, one)  b = Slice (rois, one, five, one)  d = Mul (b, half)
        boxes = Concat <axis = -1> (a, d)""",
    "rows that are chosen": "boxes = Gather <axis = 0> (rois, zero)",
    "a shape": "f = Unsqueeze (rois, zero)  g = Squeeze (f, zero)  boxes = Identity (g)",
    "a branch": """boxes = If (yes) <
        then_branch = g () => (float[R,5] t) { t = Identity (rois) },
        else_branch = g () => (float[R,5] e) { e = Mul (rois, unit) }>""",
}
LOSING = {
    "zeros of the model's own": """b = Slice (rois, zero, four, one)  a = Slice (rois, zero, one, one)
        z = Sub (a, a)  boxes = Concat <axis = 1> (z, b)""",
    "an order of its own": "boxes = Gather <axis = 1> (rois, order)",
    "a scale of all columns": "boxes = Mul (rois, half)",
    "the last columns": "l = Slice (rois, one, five, one)  boxes = Concat <axis = 1> (l, first)",
}


def head(columns: str) -> onnx.ModelProto:
    return model(f"""g (float[N,1,H,W] X, float[R,5] rois) => (float[M,1,1,1] pooled)
        <int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] four = {{4}}, int64[1] five = {{5}},
         int64[2] sizes = {{1, 4}}, int64[5] order = {{4, 0, 1, 2, 3}}, float half = {{0.5}}, float unit = {{1.0}},
         float[1,1] first = {{0}}, bool yes = {{1}}> {{ {columns}  {POOL} }}""")


@pytest.mark.parametrize("columns", KEEPING.values(), ids=KEEPING)
def test_batch_numbers_that_stay_in_their_column(columns: str) -> None:
    assert [each.kind for each in Predictor(head(columns)).batching.inputs] == ["row", "rois"]


@pytest.mark.parametrize("columns", LOSING.values(), ids=LOSING)
def test_a_first_column_that_holds_something_else(columns: str) -> None:
    """For instance of detections: x1, y1, x2, y2 and a score."""
    with pytest.raises(
        InputError, match=r"may not be the first column of input 'rois', .* give the input's name as rois"
    ):
        Predictor(head(columns))
    assert [each.kind for each in Predictor(head(columns), rois="rois").batching.inputs] == ["row", "rois"]
