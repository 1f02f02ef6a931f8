"""How cases are put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from onnx_maxpool.conformance.case import Case, Level
from onnx_maxpool.operators.registry import OperatorVersion, snake_case
from onnx_maxpool.types import Array, Attributes

OURS: Level = "implementation-defined"


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
        control=control,
    )


def listed(names: str) -> tuple[str, ...]:
    """`a, b` as `("a", "b")`; nothing as no names."""
    return tuple(filter(None, names.split(", ")))
