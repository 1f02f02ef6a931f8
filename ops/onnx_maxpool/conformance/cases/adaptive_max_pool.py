"""The cases of OpenVINO's AdaptiveMaxPool: rules A1 to A5, G1 to G7."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from onnx_maxpool.conformance.case import Case, Level
from onnx_maxpool.conformance.cases._building import OURS, both, make, refusal, rising
from onnx_maxpool.conformance.cases._indexed import in_type, shared_cases
from onnx_maxpool.hashing import integers
from onnx_maxpool.operators.registry import OperatorVersion, versions_of
from onnx_maxpool.types import Array

INDEXED = ("Y", "Indices")


def cases() -> Iterator[Case]:
    """Every question; indices are i32 where the type is not asked, as not every backend has i64."""
    (version,) = versions_of("org.openvinotoolkit", "AdaptiveMaxPool")
    yield from shared_cases(partial(put_rows, version))
    for element_type in version.types["T"]:
        yield from in_type(partial(put_rows, version), element_type, "A4")
    yield from ranks(version)
    yield from windows(version)
    yield from indices(version)
    yield from empty_tensors(version)
    yield from refusals(version)
    yield from random_family(version)


def put(
    version: OperatorVersion,
    topic: str,
    question: str,
    rules: str,
    x: Array,
    size: Sequence[int],
    *,
    size_type: str = "int64",
    outputs: tuple[str, ...] = INDEXED,
    level: Level = "required",
    asks: str = "",
    index: str | None = "i32",
) -> Case:
    """A case: one map, pooled to `size`; without `index` the attribute is left out."""
    attributes: dict[str, Any] = {} if index is None else {"index_element_type": index}
    return make(
        version,
        topic,
        question,
        rules,
        attributes=attributes,
        inputs={"X": x, "output_size": np.array(size, size_type)},
        outputs=outputs,
        level=level,
        asks=asks,
    )


def put_rows(version: OperatorVersion, topic: str, question: str, rules: str, x: Array, **given: Any) -> Case:
    """A case of a map whose rows are one window each."""
    return put(version, topic, question, rules, x, (x.shape[2], 1), **given)


def ranks(version: OperatorVersion) -> Iterator[Case]:
    """A1."""
    case = partial(put, version)
    yield case("rank_3", "Is one spatial dimension pooled?", "A1", both(7), (3,))
    yield case("rank_4", "Are two spatial dimensions pooled, height first?", "A1", both(4, 5), (2, 3))
    yield case("rank_5", "Are three spatial dimensions pooled, depth first?", "A1", both(2, 3, 4), (1, 2, 3))
    yield case("size_int32", "May the output size be int32?", "A1", both(7), (3,), size_type="int32")
    yield case("values_alone", "May the index be left out?", "A3", both(4, 5), (2, 3), outputs=("Y",))


PAIRS = ((7, 3), (3, 7), (5, 5), (9, 1), (4, 28), (30, 22), (3, 15))
"""Input and output sizes: overlapping windows, more windows than cells, and edges that float arithmetic gets wrong."""


def windows(version: OperatorVersion) -> Iterator[Case]:
    """A2."""
    for size, count in PAIRS:
        yield put(
            version,
            f"windows_{size}_to_{count}",
            f"Are {size} cells shared out to {count} windows exactly?",
            "A2, G1",
            both(size),
            (count,),
            asks="" if count == 1 else "edges, start, end",
        )


def indices(version: OperatorVersion) -> Iterator[Case]:
    """A3 and G5."""
    case = partial(put, version)
    yield case(
        "index_per_channel",
        "Does the index start anew in every channel of every image?",
        "A3",
        rising(2, 2, 3),
        (1,),
        asks="index scope",
    )
    yield case(
        "index_row_major", "Does the index count in row-major order?", "A3", both(3, 4), (2, 2), asks="index scope"
    )
    yield case(
        "index_of_volume",
        "Does the index of a volume count so too?",
        "A3",
        both(2, 3, 4),
        (2, 2, 2),
        asks="index scope",
    )
    yield case("index_i64", "Does index_element_type i64 give int64?", "A3", both(4), (2,), index="i64")
    yield case("index_default", "Is the index int64 by default?", "A3", both(4), (2,), index=None)
    tied = np.array([[1, 5, 2], [5, 5, 5], [3, 5, 4]], np.float32)[None, None]
    yield case(
        "first_of_rows", "Is the index that of the first equal cell, row by row?", "G5", tied, (1, 1), asks="tie"
    )


def empty_tensors(version: OperatorVersion) -> Iterator[Case]:
    """G7."""
    yield put(version, "no_images", "Do zero images give an empty output?", "G7", both(2, 3)[:0], (2, 2))
    yield put(version, "no_channels", "Do zero channels give an empty output?", "G7", both(2, 3)[:, :0], (2, 2))


def refusals(version: OperatorVersion) -> Iterator[Case]:
    """A1, A3, A4, A5."""
    control = put(version, "control", "", "A1", both(4, 5), (2, 2))
    refuse = partial(refusal, control)
    x = control.inputs["X"]
    yield refuse("rank_2", "Is an input of rank 2 rejected?", "A1", inputs={"X": x[0, 0]})
    yield refuse("rank_6", "Is an input of rank 6 rejected?", "A1", inputs={"X": x[..., None, None]})
    yield refuse(
        "size_too_short", "Is one size for two dimensions rejected?", "A1", inputs={"output_size": np.array([2])}
    )
    yield refuse("size_0", "Is an output size of 0 rejected?", "A1", inputs={"output_size": np.array([2, 0])})
    yield refuse(
        "size_negative", "Is a negative output size rejected?", "A1", inputs={"output_size": np.array([-1, 2])}
    )
    yield refuse(
        "size_of_float",
        "Is an output size in float rejected?",
        "A1",
        inputs={"output_size": np.array([2, 2], np.float32)},
    )
    yield refuse("integers", "Is an input of int32 rejected?", "A4", inputs={"X": x.astype(np.int32)})
    yield refuse(
        "index_type_unknown", "Is index_element_type u32 rejected?", "A3", attributes={"index_element_type": "u32"}
    )
    yield refuse(
        "no_cells",
        "Is a spatial dimension of 0 rejected?",
        "A5",
        inputs={"X": x[..., :0]},
        level=OURS,
        asks="no cells",
    )


RANDOM_CASES = 12


def random_family(version: OperatorVersion) -> Iterator[Case]:
    """Breadth: random maps of few values, so that ties are common."""
    for number in range(RANDOM_CASES):
        yield random_case(version, number)


def random_case(version: OperatorVersion, number: int) -> Case:
    """One to three dimensions, pooled to fewer cells or to more."""
    seed = 9000 + 10 * number
    rank = 1 + number % 3
    dims, size = (integers(seed + i, (rank,), 1, 9 - 2 * rank + 4).tolist() for i in (0, 1))
    x = integers(seed + 2, (2, 2, *dims), -4, 5).astype(np.float32)
    return put(
        version,
        f"random_{number:02}",
        f"Is a map of {dims} pooled to {size} as the rules say?",
        "G1, G2, G5, A1, A2, A3",
        x,
        size,
    )
