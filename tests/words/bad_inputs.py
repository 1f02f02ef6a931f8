"""The bad inputs of every operator with the words that reject them: the table of docs/errors.md, a test for each row.

Only data: test_bad_input.py takes each row through every interface.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
from words.bad_nodes import GIGABYTES, NO_SCHEMA, NUMPY_TYPE, OWN_WORDS, BadInput, Found, Good, attribute

from onnx_maxpool.types import Array

LARGEST = 2**31 - 1
NAN, INF = np.nan, np.inf
X = np.zeros((2, 1, 4, 4), np.float32)
ROI = (0, 0, 0, 1, 1)


def roi_rows(operator: str, opset: int, size: str, leading: tuple[int, ...], *types: str) -> Iterator[BadInput]:
    """MaxRoiPool and RoiPooling, which differ in the ROI tensor's shape, the name of an attribute and the types."""

    def rois(*rows: tuple[float, ...], dtype: Any = np.float32) -> Array:
        return np.array(rows, np.float64).reshape(*leading, len(rows), -1).astype(dtype)

    def bad_roi(what: str, rule: str, words: str, *rows: tuple[float, ...]) -> BadInput:
        return good.bad(what, rule, f"rois row {len(rows) - 1} has {words}", inputs={"rois": rois(*rows)})

    good = Good(operator, opset, {"X": X, "rois": rois(ROI)}, {size: [2, 3]})
    shape_rule, type_rule = ("D1", "D2") if leading else ("M1", "M2")
    columns = f"expected ({', '.join([*map(str, leading), 'R', '5'])}) with columns batch, x1, y1, x2, y2"

    for what, x in (("X of rank 3", X[0]), ("X of rank 5", X[None])):
        dims = ",".join(map(str, x.shape))
        yield good.bad(what, shape_rule, f"X has shape [{dims}], expected 4 dimensions (N, C, H, W)", inputs={"X": x})
    yield good.bad(
        "X as wide as no window can be",
        shape_rule,
        "X has shape [0,1,1,2147483648], expected a height and a width of at most 2147483647",
        inputs={"X": np.zeros((0, 1, 1, 2**31), X.dtype), "rois": rois(ROI)[..., :0, :]},
    )
    for what, array in (
        ("rois of rank 1", np.array(ROI, np.float32)),
        ("rois of a rank too high", rois(ROI)[None]),
        ("rois of four columns", rois(ROI[:4])),
        ("rois of six columns", rois((*ROI, 0))),
        ("rois that are one number", np.array(3, np.float32)),
        *([("rois in two images", np.concatenate([rois(ROI)] * 2))] if leading else []),
    ):
        dims = ",".join(map(str, array.shape))
        yield good.bad(what, shape_rule, f"rois has shape [{dims}], {columns}", inputs={"rois": array})

    number = "expected a batch number from 0 to 1"
    yield bad_roi("batch N, in the second row", "M10", f"batch 2, {number}", ROI, (2, 0, 0, 1, 1))
    printed = ((-1, "-1"), (400, "400"), (-1.3, "-1.3"), (1e7, "10000000"), (1e20, "1e+20"))
    for value, text in (*printed, (NAN, "nan"), (INF, "inf"), (-INF, "-inf")):
        yield bad_roi(f"batch {text}", "M10", f"batch {text}, {number}", (value, 0, 0, 1, 1))
    narrow = {"float16": (np.float16, "2.6992188"), "bfloat16": (ml_dtypes.bfloat16, "2.703125")}
    for name, (dtype, text) in {**narrow, "double": (np.float64, "2.7")}.items():
        if name in types:
            inputs = {"X": X.astype(dtype), "rois": rois((2.7, 0, 0, 1, 1), dtype=dtype)}
            yield good.bad(f"batch 2.7 as {name}", "M10", f"rois row 0 has batch {text}, {number}", inputs=inputs)
    for value, text in ((0, "0"), (-0.5, "-0.5")):
        words = f"rois row 0 has batch {text}, expected no ROI, as X has batch size 0"
        no_image = {"X": X[:0], "rois": rois((value, *ROI[1:]))}
        yield good.bad(f"a ROI of batch {text}, but no image", "M10", words, inputs=no_image)
    for sides in ([2, 3], [1, 1]):
        # So many that the native library finds their windows with vectors.
        no_image = {"X": X[:0], "rois": rois(*[(-0.5, *ROI[1:])] * 131)}
        what = f"many ROIs of batch -0.5 to {sides[0]}x{sides[1]}, but no image"
        yield good.bad(what, "M10", words, inputs=no_image, attributes={size: sides})
    for i, name in enumerate(("x1", "y1", "x2", "y2"), start=1):
        row = (*ROI[:i], NAN, *ROI[i + 1 :])
        yield bad_roi(f"{name} that is NaN", "M11", f"{name} nan, expected a number", ROI, row)
    words = f"Y would have shape [0,1,{LARGEST},{LARGEST}], expected fewer than 2^63 bytes"
    yield good.bad(
        "an empty output of too large sides",
        "M1",
        words,
        inputs={"rois": rois(ROI)[..., :0, :]},
        attributes={size: [LARGEST] * 2},
    )
    words = f"Y would have shape [3,1,{LARGEST},{LARGEST}], expected fewer than 2^63 bytes"
    yield good.bad(
        "an output of 2^63 bytes", "M1", words, inputs={"rois": rois(ROI, ROI, ROI)}, attributes={size: [LARGEST] * 2}
    )

    for sides in ([7], [7, 7, 7], [0, 7], [7, -7], [2**31, 1]):
        listed = ",".join(map(str, sides))
        words = f"{size} is [{listed}], expected two integers from 1 to {LARGEST}"
        yield good.bad(f"{size} [{listed}]", "M3", words, attributes={size: sides})
    yield good.empty(size, "M3", f"expected two integers from 1 to {LARGEST}")
    for scale in ("0", "-0", "-0.0625", "-1e-45", "-3.4028235e+38", "nan", "inf", "-inf"):
        words = f"spatial_scale is {scale}, expected a finite number greater than 0"
        yield good.bad(f"spatial_scale {scale}", "M3", words, attributes={"spatial_scale": float(scale)})

    for value, kind in ((2, "INT"), ("2", "STRING"), ([2.0], "FLOATS")):
        yield good.mistyped("spatial_scale", value, kind, "FLOAT", "M3")
    for value, kind in ((7, "INT"), ([7.0, 7.0], "FLOATS"), ("7", "STRING")):
        yield good.mistyped(size, value, kind, "INTS", "M3")
    for kind in ("TENSOR", "TENSORS", "STRINGS", "GRAPH", "FLOATS", "INTS"):
        yield good.untold("spatial_scale", attribute("spatial_scale", kind), "FLOAT", "M3")
    for kind in ("TENSOR", "STRINGS", "FLOATS"):
        yield good.untold(size, attribute(size, kind), "INTS", "M3")
    yield good.another_attribute("pooled_sizes", [2, 3], "M3", f"{size} or spatial_scale")
    yield good.without(size, "M3")
    yield good.counted("X", 1, "2")

    floats = f"{', '.join(types[:-1])} or {types[-1]}"
    for dtype, name in ((np.int32, "int32"), (np.bool_, "bool"), (np.object_, "string")):
        inputs = {"X": X.astype(dtype), "rois": rois(ROI).astype(dtype)}
        if dtype is np.object_:
            inputs = {key: np.full(array.shape, "0", object) for key, array in inputs.items()}
        yield good.of_type(f"X of type {name}", type_rule, f"-{opset}: X is {name}, expected {floats}", inputs=inputs)
    yield good.of_type(
        "rois of another type than X",
        type_rule,
        f"-{opset}: rois is float16, expected float as X is",
        inputs={"rois": rois(ROI, dtype=np.float16)},
    )
    if opset > 1:
        yield good.of_type(
            "bfloat16 before version 22",
            "M2",
            "-1: X is bfloat16, expected float16, float or double",
            opset=21,
            inputs={"X": X.astype(ml_dtypes.bfloat16), "rois": rois(ROI, dtype=ml_dtypes.bfloat16)},
            not_through={"functions": "they are of the newest version"},
        )
    else:
        yield good.too_old(1)


