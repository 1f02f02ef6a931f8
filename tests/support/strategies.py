"""What the property tests draw: calls of the operators, in every type, shape, kind of value and kind of coordinate.

Hypothesis draws what a bug may turn on: a handful of different values and of coordinates, sizes, attributes. A seed,
drawn too, spreads them over arrays, so that large arrays cost nothing and windows hold equal values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from hypothesis import strategies as st
from onnx import helper
from onnx.reference import ReferenceEvaluator
from support.older_runtimes import runtime_is_before

import onnx_maxpool
from onnx_maxpool.conformance.oracle import maximum as oracle
from onnx_maxpool.facts import INDEX_SPELLINGS, INFERS_INDEX_TYPES
from onnx_maxpool.graph.building import Declared, as_array, one_node
from onnx_maxpool.operators.registry import OperatorVersion, newest_version, newest_versions
from onnx_maxpool.types import Array, dtype_of

NEWEST = {row.name: row for row in newest_versions()}
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "MaxRoiPool": onnx_maxpool.max_roi_pool,
    "RoiPooling": onnx_maxpool.roi_pooling,
    "MaxPooling1": onnx_maxpool.max_pooling,
    "AdaptiveMaxPool": onnx_maxpool.adaptive_max_pool,
}
EDGES = {"onnx": "edges in the type's precision", "exact": "exact integers", "double": "double edges"}
"""The oracle's name of each setting of `bin_edges`."""


def planned(plan: str) -> tuple[str, ...]:
    """The names of the operators whose windows are planned so."""
    return tuple(name for name, row in NEWEST.items() if row.plan == plan)


@dataclass(frozen=True)
class Call:
    """An operator, its inputs and its attributes."""

    operator: str
    inputs: tuple[Array, ...]
    attributes: Mapping[str, Any]
    """Without the index's type."""
    index_type: str | None = None
    """NumPy's name of it; None where the index is not asked for."""
    bin_edges: str | None = None
    """None for the operator's own default."""

    def __repr__(self) -> str:
        arrays = ", ".join(f"{x.dtype.name}{list(x.shape)} {x.tolist()}" for x in self.inputs)
        return f"{self.operator}({arrays}, {dict(self.attributes)}, {self.index_type}, {self.bin_edges})"

    def on(self, *inputs: Array) -> Call:
        """The same call of other arrays."""
        return replace(self, inputs=inputs)

    def native(self) -> tuple[Array, ...]:
        """The outputs of the native library, in a session of ONNX Runtime."""
        options: dict[str, Any] = {} if self.bin_edges is None else {"bin_edges": self.bin_edges}
        if self.index_type is not None:
            options |= {"return_indices": True, "index_dtype": self.index_type}
        outputs = FUNCTIONS[self.operator](*self.inputs, **self.attributes, **options)
        return outputs if isinstance(outputs, tuple) else (outputs,)

    def reference(self) -> tuple[Array, ...]:
        """The outputs of the reference, in ONNX's evaluator."""
        edges: Any = self.bin_edges
        evaluator = ReferenceEvaluator(self.model(), new_ops=onnx_maxpool.reference_ops(bin_edges=edges))
        names = [value.name for value in evaluator.proto_.graph.input]
        return tuple(evaluator.run(None, dict(zip(names, self.inputs, strict=True))))

    def brute_force(self) -> tuple[Array, ...]:
        """The outputs cell by cell, by code that shares nothing with the reference."""
        way = {} if self.bin_edges is None else {"edges": EDGES[self.bin_edges]}
        return oracle.evaluate(
            self.operator, self.inputs, self._all_attributes(), way, outputs=1 + (self.index_type is not None)
        )

    def model(self) -> onnx.ModelProto:
        """One node."""
        version = NEWEST[self.operator]
        inputs = {name: as_array(x) for name, x in zip("ab", self.inputs, strict=False)}
        outputs = {"y": Declared(inputs["a"].type)}
        if self.index_type is not None:
            outputs["index"] = Declared(self.index_type)
        names = [list(values) for values in (inputs, outputs)]
        node = helper.make_node(self.operator, *names, domain=version.domain, **self._all_attributes())
        return one_node(node, {**inputs, **outputs}, {version.domain: version.since_version}, name=self.operator)

    def _all_attributes(self) -> dict[str, Any]:
        chosen = {} if self.index_type is None else {"index_element_type": INDEX_SPELLINGS[self.index_type]}
        return {**self.attributes, **chosen}


