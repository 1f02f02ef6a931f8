"""Random cases of every operator with shapes that are known, for the form without control flow."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper
from support.one_node import DOMAINS, SPELLINGS, version_of
from support.portable_runtimes import in_onnxruntime

from onnx_maxpool import to_portable
from onnx_maxpool.adapters.reference import reference_evaluator
from onnx_maxpool.graph.building import Declared, as_array, one_node
from onnx_maxpool.types import Array, dtype_of

OPSET = 17
"""Of ai.onnx: one that every runtime takes."""
NEWEST = {"directml": 5, "org.openvinotoolkit": 8}
"""Opsets of the operators' other domains."""


@dataclass(frozen=True)
class StaticCase:
    """A model of one node of ours, or of ai.onnx, and inputs."""

    operator: str
    about: str
    inputs: Mapping[str, Array]
    constants: Mapping[str, Array] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    index_type: str | None = None
    """None where no index is wanted."""

    def __str__(self) -> str:
        return f"{self.operator} {self.about}"

    @property
    def model(self) -> onnx.ModelProto:
        """All shapes are declared."""
        arrays = {**self.inputs, **self.constants}
        domain = DOMAINS.get(self.operator, "")
        inputs = {name: as_array(array) for name, array in self.inputs.items()}
        outputs = {"Y": Declared(next(iter(inputs.values())).type)}
        if self.index_type:
            outputs["Indices"] = Declared(self.index_type)
        order = [name for name in ("X", "rois", "output_size") if name in arrays]
        attributes = dict(self.attributes)
        if self.index_type and len(self._index_types) > 1:
            attributes["index_element_type"] = {name: key for key, name in SPELLINGS.items()}[self.index_type]
        node = helper.make_node(self.operator, order, list(outputs), "pool", domain=domain, **attributes)
        imports = {domain: NEWEST.get(domain, OPSET), "": 22 if arrays["X"].dtype.name == "bfloat16" else OPSET}
        model = one_node(node, {**inputs, **outputs}, imports, name="main_graph")
        model.graph.initializer.extend(numpy_helper.from_array(array, name) for name, array in self.constants.items())
        return model

    @property
    def _index_types(self) -> tuple[str, ...]:
        return version_of(self.operator, NEWEST[DOMAINS[self.operator]]).index_types if self.operator in DOMAINS else ()

    def converted(self, **options: Any) -> onnx.ModelProto:
        """Without control flow, and without MaxPool's indices."""
        return to_portable(self.model, control_flow=False, max_pool_indices=True, **options)

    def expected(self) -> list[Array]:
        """What our reference gives, and of MaxPool ONNX Runtime, as onnx.reference numbers rank 3 otherwise."""
        if self.operator not in DOMAINS:
            return self._expected_of_max_pool()
        outputs = reference_evaluator(self.model).run(None, dict(self.inputs))
        assert isinstance(outputs, list)
        return [np.asarray(output) for output in outputs]

    def _expected_of_max_pool(self) -> list[Array]:
        """ONNX Runtime's own MaxPool loses a NaN that is not the first cell of its window.

        So it is given a number above all others in the place of each.
        """
        x = self.inputs["X"]
        above_all = x.dtype.type(1000)
        assert not (x >= above_all).any()
        y, index = in_onnxruntime(self.model, {"X": np.where(np.isnan(x), above_all, x)})
        return [np.where(y == above_all, x.dtype.type(np.nan), y), index]


def numbers(
    rng: np.random.Generator, shape: Sequence[int], element_type: str, *, low: bool = True, nan: bool = False
) -> Array:
    """Few different values, so that windows hold equal ones; with `low` many of the type's lowest, for floats -inf.

    With `nan` some floats are NaN, or most.
    """
    dtype = dtype_of(element_type)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        values = [1, 2, 3, *([ends.min, ends.min, ends.min + 1, ends.max - 1, ends.max] if low else [])]
        return rng.choice(np.array(values, dtype), tuple(shape))
    x = rng.integers(-9, 10, tuple(shape)) / 4
    if low:
        x[rng.random(x.shape) < 0.4] = -np.inf
        x[rng.random(x.shape) < 0.05] = np.inf
    if nan:
        x[rng.random(x.shape) < rng.choice([0.1, 0.8])] = np.nan
    return x.astype(dtype)