def max_pooling_rows() -> Iterator[BadInput]:
    x = np.zeros((1, 1, 2, 9), np.float32)
    volume = x[:, :, None]
    good = Good("MaxPooling1", 5, {"X": x}, {"window_size": [1, 1]})
    sides, padding = f"integers from 1 to {LARGEST}", "integers from 0, each smaller than window_size"

    def too_small(what: str, rule: str, array: Array, words: str, **attributes: Any) -> BadInput:
        dims = ",".join(map(str, array.shape))
        return good.bad(
            what, rule, f"X has shape [{dims}], expected {words}", inputs={"X": array}, attributes=attributes
        )

    yield too_small("X of rank 3", "P1", x[0], "4 dimensions (N, C, H, W)")
    yield too_small("X of rank 6", "P1", volume[None], "4 dimensions (N, C, H, W)")
    yield too_small("X of rank 5 for two windows", "P1", volume, "4 dimensions (N, C, H, W)")
    yield too_small("X of rank 4 for three", "P1", x, "5 dimensions (N, C, D, H, W)", window_size=[2, 2, 2])
    reason = "as window_size is [3,3], start_padding [0,0] and end_padding [0,0]"
    yield too_small("a window too high", "P3", x, f"H of at least 3, {reason}", window_size=[3, 3])
    reason = "as window_size is [1,1], start_padding [0,0] and end_padding [0,0]"
    yield too_small("no rows and no images", "P3", np.zeros((0, 1, 0, 2), np.float32), f"H of at least 1, {reason}")
    reason = "as window_size is [4,1,1], start_padding [1,0,0] and end_padding [1,0,0]"
    padded = {"start_padding": [1, 0, 0], "end_padding": [1, 0, 0]}
    yield too_small("a window too deep", "P3", volume, f"D of at least 2, {reason}", window_size=[4, 1, 1], **padded)
    reason = "as window_size is [1,11], start_padding [0,1] and end_padding [0,0]"
    yield too_small(
        "a window too wide", "P3", x, f"W of at least 10, {reason}", window_size=[1, 11], start_padding=[0, 1]
    )
    reason = "as window_size is [1,3], start_padding [0,2] and end_padding [0,2]"
    padded = {"start_padding": [0, 2], "end_padding": [0, 2]}
    yield too_small("nothing but padding", "P2", x[..., :0], f"W of at least 1, {reason}", window_size=[1, 3], **padded)

    def too_large(what: str, said: str, dtype: Any, *, with_index: bool) -> BadInput:
        attributes = {
            "window_size": [LARGEST] * 3,
            "start_padding": [LARGEST - 1] * 3,
            "end_padding": [LARGEST - 1, LARGEST - 1, 1 if with_index else LARGEST - 1],
        }
        inputs = {"X": np.zeros((1, 1, 1, 1, 1), dtype)}
        return good.bad(what, "P3", said, inputs=inputs, attributes=attributes, with_index=with_index)

    words = f"Y would have shape [1,1,{LARGEST},{LARGEST},{LARGEST}], expected fewer than 2^63 bytes"
    yield too_large("an output of 2^63 bytes", words, np.float32, with_index=False)
    words = f"Indices would have shape [1,1,{LARGEST},{LARGEST},2], expected fewer than 2^63 bytes"
    yield too_large("indices of 2^63 bytes", words, np.int8, with_index=True)

    for window in ([0, 3], [-1, 3], [1, 2**31], [3], [3, 3, 3, 3]):
        listed = ",".join(map(str, window))
        words = f"window_size is [{listed}], expected 2 or 3 {sides}"
        yield good.bad(f"window_size [{listed}]", "P2", words, attributes={"window_size": window})
    for window, strides in (([3, 3], [0, 1]), ([3, 3], [1, -2]), ([3, 3, 3], [1]), ([3, 3], [2**31, 1])):
        listed = ",".join(map(str, strides))
        words = f"strides is [{listed}], expected {len(window)} {sides}"
        attributes = {"window_size": window, "strides": strides}
        yield good.bad(f"strides [{listed}]", "P2", words, attributes=attributes)
    for name, values in (("start_padding", [3, 0]), ("end_padding", [0, -1]), ("end_padding", [0])):
        listed = ",".join(map(str, values))
        words = f"{name} is [{listed}], expected 2 {padding} [3,3]"
        attributes = {"window_size": [3, 3], name: values}
        yield good.bad(f"{name} [{listed}]", "P2", words, attributes=attributes)
    yield good.empty("window_size", "P2", f"expected 2 or 3 {sides}")
    yield good.empty("strides", "P2", f"expected 2 {sides}")
    yield good.empty("end_padding", "P2", f"expected 2 {padding} [1,1]")
    yield good.bad(
        "an empty output of a side beyond 63 bits",
        "P3",
        f"Y would have shape [0,1,{2**63 + 2**31 - 3},1], expected fewer than 2^63 bytes",
        inputs={"X": np.zeros((0, 1, 2**63 - 1, 1), np.int8)},
        attributes={
            "window_size": [LARGEST, 1],
            "start_padding": [LARGEST - 1, 0],
            "end_padding": [LARGEST - 1, 0],
        },
    )
    words = 'index_element_type is "i64", expected "u32" or "u64"'
    attributes = {"index_element_type": "i64"}
    yield good.bad("indices of type i64", "P5", words, attributes=attributes, with_index=True, not_through=NUMPY_TYPE)

    words = "X has shape [2,32768,256,257], expected at most 4294967296 cells, as many as u32 indices number"
    inputs = {"X": np.broadcast_to(np.int8(0), (2, 2**15, 2**8, 2**8 + 1))}
    attributes = {"window_size": [256, 257]}
    what = "more cells than u32 indices number"
    yield good.bad(what, "P5", words, inputs=inputs, attributes=attributes, with_index=True, not_through=GIGABYTES)

    yield good.mistyped("window_size", 3, "INT", "INTS", "P2")
    yield good.mistyped("strides", [1.0, 1.0], "FLOATS", "INTS", "P2")
    yield good.mistyped("index_element_type", 2, "INT", "STRING", "P5")
    for name in ("window_size", "strides", "start_padding", "end_padding"):
        yield good.untold(name, attribute(name, "TENSOR"), "INTS", "P2")
    yield good.untold("index_element_type", attribute("index_element_type", "STRINGS"), "STRING", "P5")
    names = "end_padding, index_element_type, start_padding, strides or window_size"
    yield good.another_attribute("dilations", [1, 1], "P2", names)
    yield good.without("window_size", "P2")
    yield good.too_old(2)

    small = "float16, float, int8, uint8"
    types = f"{small}, int16, int32, int64, uint16, uint32 or uint64"
    for dtype, name in ((np.float64, "double"), (np.bool_, "bool")):
        words = f"-5: X is {name}, expected {types}"
        yield good.of_type(f"X of type {name}", "P6", words, inputs={"X": x.astype(dtype)})
    newest = {"functions": "they are of the newest version"}
    for opset, dtype, words in (
        (2, np.int8, "-2: X is int8, expected float16 or float"),
        (4, np.int16, "-3: X is int16, expected float16, float, int8 or uint8"),
    ):
        what = f"{np.dtype(dtype).name} in opset {opset}"
        yield good.of_type(what, "P6", words, opset=opset, inputs={"X": x.astype(dtype)}, not_through=newest)
    names = "end_padding, start_padding, strides or window_size"
    for opset in (2, 3, 4):
        yield good.bad(
            f"a choice of index type in opset {opset}",
            "P5",
            f"-{min(opset, 3)}: attribute index_element_type, expected {names}",
            found=Found.CHECKED,
            opset=opset,
            attributes={"index_element_type": "u32"},
            not_through={"unchecked": NO_SCHEMA, **newest},
        )


