"""Hypothesis strategies of cases that no list has.

Hypothesis draws what some cases are about; their numbers come from a generator that Hypothesis seeds, which spreads
them evenly where Hypothesis prefers small ones. A fault may show for one combination of an extent, a bin count and a
channel, so that a case has as many of them at once as it can: ROIs of every extent up to a limit, and channels beyond
every vector's width. What makes a backend differ as a whole (NaN, halves, another precision) is in some of the cases
only, as it would hide the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.cases._max_pool import as_max_pool
from onnx_maxpool.conformance.reduction.candidates import with_attributes
from onnx_maxpool.conformance.search.drawing import Dice, cells, traits_of
from onnx_maxpool.facts import INDEX_ATTRIBUTE, INDEX_SPELLINGS
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.registry import OPERATORS, OperatorVersion, newest_version, snake_case
from onnx_maxpool.types import Array, dtype_of


@dataclass(frozen=True)
class Target:
    """What a backend may have or lack: one version of an operator in one type, with or without its index."""

    version: OperatorVersion
    element_type: str
    indexed: bool = False
    restated: bool = False
    """Asked in another operator's words."""

    def __str__(self) -> str:
        return f"{self.version.title} {self.element_type}" + (" with indices" if self.indexed else "")


TARGETS = tuple(
    Target(version, element_type, indexed)
    for version in OPERATORS
    for element_type in version.types["T"]
    for indexed in ((False, True) if version.index_types else (False,))
)

ROI_TRAITS = ("halves", "fractions", "malformed", "far", "fractional batch", "wrong batch", "NaN coordinate")
REFUSED_TRAITS = ("wrong batch", "NaN coordinate")

MOST_CELLS = 400_000
"""Of the map, and of an output, where there are ROIs: more takes longer than it tells."""

MOST_CELLS_OF_ONE = 40_000
"""The same where there are none, so that a case is about one size and one window along each axis."""


TOGETHER = 8
"""How many cases one example of Hypothesis gives: to draw an example takes longer than to make most cases."""


def cases(targets: Sequence[Target]) -> st.SearchStrategy[Iterator[Case]]:
    """Cases of some targets, a few at once. ROI operators come less often: one case of theirs takes and asks more."""
    by_operator: dict[str, list[Target]] = {}
    for target in targets:
        # Of older versions fewer cases: most of what they do is what the newest does. What has an index has values too.
        newest = target.version is newest_version(target.version.name)
        by_operator.setdefault(target.version.name, []).extend([target] * (3 if newest else 1) * (1 + target.indexed))
    weights = {name: 2 if chosen[0].version.plan == "roi" else 7 for name, chosen in by_operator.items()}
    names = [name for name, weight in weights.items() for _ in range(weight)]
    chosen = st.sampled_from(names).flatmap(lambda name: st.sampled_from(by_operator[name]))
    return st.builds(some_cases, chosen, SEEDS, SEEDS)


def restate(case: Case) -> Case:
    """A case of MaxPooling1 in the words of MaxPool, which does not let its index's type be chosen."""
    return as_max_pool(with_attributes(case, **{INDEX_ATTRIBUTE: None}))


def smallest(target: Target) -> Case:
    """A case by which one sees whether a backend supports a target at all."""
    version, dtype = target.version, dtype_of(target.element_type)
    x = np.arange(1, 5).reshape(1, 1, 2, 2).astype(dtype)
    attributes: dict[str, Any] = {}
    inputs = {"X": x}
    if version.plan == "roi":
        attributes[version.size_attribute] = [1, 1]
        inputs["rois"] = shaped(version, np.array([[0, 0, 0, 1, 1]]), dtype)
    elif version.plan == "sliding":
        attributes["window_size"] = [2, 2]
    else:
        inputs["output_size"] = np.array([1, 2])
    case = made(target, attributes, inputs)
    return restate(case) if target.restated else case


SEEDS = st.integers(0, 2**24 - 1)
"""Hypothesis draws integers of up to 24 bits evenly."""

SHARES = (0, 0, 0, 1, 1, 1, 2, 3)
"""How many of the traits a case has."""


def some_cases(target: Target, *seeds: int) -> Iterator[Case]:
    """The cases of these seeds, each made when it is wanted."""
    for number in range(TOGETHER):
        dice = Dice(*seeds, number)
        traits = dice.several(traits_of(dtype_of(target.element_type)), dice.one_of(SHARES))
        case = MAKERS[target.version.plan](target, dice, traits, dice.one_of(SHARES))
        yield restate(case) if target.restated else case


