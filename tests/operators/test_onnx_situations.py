"""The situations that ONNX's own node tests for MaxRoiPool cover, by default, in every form: M1 to M9.

Expected outputs are written out, so that no code of the package decides about them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest
from onnx import helper

import onnx_maxpool
from onnx_maxpool.graph.building import Declared, one_node
from onnx_maxpool.types import element_type

Array = npt.NDArray[Any]
OPSET = 22


@dataclass(frozen=True)
class Situation:
    """One model with its inputs and what must come out."""

    name: str
    x: Array
    rois: list[list[float]]
    pooled_shape: tuple[int, int]
    expected: Any
    """Nested lists (R, C, pooled_height, pooled_width)."""
    scale: float = 1.0


def counted(*shape: int, dtype: Any = np.float32) -> Array:
    """1, 2, 3, ... in row-major order."""
    return np.arange(1, np.prod(shape) + 1).astype(dtype).reshape(shape)


GRID = counted(1, 1, 4, 6)
SITUATIONS = (
    Situation("plain", GRID, [[0, 0, 0, 5, 3]], (2, 3), [[[[8, 10, 12], [20, 22, 24]]]]),
    Situation(
        "several images",
        np.concatenate([GRID, -GRID]),
        [[1, 0, 0, 5, 3], [0, 2, 1, 3, 2], [1, 2, 1, 3, 2]],
        (1, 1),
        [[[[-1]]], [[[16]]], [[[-9]]]],
    ),
    Situation("scale", GRID, [[0, 32, 16, 64, 48]], (1, 2), [[[[22, 23]]]], scale=1 / 16),
    Situation("outside", GRID, [[0, 4, -2, 7, 1]], (2, 2), [[[[0, 0], [12, 0]]]]),
    Situation("double", GRID.astype(np.float64), [[0, 0, 0, 5, 3]], (1, 2), [[[[21, 24]]]]),
    Situation("negative values in a pool that is not square", -GRID, [[0, 0, 0, 5, 3]], (1, 3), [[[[-1, -3, -5]]]]),
    # 45 times the float32 nearest to 0.7 is 31.49999946, which float32 rounds to 31.5.
    Situation("a coordinate whose product rounds", counted(1, 1, 1, 40), [[0, 45, 0, 45, 0]], (1, 1), [[[[33]]]], 0.7),
    # In float32 the bin 41 of 82 over 2 cells starts before 1, so that the first cell, the greater, is in 42 of them.
    Situation("an edge that rounds", -counted(1, 1, 1, 3), [[0, 0, 0, 1, 0]], (1, 82), [[[[-1] * 42 + [-2] * 40]]]),
    Situation(
        "the double below one half",
        counted(1, 1, 1, 3, dtype=np.float64),
        [[0, 0.49999999999999994, 0, 0.49999999999999994, 0]],
        (1, 1),
        [[[[1]]]],
    ),
)


def native(model: onnx.ModelProto, feeds: dict[str, Array]) -> Any:
    return onnx_maxpool.load(model).run(None, feeds)[0]


def reference(model: onnx.ModelProto, feeds: dict[str, Array]) -> Any:
    return onnx_maxpool.reference_evaluator(model).run(None, feeds)[0]


def python(model: onnx.ModelProto, feeds: dict[str, Array]) -> Any:
    return onnx_maxpool.load(model, implementation="python").run(None, feeds)[0]


def portable(model: onnx.ModelProto, feeds: dict[str, Array]) -> Any:
    serialized = onnx_maxpool.to_portable(model).SerializeToString()
    return ort.InferenceSession(serialized, providers=["CPUExecutionProvider"]).run(None, feeds)[0]


@pytest.mark.parametrize("form", [native, reference, python, portable])
@pytest.mark.parametrize("situation", SITUATIONS, ids=lambda situation: situation.name)
def test_a_situation(situation: Situation, form: Callable[..., Any]) -> None:
    node = helper.make_node(
        "MaxRoiPool", ["X", "rois"], ["Y"], pooled_shape=situation.pooled_shape, spatial_scale=situation.scale
    )
    dims = {"X": ["N", "C", "H", "W"], "rois": ["R", 5], "Y": ["R", "C", *situation.pooled_shape]}
    kind = element_type(situation.x)
    model = one_node(node, {name: Declared(kind, each) for name, each in dims.items()}, {"": OPSET})
    y = form(model, {"X": situation.x, "rois": np.array(situation.rois, situation.x.dtype)})
    assert y.dtype == situation.x.dtype
    np.testing.assert_array_equal(y, np.array(situation.expected, situation.x.dtype))