@dataclass(frozen=True)
class Sizes:
    """How large arrays may be."""

    channels: int
    sides: tuple[int, int, int]
    """The longest side of a map with 1, 2 or 3 spatial dimensions."""
    rois: int
    outputs: int
    """The largest pooled side, output size and window."""


SMALL = Sizes(channels=3, sides=(12, 8, 5), rois=6, outputs=5)
"""Small enough for brute force."""
LARGE = Sizes(channels=70, sides=(600, 40, 12), rois=60, outputs=16)
"""Large enough for every kernel and its vectors."""


def unsigned(dtype: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"u{dtype.itemsize}")


def any_values(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    """Values of a type: its special ones, and any pattern of bits."""
    bits = unsigned(dtype)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        special = np.array([0, 1, ends.min, ends.min + 1, ends.max - 1, ends.max], dtype).view(bits)
    else:
        numbers = np.array([0.0, -0.0, 1, -1, np.inf, -np.inf, np.nan, -np.nan]).astype(dtype).view(bits)
        finite = np.array([np.inf, -np.inf]).astype(dtype).view(bits) - bits.type(1)
        sign = bits.type(1) << bits.type(8 * dtype.itemsize - 1)
        special = np.concatenate([numbers, finite, np.array([1, sign | bits.type(1)], bits)])  # least subnormals
    patterns = st.sampled_from(special.tolist()) | st.integers(0, int(np.iinfo(bits).max))
    return patterns.map(lambda pattern: np.array(pattern, bits).view(dtype)[()])


def whole_values(dtype: np.dtype[Any]) -> st.SearchStrategy[Any]:
    """Integers that stay exact with `SHIFTS` added, in every type; in float types also what no shift changes."""
    low = 40 if dtype.kind == "u" else -40
    numbers = st.integers(low, low + 80)
    fixed = st.nothing() if dtype.kind in "iu" else st.sampled_from([np.nan, np.inf, -np.inf])
    return (numbers | fixed).map(lambda value: np.array(value).astype(dtype)[()])


SHIFTS = st.integers(-40, 40)


def generators() -> st.SearchStrategy[np.random.Generator]:
    return st.integers(0, 2**32 - 1).map(np.random.default_rng)


@st.composite
def spread(draw: st.DrawFn, values: st.SearchStrategy[Any], shape: Sequence[int], dtype: np.dtype[Any]) -> Array:
    """An array of a few values."""
    palette = np.array(draw(st.lists(values, min_size=1, max_size=8)), dtype)
    return palette[draw(generators()).integers(0, len(palette), tuple(shape))]


@st.composite
def coordinates(draw: st.DrawFn, side: int, spatial_scale: float, dtype: np.dtype[Any]) -> float:
    """On the map and beside it, halves between two cells and the numbers next to those, far, huge and infinite."""
    kind = draw(st.sampled_from(["near", "near", "half", "far", "any"]))
    if kind == "any":
        return float(draw(any_values(dtype).filter(lambda value: not np.isnan(value))))
    if kind == "far":
        return draw(st.sampled_from([1e4, 2.0**30, 2.0**31 - 1, 2.0**31, np.inf])) * draw(st.sampled_from([1, -1]))
    cell = draw(st.integers(-side - 2, 2 * side + 2)) + 0.5 * (kind == "half")
    with np.errstate(over="ignore"):
        value = np.array(cell / np.float64(np.float32(spatial_scale))).astype(dtype)[()]
    toward = draw(st.sampled_from([value, dtype.type(-np.inf), dtype.type(np.inf)]))
    return float(np.nextafter(value, toward))


@st.composite
def roi_rows(
    draw: st.DrawFn, count: int, batches: int, sides: tuple[int, int], spatial_scale: float, dtype: np.dtype[Any]
) -> Array:
    """Valid ROIs (count, 5): a quarter of their sides is reversed (M6), and batch numbers may be fractional (M10)."""
    if not count:
        return np.zeros((0, 5), dtype)
    rng = draw(generators())

    def ends(side: int) -> Array:
        """First and last, (2, count)."""
        palette = draw(st.lists(coordinates(side, spatial_scale, dtype), min_size=1, max_size=8))
        chosen = np.array(palette)[rng.integers(0, len(palette), (2, count))]
        return np.where(rng.random(count) < 0.5, np.sort(chosen, axis=0), chosen)

    height, width = sides
    (x1, x2), (y1, y2) = ends(width), ends(height)
    fraction = draw(st.sampled_from([0, 0.25, 0.75, -0.25]))
    batch = rng.integers(0, batches, count)
    batch = np.where(batch, batch + abs(fraction), fraction)
    with np.errstate(over="ignore"):
        return np.stack([batch, x1, y1, x2, y2], axis=1).astype(dtype)


def images_and_channels(sizes: Sizes) -> st.SearchStrategy[tuple[int, int]]:
    """N and C, now and then 0 (G7)."""
    some = st.tuples(st.integers(1, 3), st.integers(1, sizes.channels))
    none = st.sampled_from([(0, 1), (1, 0), (0, 0)])
    return st.integers(0, 9).flatmap(lambda number: none if number == 9 else some)


@st.composite
def maps(draw: st.DrawFn, sizes: Sizes, spatial: int, *, least: int) -> tuple[int, ...]:
    """Shapes (N, C, spatial...), sides from `least` on."""
    side = st.integers(least, sizes.sides[spatial - 1]) | st.just(1)
    return (*draw(images_and_channels(sizes)), *draw(st.tuples(*[side] * spatial)))


SCALES = st.sampled_from([1.0, 0.5, 0.0625, 0.7, 1 / 3, float(np.finfo(np.float32).tiny), float(np.float32(3e38))])


def roi_tensor(version: OperatorVersion, rois: Array) -> Array:
    """Rows (R, 5) as the operator's input."""
    return rois.reshape((1,) * (version.roi_rank - rois.ndim) + rois.shape)


@st.composite
def roi_calls(
    draw: st.DrawFn,
    sizes: Sizes = SMALL,
    *,
    operators: Sequence[str] = planned("roi"),
    values: Any = any_values,
) -> Call:
    """Operators on ROIs."""
    name = draw(st.sampled_from(operators))
    version = newest_version(name)
    dtype = dtype_of(draw(st.sampled_from(version.types["T"])))
    shape = draw(maps(sizes, 2, least=0))
    scale = draw(SCALES)
    count = draw(st.integers(0, sizes.rois)) if shape[0] else 0
    rois = draw(roi_rows(count, shape[0], (shape[2], shape[3]), scale, dtype))
    pooled = draw(st.tuples(*[st.integers(1, sizes.outputs)] * 2))
    return Call(
        name,
        (draw(spread(values(dtype), shape, dtype)), roi_tensor(version, rois)),
        {version.size_attribute: pooled, "spatial_scale": scale},
        bin_edges=draw(st.sampled_from([None, *EDGES])),
    )


def index_types(version: OperatorVersion) -> st.SearchStrategy[str | None]:
    """The types of an index, and none. ONNX Runtime before 1.28 has only the default."""
    here = version.index_types[:1] if runtime_is_before(*INFERS_INDEX_TYPES) else version.index_types
    return st.sampled_from([None, *here])


@st.composite
def adaptive_calls(
    draw: st.DrawFn, sizes: Sizes = SMALL, *, operators: Sequence[str] = planned("adaptive"), values: Any = any_values
) -> Call:
    """Operators whose windows share out the axes, with and without their index."""
    version = newest_version(draw(st.sampled_from(operators)))
    dtype = dtype_of(draw(st.sampled_from(version.types["T"])))
    spatial = draw(st.integers(1, 3))
    shape = draw(maps(sizes, spatial, least=1))
    size_type = dtype_of(draw(st.sampled_from(version.types["TShape"])))
    outputs = list(draw(st.tuples(*[st.integers(1, sizes.outputs)] * spatial)))
    if draw(st.integers(0, 7)) == 7:
        outputs[draw(st.integers(0, spatial - 1))] *= 17
    output_size = np.array(outputs, size_type)
    index_type = draw(index_types(version))
    return Call(version.name, (draw(spread(values(dtype), shape, dtype)), output_size), {}, index_type)


LARGEST = 2**31 - 1
"""Window and stride (P2)."""


@st.composite
def sliding_axes(draw: st.DrawFn, most_side: int, most: int) -> tuple[int, int, int, int, int]:
    """Side, window, stride and paddings of an axis that has room for one window, paddings counted."""
    window = draw(st.integers(1, most))
    before, after = draw(st.integers(0, window - 1)), draw(st.integers(0, window - 1))
    room = max(1, window - before - after)
    side = draw(st.integers(room, max(room, most_side)))
    return side, window, draw(st.integers(1, window + 2)), before, after


@st.composite
def far_axes(draw: st.DrawFn, most_side: int, most: int) -> tuple[int, int, int, int, int]:
    """The same of windows that are as large as the side or much larger, often of one cell that several of them have."""
    side = draw(st.just(1) | st.integers(1, most_side))
    window = draw(st.sampled_from([side, side + 1, 300, 2**16, LARGEST]))
    paddings = min(max(window - side, 0) + draw(st.integers(0, most)), 2 * (window - 1))
    before = draw(st.integers(max(0, paddings - window + 1), min(window - 1, paddings)))
    stride = draw(st.integers(1, 3) | st.sampled_from([window, LARGEST]))
    return side, window, stride, before, paddings - before


@st.composite
def sliding_calls(
    draw: st.DrawFn, sizes: Sizes = SMALL, *, operators: Sequence[str] = planned("sliding"), values: Any = any_values
) -> Call:
    """Operators whose windows slide, with and without their index."""
    version = newest_version(draw(st.sampled_from(operators)))
    dtype = dtype_of(draw(st.sampled_from(version.types["T"])))
    spatial = draw(st.sampled_from([2, 3]))
    limits = sizes.sides[spatial - 1], sizes.outputs
    near = sliding_axes(*limits)
    axis = draw(st.sampled_from([near, near, near | far_axes(*limits)]))
    sides, *attributes = zip(*draw(st.tuples(*[axis] * spatial)), strict=True)
    shape = (*draw(images_and_channels(sizes)), *sides)
    names = ("window_size", "strides", "start_padding", "end_padding")
    index_type = draw(index_types(version))
    cells = draw(spread(values(dtype), shape, dtype))
    return Call(version.name, (cells,), dict(zip(names, attributes, strict=True)), index_type)


def spaced(x: Array) -> Array:
    """Every second cell of an array."""
    larger = np.zeros([2 * side for side in x.shape], x.dtype)
    cells = larger[tuple([slice(None, None, 2)] * x.ndim)]
    cells[...] = x
    return cells


def repeated(x: Array) -> Array:
    """The first part along each axis but the last, which all others are without more memory."""
    return np.broadcast_to(x[tuple([slice(0, 1)] * (x.ndim - 1))], x.shape)


def at_an_odd_address(x: Array) -> Array:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    cells = memory[1:].view(x.dtype).reshape(x.shape)
    cells[...] = x
    return cells


LAYOUTS: dict[str, Callable[[Array], Array]] = {
    "column by column": np.asfortranarray,
    "backwards": lambda x: np.flip(np.flip(x).copy()),
    "every second cell": spaced,
    "repeated": repeated,
    "at an odd address": at_an_odd_address,
    "the other byte order": lambda x: x.astype(x.dtype.newbyteorder("S")),
}
"""How an array may lie in memory, other than row by row. A repeated one has other cells, too."""