def adaptive_rows() -> Iterator[BadInput]:
    x = np.zeros((1, 2, 4, 3), np.float32)

    def sizes(*values: int, dtype: Any = np.int64) -> Array:
        return np.array(values, dtype)

    good = Good("AdaptiveMaxPool", 8, {"X": x, "output_size": sizes(2, 2)}, {})
    rank = "expected 3 to 5 dimensions (N, C and 1 to 3 spatial ones)"
    for what, array, size in (
        ("X of rank 2", x[0, 0], sizes(2)),
        ("X of rank 6", x[None, None], sizes(2, 2, 2, 2)),
        ("X that is one number", x[0, 0, 0, 0], sizes()),
    ):
        dims = ",".join(map(str, np.shape(array)))
        yield good.bad(
            what, "A1", f"X has shape [{dims}], {rank}", inputs={"X": np.asarray(array), "output_size": size}
        )
    for what, array in (("no rows", x[:, :, :0]), ("no rows and no channels", x[:, :0, :0])):
        dims = ",".join(map(str, array.shape))
        words = f"X has shape [{dims}], expected spatial dimensions of at least 1"
        yield good.bad(what, "A5", words, inputs={"X": array})
    for what, size, dims in (
        ("three sizes for two dimensions", sizes(1, 2, 3), "[3]"),
        ("one size for two dimensions", sizes(2), "[1]"),
        ("no sizes", sizes(), "[0]"),
        ("sizes of rank 2", sizes(2, 2)[None], "[1,2]"),
        ("a size that is one number", np.array(2), "[]"),
    ):
        words = f"output_size has shape {dims}, expected [2], a size for each spatial dimension of X"
        yield good.bad(what, "A1", words, inputs={"output_size": size})
    for size in (sizes(2, 0), sizes(-1, 2, dtype=np.int32), sizes(2, 2**31), sizes(-(2**63), 1)):
        listed = ",".join(map(str, size))
        words = f"output_size is [{listed}], expected 2 integers from 1 to {LARGEST}"
        yield good.bad(f"output_size [{listed}]", "A1", words, inputs={"output_size": size})
    words = f"Y would have shape [1,2,{LARGEST},{LARGEST}], expected fewer than 2^63 bytes"
    yield good.bad("an output of 2^63 bytes", "A1", words, inputs={"output_size": sizes(LARGEST, LARGEST)})
    words = f"Indices would have shape [1,1,{LARGEST},{LARGEST}], expected fewer than 2^63 bytes"
    half = {"X": np.zeros((1, 1, 4, 3), np.float16), "output_size": sizes(LARGEST, LARGEST)}
    yield good.bad("indices of 2^63 bytes", "A3", words, inputs=half, with_index=True)

    expected = 'expected "i64" or "i32"'
    for spelling, text in (
        ("u32", "u32"),
        ("int64", "int64"),
        ("", ""),
        ("i32\0", "i32\\x00"),
        ("i32\n\x1b[31m", "i32\\x0a\\x1b[31m"),
        ("ı32", "\\xc4\\xb132"),
        (b"\xff32", "\\xff32"),
    ):
        yield good.bad(
            f'indices of type "{text}"',
            "A3",
            f'index_element_type is "{text}", {expected}',
            attributes={"index_element_type": spelling},
            with_index=True,
            not_through=NUMPY_TYPE if text != "\\xff32" else {**NUMPY_TYPE, "reference": OWN_WORDS},
        )
    words = (
        "X has shape [1,1,65536,32769], expected at most 2147483648 cells in a channel, as many as i32 indices number"
    )
    yield good.bad(
        "more cells than i32 indices number",
        "A3",
        words,
        inputs={"X": np.broadcast_to(np.float16(0), (1, 1, 2**16, 2**15 + 1))},
        attributes={"index_element_type": "i32"},
        with_index=True,
        not_through=GIGABYTES,
    )
    yield good.mistyped("index_element_type", 7, "INT", "STRING", "A3")
    yield good.untold("index_element_type", attribute("index_element_type", "TENSOR"), "STRING", "A3")
    yield good.another_attribute("output_size", [2, 2], "A3", "index_element_type")
    yield good.counted("X", 1, "2")
    yield good.too_old(8)

    floats = "float16, float, double or bfloat16"
    yield good.of_type("X of type int32", "A4", f"-8: X is int32, expected {floats}", inputs={"X": x.astype(np.int32)})
    for dtype, name in ((np.uint8, "uint8"), (np.float64, "double")):
        words = f"-8: output_size is {name}, expected int32 or int64"
        inputs = {"output_size": sizes(2, 2, dtype=dtype)}
        yield good.of_type(f"output_size of type {name}", "A1", words, inputs=inputs)


BAD_INPUTS = (
    *roi_rows("MaxRoiPool", 22, "pooled_shape", (), "float16", "float", "double", "bfloat16"),
    *roi_rows("RoiPooling", 1, "pooled_size", (1, 1), "float16", "float"),
    *max_pooling_rows(),
    *adaptive_rows(),
)