def rois_of(rng: np.random.Generator, count: int, shape: Sequence[int], scale: float, element_type: str) -> Array:
    """Some malformed, some beyond the map, many with halves, negative ones too; some huge and infinite."""
    n, _, height, width = shape
    corners = rng.uniform(-0.4, 1.4, (count, 2, 2)) * (width, height)
    corners = np.where(rng.random((count, 1, 1)) < 0.25, corners, np.sort(corners, axis=1))
    corners = np.where(rng.random(corners.shape) < 0.3, np.round(corners) + 0.5, corners)
    corners = np.where(rng.random((count, 1, 1)) < 0.2, corners * 10.0 ** rng.uniform(0, 13, corners.shape), corners)
    corners = np.where(rng.random(corners.shape) < 0.02, np.copysign(np.inf, corners), corners)
    with np.errstate(over="ignore"):
        rois = np.concatenate([rng.integers(0, n, (count, 1)), corners.reshape(count, 4) / scale], axis=1)
        return rois.astype(dtype_of(element_type))


def roi_case(rng: np.random.Generator, operator: str, element_type: str, *, constant: bool) -> StaticCase:
    shape = tuple(int(dim) for dim in rng.integers(1, (4, 6, 40, 40)))
    sides = [int(side) for side in rng.integers(1, 9, 2)]
    scale = float(rng.choice([1, 0.5, 0.0625, 0.7]))
    rois = rois_of(rng, int(rng.integers(1, 25)), shape, scale, element_type)
    x = numbers(rng, shape, element_type)
    size = {"MaxRoiPool": "pooled_shape", "RoiPooling": "pooled_size"}[operator]
    given = {"rois": rois if operator == "MaxRoiPool" else rois[None, None]}
    about = f"{list(shape)}, {len(rois)} {'constant ' if constant else ''}ROIs to {sides}, {element_type}"
    inputs, constants = ({"X": x}, given) if constant else ({"X": x, **given}, {})
    return StaticCase(operator, about, inputs, constants, {size: sides, "spatial_scale": scale})


def adaptive_case(rng: np.random.Generator, element_type: str, rank: int, index_type: str | None) -> StaticCase:
    shape = [int(dim) for dim in rng.integers(1, 4, 2)] + [int(dim) for dim in rng.integers(1, 14, rank)]
    sizes = rng.integers(1, 9, rank)
    index = f", indices {index_type}" if index_type else ""
    about = f"{shape} to {sizes.tolist()}, {element_type}{index}"
    x = numbers(rng, shape, element_type, nan=index_type is not None)
    return StaticCase("AdaptiveMaxPool", about, {"X": x}, {"output_size": sizes}, {}, index_type)


def sliding(rng: np.random.Generator, size: int) -> tuple[int, int, int, int]:
    """Window, stride and paddings that an axis has a window for."""
    window = int(rng.integers(1, 9))
    start, end = (int(p) for p in rng.integers(0, window, 2))
    if size + start + end < window:
        window, start, end = size, 0, 0
    return window, int(rng.integers(1, 5)), start, end


def sliding_case(rng: np.random.Generator, element_type: str, rank: int, index_type: str | None) -> StaticCase:
    shape = [int(dim) for dim in rng.integers(1, 4, 2)] + [int(dim) for dim in rng.integers(1, 14, rank)]
    names = ("window_size", "strides", "start_padding", "end_padding")
    along = zip(*(sliding(rng, size) for size in shape[2:]), strict=True)
    attributes = {name: list(values) for name, values in zip(names, along, strict=True)}
    index = f", indices {index_type}" if index_type else ""
    about = f"{shape} by {attributes['window_size']}, {element_type}{index}"
    x = numbers(rng, shape, element_type, nan=index_type is not None)
    return StaticCase("MaxPooling1", about, {"X": x}, {}, attributes, index_type)


def max_pool_case(rng: np.random.Generator, element_type: str, rank: int) -> StaticCase:
    """MaxPool of ai.onnx with its index."""
    shape = [int(dim) for dim in rng.integers(1, 4, 2)] + [int(dim) for dim in rng.integers(4, 14, rank)]
    along = list(zip(*(sliding(rng, min(size, 4)) for size in shape[2:]), strict=True))
    attributes = {"kernel_shape": list(along[0]), "strides": list(along[1]), "pads": [*along[2], *along[3]]}
    about = f"{shape} by {attributes['kernel_shape']}, {element_type}, indices int64"
    x = numbers(rng, shape, element_type, low=False, nan=True)
    return StaticCase("MaxPool", about, {"X": x}, {}, attributes, "int64")


