"""How cases are put together, and small maps for them in which each cell can be told from every other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np

from onnx_maxpool.conformance.case import Case, Level, as_control
from onnx_maxpool.operators.registry import OperatorVersion, snake_case
from onnx_maxpool.types import Array, Attributes, dtype_of

OURS: Level = "implementation-defined"

INF, NAN = math.inf, math.nan


def make(
    version: OperatorVersion,
    topic: str,
    question: str,
    rules: str,
    *,
    attributes: Attributes,
    inputs: Mapping[str, Array],
    outputs: Sequence[str],
    level: Level = "required",
    asks: str = "",
    control: Case | None = None,
) -> Case:
    """A case, named after the operator, its version and the topic; `rules` and `asks` are separated by commas."""
    return Case(
        name=f"{snake_case(version.name)}_{version.since_version}_{topic}",
        question=question,
        version=version,
        rules=listed(rules),
        level=level,
        attributes=attributes,
        inputs=inputs,
        outputs=tuple(outputs),
        asks=listed(asks),
        control=control,
    )


def refusal(
    control: Case,
    topic: str,
    question: str,
    rules: str,
    *,
    attributes: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Array] | None = None,
    level: Level = "required",
    asks: str = "",
) -> Case:
    """A case that must be rejected: `control` with some attributes (None: left out) or inputs changed."""
    changed = {**control.attributes, **(attributes or {})}
    version = control.version
    return replace(
        control,
        name=f"{snake_case(version.name)}_{version.since_version}_{topic}",
        question=question,
        rules=listed(rules),
        level=level,
        attributes={name: value for name, value in changed.items() if value is not None},
        inputs={**control.inputs, **(inputs or {})},
        asks=listed(asks),
        refuses=True,
        control=as_control(control),
        sizes_open=True,
    )


def listed(names: str) -> tuple[str, ...]:
    """`a, b` as `("a", "b")`; nothing as no names."""
    return tuple(filter(None, names.split(", ")))


def rising(*shape: int) -> Array:
    """1, 2, 3, ... in row-major order, float32: a maximum is the last cell of its window."""
    return np.arange(1, math.prod(shape) + 1, dtype=np.float32).reshape(shape)


def both(*dims: int) -> Array:
    """One image with two channels, of which one rises and one falls: maxima show both ends of a window. float32."""
    up = rising(1, 1, *dims)
    return np.concatenate([up, up.size + 1 - up], axis=1)


def line(*values: float) -> Array:
    """A map of one image, one channel and one row. float32."""
    return np.array(values, np.float32).reshape(1, 1, 1, -1)


def limits_of(dtype: np.dtype[Any]) -> Any:
    """A float type's limits, bfloat16's too."""
    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


def finest(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """Two neighbours of the type that narrower types cannot tell apart, the smaller first."""
    if dtype.kind in "iu":
        largest = int(np.iinfo(dtype).max)
        return largest - 2, largest - 1
    step = float(limits_of(dtype).eps)
    # Of double, a number that float32 and bfloat16 round to different ones.
    start = 1.0 + 2.0**-20 if dtype.itemsize == 8 else 1.0
    return start + step, start + 2 * step


def extremes(dtype: np.dtype[Any]) -> list[list[Any]]:
    """Pairs of the type's extreme values, of which the second is the greater."""
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [[info.min, info.min + 1], [info.max - 1, info.max], [0, 1], [info.min, info.max]]
    limits = limits_of(dtype)
    tiny, largest = float(limits.smallest_subnormal), float(limits.max)
    return [[-INF, -largest], [-tiny, 0.0], [0.0, tiny], [largest, INF]]


def in_types(inputs: Mapping[str, Array], element_type: str) -> dict[str, Array]:
    """The inputs in another element type."""
    return {name: array.astype(dtype_of(element_type)) for name, array in inputs.items()}
