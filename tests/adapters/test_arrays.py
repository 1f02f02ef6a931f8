"""`run`: whatever `session.run` takes and gives, and bfloat16; arrays of either byte order everywhere."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnxruntime as ort
import pytest
from onnx import parser
from support.rows import HEAD, assert_rows_match, ragged_rows

import onnx_maxpool
from onnx_maxpool import InputError, Predictor

OTHER_ORDER = np.dtype(np.float32).newbyteorder()


def session(graph: str) -> ort.InferenceSession:
    model = parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {graph}')
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


IDENTITY = "g (float[N] X) => (float[N] Y) { Y = Identity (X) }"
TEXTS = "g (string[N] X) => (string[N] Y) { Y = Identity (X) }"
JOINED = "g (seq(float[N]) X) => (float[M] Y) { Y = ConcatFromSequence <axis = 0> (X) }"
SPLIT = "g (float[2] X) => (seq(float[1]) Y) { Y = SplitToSequence <axis = 0> (X) }"
BESIDE = """g (bfloat16[N] X, float[2] Z) => (bfloat16[N] Y, seq(float[1]) S) {
    Y = Identity (X) S = SplitToSequence <axis = 0> (Z)
}"""


@pytest.mark.parametrize(
    ("graph", "given", "expected"),
    [
        (IDENTITY, [1.0, 2.0], [1, 2]),
        (IDENTITY, np.array([1, 2], OTHER_ORDER), [1, 2]),
        (TEXTS, np.array(["a", "b"]), ["a", "b"]),
        (TEXTS, np.array(["a", "b"]).astype(np.dtype("U1").newbyteorder()), ["a", "b"]),
        (TEXTS, ["a", "b"], ["a", "b"]),
        (TEXTS, np.array([b"abcd", b"\xc3\xa4"]), ["abcd", "ä"]),
        (TEXTS, np.array([b"abcd", "e"], object), ["abcd", "e"]),
        (JOINED, [np.array([1], np.float32), np.array([2], OTHER_ORDER)], [1, 2]),
    ],
    ids=[
        "a list",
        "other order",
        "texts",
        "texts in other order",
        "a list of texts",
        "bytes",
        "bytes among texts",
        "a sequence",
    ],
)
def test_run_takes_what_session_run_takes(graph: str, given: Any, expected: list[Any]) -> None:
    (found,) = onnx_maxpool.run(session(graph), {"X": given})
    assert found.tolist() == expected


def test_run_gives_sequences() -> None:
    (parts,) = onnx_maxpool.run(session(SPLIT), {"X": np.array([1, 2], np.float32)})
    assert [part.tolist() for part in parts] == [[1], [2]]


def test_lists_and_other_order_beside_bfloat16() -> None:
    found = session("g (bfloat16[N] X, float[N] Z) => (bfloat16[N] Y, float[N] V) { Y = Identity (X) V = Neg (Z) }")
    y, v = onnx_maxpool.run(found, {"X": [1, 2], "Z": np.array([1, 2], OTHER_ORDER)})
    assert (y.dtype, y.tolist(), v.tolist()) == (ml_dtypes.bfloat16, [1, 2], [-1, -2])


def test_an_input_that_is_an_output_is_copied() -> None:
    """As by `session.run`: the output stays as it is where the input changes or is freed."""
    both = session("g (bfloat16[N] X, float[N] Z) => (bfloat16[N] X, float[N] Z, bfloat16[N] Y) { Y = Identity (X) }")
    x, z = np.ones(4, ml_dtypes.bfloat16), np.ones(4, np.float32)
    found = onnx_maxpool.run(both, {"X": x, "Z": z})
    x[:], z[:] = 2, 2
    assert [array.tolist() for array in found] == [[1] * 4] * 3


def test_sequences_beside_bfloat16_are_refused() -> None:
    feeds = {"X": [1], "Z": [1, 2]}
    with pytest.raises(InputError, match=r"^run: output 'S' is seq\(tensor\(float\)\), expected a tensor"):
        onnx_maxpool.run(session(BESIDE), feeds)
    (y,) = onnx_maxpool.run(session(BESIDE), feeds, ["Y"])
    assert y.tolist() == [1]


def test_a_predictor_takes_the_other_order() -> None:
    batch = ragged_rows(5)
    given = {**batch, "X": np.stack(batch["X"]).astype(OTHER_ORDER)}
    given["rois"] = [boxes.astype(OTHER_ORDER) for boxes in batch["rois"]]
    assert_rows_match(HEAD, batch, Predictor(HEAD)(given))
    assert_rows_match(HEAD, batch, Predictor(HEAD)({**given, "X": list(given["X"])}))


def test_a_predictor_gives_sequences() -> None:
    model = parser.parse_model("""<ir_version: 8, opset_import: ["": 17]>
        g (float[N,1,4,4] X, float[R,5] rois) => (seq(float[n,1,2,2]) S) {
            Y = MaxRoiPool <pooled_shape = [2, 2]> (X, rois)
            S = SplitToSequence <axis = 0> (Y)
        }""")
    images = np.zeros((2, 1, 4, 4), np.float32)
    boxes = [np.zeros((count, 4), np.float32) for count in (1, 3)]
    assert [len(parts) for parts in Predictor(model)({"X": images, "rois": boxes})["S"]] == [1, 3]