Maker = Callable[[np.random.Generator], StaticCase]


def cases_of(element_type: str) -> dict[str, Maker]:
    """Every operator, rank and type of index, with values of one type, by what it is."""
    makers: dict[str, Maker] = {}
    for operator in ("MaxRoiPool", "RoiPooling"):
        makers[operator] = partial(roi_case, operator=operator, element_type=element_type, constant=False)
        makers[f"{operator}, constant ROIs"] = partial(
            roi_case, operator=operator, element_type=element_type, constant=True
        )
    for index in (None, "int64", "int32"):
        for rank in (1, 2, 3):
            about = f"AdaptiveMaxPool, rank {rank + 2}{f', indices {index}' if index else ''}"
            makers[about] = partial(adaptive_case, element_type=element_type, rank=rank, index_type=index)
    for index in (None, "uint32", "uint64"):
        for rank in (2, 3):
            about = f"MaxPooling1, rank {rank + 2}{f', indices {index}' if index else ''}"
            makers[about] = partial(sliding_case, element_type=element_type, rank=rank, index_type=index)
    for rank in (1, 2, 3):
        makers[f"MaxPool with indices, rank {rank + 2}"] = partial(max_pool_case, element_type=element_type, rank=rank)
    return makers


FLOAT_CASES = cases_of("float")
"""What is asked of every runtime that computes in float."""

ROI_TYPES = ("float16", "bfloat16", "double")
INTEGER_TYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def _typed_cases() -> Iterator[tuple[str, Maker]]:
    for name in ROI_TYPES:
        yield f"MaxRoiPool, {name}", partial(roi_case, operator="MaxRoiPool", element_type=name, constant=False)
        yield (
            f"AdaptiveMaxPool, {name}, indices int64",
            partial(adaptive_case, element_type=name, rank=2, index_type="int64"),
        )
    for name in INTEGER_TYPES:
        for index in (None, "uint32"):
            about = f"MaxPooling1, {name}{f', indices {index}' if index else ''}"
            yield about, partial(sliding_case, element_type=name, rank=2, index_type=index)


TYPED_CASES: dict[str, Maker] = dict(_typed_cases())
"""Other types, by what they are."""


def nan_cases(element_type: str) -> dict[str, tuple[StaticCase, list[Array]]]:
    """With NaN in the map, at every place of a window in turn, or in ROIs.

    The outputs are those of our rules (G3), and for bad ROIs those that the form without control flow promises.
    """
    rng = np.random.default_rng(0)
    x = rng.integers(-9, 10, (1, 16, 4, 4)).astype(dtype_of(element_type)) / 4
    x.reshape(16, 16)[np.arange(16), np.arange(16)] = np.nan
    x = x.astype(dtype_of(element_type))
    whole = np.array([[0, 0, 0, 3, 3], [0, 2, 2, 3, 3], [0, 0, 0, 0, 0]], dtype_of(element_type))
    sides: dict[str, Any] = {"pooled_shape": [2, 2], "spatial_scale": 1.0}
    cases = {
        "MaxRoiPool, NaN in the map": StaticCase("MaxRoiPool", "", {"X": x, "rois": whole}, {}, sides),
        "MaxRoiPool, constant ROIs, NaN in the map": StaticCase("MaxRoiPool", "", {"X": x}, {"rois": whole}, sides),
        "AdaptiveMaxPool, NaN in the map": StaticCase(
            "AdaptiveMaxPool", "", {"X": x}, {"output_size": np.array([2, 1])}
        ),
    }
    found = {kind: (case, case.expected()) for kind, case in cases.items()}
    bad = np.array(
        [[-1, 0, 0, 3, 3], [1, 0, 0, 3, 3], [np.nan, 0, 0, 3, 3], [0, np.nan, 0, 3, 3], [0, 0, 0, 3, np.nan]]
    )
    rois = np.concatenate([bad.astype(whole.dtype), whole])
    x = np.nan_to_num(x, nan=7)
    good = StaticCase("MaxRoiPool", "", {"X": x, "rois": whole}, {}, sides)
    (pooled,) = good.expected()
    expected = np.concatenate([np.full((len(bad), *pooled.shape[1:]), np.nan, pooled.dtype), pooled])
    found["MaxRoiPool, bad ROIs among good ones"] = (
        StaticCase("MaxRoiPool", "", {"X": x, "rois": rois}, {}, sides),
        [expected],
    )
    return found