@dataclass(frozen=True)
class RoiShape:
    """How large a case of ROIs is."""

    most_rois: int
    channels: tuple[int, int]
    longest: int
    """Side of the map."""


ROI_SHAPES = (
    RoiShape(150, (33, 160), 48),
    RoiShape(300, (1, 6), 40),
    RoiShape(200, (9, 48), 48),
    RoiShape(60, (1, 10), 600),
)
FEW_ROIS = RoiShape(6, (1, 5), 16)

COUNTS = (4, 8, 8, 8, 8, 16, 16, 40)
"""Limits of the bins along an axis."""

MOST_BINS = 1200
"""Rows and columns of bins of all ROIs, by which the time goes that the reference takes."""


def roi_case(target: Target, dice: Dice, traits: Sequence[str], setting_traits: int) -> Case:
    """ROI pooling."""
    version, dtype = target.version, dtype_of(target.element_type)
    roi_traits = dice.several(ROI_TRAITS, setting_traits)
    refuses = bool(set(roi_traits) & set(REFUSED_TRAITS))
    size = FEW_ROIS if refuses or dice.one_in(6) else dice.one_of(ROI_SHAPES)
    pooled = [dice.up_to(COUNTS), dice.up_to(COUNTS)]
    dims = [dice.between(1, size.longest), dice.between(1, min(size.longest, 64))]
    if dice.one_in(2):
        dims.reverse()
    most_rois = min(size.most_rois, MOST_BINS // sum(pooled))
    count, images = dice.between(-(-most_rois // 2), most_rois), dice.between(1, 4)
    most = MOST_CELLS // max(count * pooled[0] * pooled[1], images * dims[0] * dims[1])
    channels = max(1, min(dice.between(*size.channels), most))
    scale = dice.scale() if "fractions" in roi_traits else dice.one_of(SCALES)
    table = roi_rows(dice, count, images, dims, scale, roi_traits)
    attributes: dict[str, Any] = {version.size_attribute: pooled}
    if scale != 1 or dice.one_in(2):
        attributes["spatial_scale"] = scale
    x = cells(dice.rng, (images, channels, *dims), dtype, traits)
    good = made(target, attributes, {"X": x, "rois": shaped(version, table, dtype)})
    return refused(good, dice, table, roi_traits) if refuses else good


def refused(good: Case, dice: Dice, table: Array, traits: Sequence[str]) -> Case:
    """The same with one ROI that must be refused (M10, M11)."""
    row, images = dice.between(0, len(table) - 1), len(good.inputs["X"])
    asks, rule = ("batch", "M10") if "wrong batch" in traits else ("nan coordinate", "M11")
    column, value = 0, float(dice.one_of((-1, images, images + 1, images + 100)))
    if asks != "batch":
        column, value = dice.between(1, 4), np.nan
    wrong = table.copy()
    wrong[row, column] = value
    inputs = {**good.inputs, "rois": shaped(good.version, wrong, good.inputs["X"].dtype)}
    control = replace(good, sizes_open=True)
    return replace(control, inputs=inputs, refuses=True, control=control, asks=(asks,), rules=(rule,))


SCALES = (1.0, 1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 2.0)
"""By which a coordinate is multiplied without rounding."""


def roi_rows(
    dice: Dice, count: int, images: int, dims: Sequence[int], scale: float, traits: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Rows `[batch, x1, y1, x2, y2]` in double, with every extent up to a limit along both axes.

    Without traits edges are whole cells, most ROIs lie in the map, and every type that is wide enough holds them.
    """
    rng, limit = dice.rng, dice.between(4, dice.one_of((16, 32, 70)))
    first, last = np.empty((count, 2)), np.empty((count, 2))
    for axis, size in enumerate(dims):
        extents = np.concatenate([rng.permutation(limit) + 1 for _ in range(-(-count // limit))])[:count]
        start = np.floor(rng.random(count) * (np.maximum(size - extents, 0) + 1))
        outside = rng.random(count) < 0.15
        start[outside] = rng.integers(-extents.max(), size + 2, int(outside.sum()))
        first[:, axis], last[:, axis] = start, start + extents - 1
    if "malformed" in traits:
        turned = rng.random(first.shape) < 0.3
        first[turned], last[turned] = last[turned] + 1, first[turned]
    edges = np.stack([first[:, 1], first[:, 0], last[:, 1], last[:, 0]], axis=1)
    if "halves" in traits:
        edges += rng.choice([0, 0.5], edges.shape)
    if "fractions" in traits:
        edges += rng.uniform(-0.49, 0.49, edges.shape)
    coordinates = edges / scale
    if "far" in traits:
        chosen = rng.random(edges.shape) < 0.2
        coordinates[chosen] = rng.choice([1e4, -1e4, 1e10, -1e10, np.inf, -np.inf], int(chosen.sum()))
    batches = rng.integers(0, images, (count, 1)).astype(np.float64)
    if "fractional batch" in traits:
        batches += rng.choice([0, 0.25, 0.75], batches.shape)
    return np.concatenate([batches, coordinates], axis=1)


def shaped(version: OperatorVersion, table: Array, dtype: np.dtype[Any]) -> Array:
    """ROIs as the operator takes them; what a type has no number for becomes infinite."""
    with np.errstate(over="ignore"):
        return table.reshape(*[1] * (version.roi_rank - 2), *table.shape).astype(dtype)


def sliding_case(target: Target, dice: Dice, traits: Sequence[str], setting_traits: int) -> Case:
    """Windows that slide."""
    rank = dice.one_of((2, 2, 3))
    windows = [dice.up_to((5, 5, 9, 16)) for _ in range(rank)]
    strides = [dice.up_to((3, 5, 7)) for _ in range(rank)]
    start, end = ([dice.one_of((0, dice.between(0, window - 1))) for window in windows] for _ in range(2))
    least = [max(1, window - a - b) for window, a, b in zip(windows, start, end, strict=True)]
    dims = [low + dice.up_to((10, 24, 40) if rank == 2 else (5, 10, 14)) - 1 for low in least]
    if dice.one_in(16):
        dims[dice.between(0, rank - 1)] += dice.between(50, 400)
    attributes: dict[str, Any] = {"window_size": windows}
    for name, numbers, default in (("strides", strides, 1), ("start_padding", start, 0), ("end_padding", end, 0)):
        if any(number != default for number in numbers) or dice.one_in(2):
            attributes[name] = numbers
    x = drawn_map(target, dice, dims, dims, traits)
    return made(target, attributes | index_setting(target, dice), {"X": x})


def adaptive_case(target: Target, dice: Dice, traits: Sequence[str], setting_traits: int) -> Case:
    """Windows that share out the map."""
    rank = dice.one_of((1, 2, 2, 3))
    dims = [dice.up_to({1: (16, 32, 32, 300), 2: (12, 24, 24, 64), 3: (6, 12, 12, 20)}[rank]) for _ in range(rank)]
    counts = [dice.up_to((7, 12, 12, 30) if rank < 3 else (4, 7, 12)) for _ in range(rank)]
    x = drawn_map(target, dice, dims, counts, traits)
    kind = dtype_of(dice.one_of(target.version.types["TShape"]))
    return made(target, index_setting(target, dice), {"X": x, "output_size": np.array(counts, kind)})


def drawn_map(target: Target, dice: Dice, dims: Sequence[int], counts: Sequence[int], traits: Sequence[str]) -> Array:
    """A map with few channels, or with more than a vector has lanes, or several vectors."""
    images, channels = dice.between(1, 2), dice.between(*dice.one_of(((1, 8), (9, 70), (33, 160))))
    most = MOST_CELLS_OF_ONE // (images * max(math.prod(dims), math.prod(counts)))
    shape = (images, max(1, min(channels, most)), *dims)
    return cells(dice.rng, shape, dtype_of(target.element_type), traits)


MAKERS: dict[str, Callable[[Target, Dice, Sequence[str], int], Case]] = {
    "roi": roi_case,
    "sliding": sliding_case,
    "adaptive": adaptive_case,
}
"""By the plan of an operator's windows."""


QUESTION = "Does a drawn case give what the rules say?"


def made(target: Target, attributes: dict[str, Any], inputs: dict[str, Array]) -> Case:
    """The case. What it is about shows only where a backend differs."""
    version = target.version
    return Case(
        name=f"{snake_case(version.name)}_{version.since_version}_search",
        question=QUESTION,
        version=version,
        rules=("G2",),
        level="required",
        attributes=attributes,
        inputs=inputs,
        outputs=operator(version.name).outputs[: 1 + target.indexed],
    )


def index_setting(target: Target, dice: Dice) -> dict[str, Any]:
    """The index's type, where there is a choice: often its default, unsaid."""
    if not target.indexed or len(target.version.index_types) < 2 or dice.one_in(2):
        return {}
    return {INDEX_ATTRIBUTE: INDEX_SPELLINGS[dice.one_of(target.version.index_types)]}
