"""The cases of DirectML's MaxPooling1: rules P1 to P6, G1 to G7."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from onnx_maxpool.conformance.case import Case, Level
from onnx_maxpool.conformance.cases._building import INF, OURS, both, line, make, refusal, rising
from onnx_maxpool.conformance.cases._indexed import in_type, shared_cases
from onnx_maxpool.conformance.cases._max_pool import as_max_pool, with_default_strides
from onnx_maxpool.hashing import integers
from onnx_maxpool.operators.registry import OperatorVersion, versions_of
from onnx_maxpool.types import Array

INDEXED = ("Y", "Indices")


def cases() -> Iterator[Case]:
    """Every question to the newest version; types and what differs to the older."""
    versions = versions_of("directml", "MaxPooling1")
    for version in versions:
        for element_type in version.types["T"]:
            yield from in_type(partial(put, version), element_type, "P6")
        control = put(version, "control", "", "P6", rising(1, 1, 1, 4))
        yield from newer_features(version, control)
    newest = versions[-1]
    yield from shared_cases(partial(put, newest))
    yield from windows(newest)
    yield from values_alone(newest)
    yield from padding(newest)
    yield from indices(newest)
    yield from empty_tensors(newest)
    yield from refusals(newest)
    yield from random_family(newest)


def put(
    version: OperatorVersion,
    topic: str,
    question: str,
    rules: str,
    x: Array,
    window: tuple[int, ...] = (1, 4),
    *,
    outputs: tuple[str, ...] = INDEXED,
    level: Level = "required",
    asks: str = "",
    **attributes: Any,
) -> Case:
    """A case of a version: one map, and by default windows of 1 x 4."""
    case = make(
        version,
        topic,
        question,
        rules,
        attributes={"window_size": list(window), **attributes},
        inputs={"X": x},
        outputs=outputs,
        level=level,
        asks=asks,
    )
    return replace(case, restate=as_max_pool)


def windows(version: OperatorVersion) -> Iterator[Case]:
    """P1 to P4."""
    case = partial(put, version)
    yield case("rank_4", "Does a window slide over height and width, by 1?", "P1, P2", both(3, 4), (2, 3))
    yield case("rank_5", "Does a window slide over depth, height and width?", "P1", both(3, 2, 3), (2, 2, 2))
    yield case("height_first", "Is window_size given as height, then width?", "P2", both(3, 4), (3, 1))
    yield case(
        "strides", "Are strides given per dimension, height first?", "P2, P4", both(5, 7), (1, 2), strides=[2, 3]
    )
    absent = case("strides_absent", "Does a window slide by 1 where no strides are given?", "P2", both(3, 4), (2, 2))
    yield replace(absent, restate=with_default_strides)
    yield case("stride_beyond_window", "Are cells between windows left out?", "P4", both(1, 7), (1, 1), strides=[1, 3])
    yield case(
        "size_rounded_down",
        "Is the output's size rounded down, so that the last cells are in no window?",
        "P3",
        both(1, 6),
        (1, 3),
        strides=[1, 2],
        asks="count",
    )
    yield case("window_is_map", "May a window be the whole map?", "P3", both(2, 3), (2, 3))


def values_alone(version: OperatorVersion) -> Iterator[Case]:
    """Questions that have nothing to do with the index, which many a runtime answers by another kernel without it."""
    case = partial(put, version, outputs=("Y",))
    yield case("values_alone", "May the index be left out?", "P5", both(3, 4), (2, 2))
    yield case(
        "values_alone_minus_infinity",
        "What is the maximum of cells that are all -inf, where no index is asked for?",
        "G2",
        line(*[-INF] * 4),
        asks="minimum",
    )
    yield case(
        "values_alone_volume",
        "Does a window slide over depth, height and width, where no index is asked for?",
        "P1",
        both(3, 2, 3),
        (2, 2, 2),
    )
    yield case(
        "values_alone_padding",
        "Do paddings at all ends move the windows, and do they never win, where no index is asked for?",
        "P4, G1",
        -both(3, 4),
        (3, 3),
        start_padding=[1, 2],
        end_padding=[2, 1],
        asks="padding",
    )


def padding(version: OperatorVersion) -> Iterator[Case]:
    """P2, P4, G1."""
    case = partial(put, version)
    yield case(
        "start_padding",
        "Does start_padding move the first window out of the map, and does padding never win?",
        "P4, G1",
        -both(1, 4),
        (1, 2),
        start_padding=[0, 1],
        asks="padding",
    )
    yield case(
        "end_padding",
        "Does end_padding add a last window, and does padding never win?",
        "P4, G1",
        -both(1, 4),
        (1, 2),
        end_padding=[0, 1],
        asks="padding",
    )
    yield case(
        "unequal_padding",
        "May both ends and both axes be padded differently?",
        "P2, P4, G1",
        -both(3, 4),
        (3, 4),
        start_padding=[2, 0],
        end_padding=[1, 3],
        strides=[2, 1],
        asks="padding",
    )
    yield case(
        "size_with_padding",
        "Do paddings count for the output's size, which is rounded down?",
        "P3",
        both(1, 4),
        (1, 3),
        start_padding=[0, 1],
        end_padding=[0, 2],
        strides=[1, 3],
        asks="count",
    )


def indices(version: OperatorVersion) -> Iterator[Case]:
    """P5 and G5."""
    case = partial(put, version)
    yield case(
        "index_of_whole_input",
        "Does the index count through all images and channels?",
        "P5",
        rising(2, 2, 1, 3),
        (1, 3),
        asks="index scope",
    )
    yield case(
        "index_row_major", "Does the index count in row-major order?", "P5", both(3, 4), (2, 2), asks="index scope"
    )
    yield case(
        "index_with_padding",
        "Does the index count cells of the map, without the padding?",
        "P5, P4",
        both(2, 3),
        (2, 2),
        start_padding=[1, 1],
    )
    yield case(
        "index_of_volume",
        "Does the index of a volume count in row-major order?",
        "P5",
        both(2, 2, 3),
        (2, 1, 2),
        asks="index scope",
    )
    tied = np.array([[1, 5, 2], [5, 5, 5], [3, 5, 4]], np.float32)[None, None]
    yield case(
        "first_of_rows", "Is the index that of the first equal cell, row by row?", "G5", tied, (3, 3), asks="tie"
    )
    if "uint64" in version.index_types:
        yield case(
            "index_u64", "Does index_element_type u64 give uint64?", "P5", both(1, 4), (1, 2), index_element_type="u64"
        )
        yield case(
            "index_u32", "Does index_element_type u32 give uint32?", "P5", both(1, 4), (1, 2), index_element_type="u32"
        )


def empty_tensors(version: OperatorVersion) -> Iterator[Case]:
    """G7."""
    yield put(version, "no_images", "Do zero images give an empty output?", "G7", both(2, 3)[:0], (2, 2))
    yield put(version, "no_channels", "Do zero channels give an empty output?", "G7", both(2, 3)[:, :0], (2, 2))


def refusals(version: OperatorVersion) -> Iterator[Case]:
    """P1 to P3."""
    control = put(
        version,
        "control",
        "",
        "P2",
        both(3, 4),
        (2, 2),
        strides=[1, 1],
        start_padding=[0, 0],
        end_padding=[0, 0],
    )
    refuse = partial(refusal, control)
    x = control.inputs["X"]
    yield refuse("rank_3", "Is an input of rank 3 rejected?", "P1", inputs={"X": x[0]})
    yield refuse(
        "rank_for_window", "Is a volume with a window of two sides rejected?", "P1", inputs={"X": x[..., None]}
    )
    yield refuse("no_window", "Is a node without window_size rejected?", "P2", attributes={"window_size": None})
    yield refuse("window_0", "Is a window with a side of 0 rejected?", "P2", attributes={"window_size": [2, 0]})
    yield refuse("window_of_one", "Is a window_size of one number rejected?", "P1", attributes={"window_size": [2]})
    yield refuse("stride_0", "Is a stride of 0 rejected?", "P2", attributes={"strides": [1, 0]})
    yield refuse("strides_of_one", "Are strides of one number rejected?", "P2", attributes={"strides": [1]})
    yield refuse("padding_negative", "Is a negative padding rejected?", "P2", attributes={"start_padding": [0, -1]})
    yield refuse("no_window_fits", "Is a map smaller than the window rejected?", "P3", inputs={"X": x[..., :1]})
    for name in ("start_padding", "end_padding"):
        yield refuse(
            f"{name}_of_window",
            f"Is an {name} as large as the window, which makes a window of nothing but padding, rejected?".replace(
                "an s", "a s"
            ),
            "P2",
            attributes={name: [0, 2]},
            level=OURS,
            asks="large padding",
        )
    yield refuse(
        "index_type_unknown", "Is index_element_type i64 rejected?", "P5", attributes={"index_element_type": "i64"}
    )


def newer_features(version: OperatorVersion, control: Case) -> Iterator[Case]:
    """P5 and P6: what a later version brings is rejected by this one."""
    newest = versions_of("directml", "MaxPooling1")[-1]
    later = [name for name in newest.types["T"] if name not in version.types["T"]]
    for name in (*later[:1], *later[-1:], "float64"):
        yield refusal(
            control,
            f"{name}_refused",
            f"Is {name} rejected by version {version.since_version}?",
            "P6",
            inputs={"X": control.inputs["X"].astype(name)},
        )
    if "uint64" not in version.index_types:
        yield refusal(
            control,
            "index_u64_refused",
            f"Is index_element_type rejected by version {version.since_version}?",
            "P5",
            attributes={"index_element_type": "u64"},
        )


RANDOM_CASES = 12


def random_family(version: OperatorVersion) -> Iterator[Case]:
    """Breadth: random maps of few values, so that ties are common, under random windows."""
    for number in range(RANDOM_CASES):
        yield random_case(version, number)


def random_case(version: OperatorVersion, number: int) -> Case:
    """Windows, strides and paddings of every size that fits."""
    seed = 5000 + 10 * number
    rank = 2 + number % 2
    window = [1 + w for w in integers(seed, (rank,), 0, 3).tolist()]
    before, after = (
        [p % w for p, w in zip(integers(seed + i, (rank,), 0, 3).tolist(), window, strict=True)] for i in (1, 2)
    )
    strides = integers(seed + 3, (rank,), 1, 4).tolist()
    dims = [w + extra for w, extra in zip(window, integers(seed + 4, (rank,), 0, 6).tolist(), strict=True)]
    x = integers(seed + 5, (2, 2, *dims), -4, 5).astype(np.float32)
    return put(
        version,
        f"random_{number:02}",
        f"Are windows of {window} at strides {strides} with paddings {before} and {after} as the rules say?",
        "G1, G2, G5, P2, P3, P4, P5",
        x,
        tuple(window),
        strides=strides,
        start_padding=before,
        end_padding=after,
    )
