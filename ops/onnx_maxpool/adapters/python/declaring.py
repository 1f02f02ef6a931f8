"""Makes Python operators known to onnxruntime-extensions: one for each operator, its types and its index type."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from onnx_maxpool.adapters.python.extensions import extensions
from onnx_maxpool.locks import ForkSafeLock
from onnx_maxpool.operators import operator
from onnx_maxpool.operators.registry import newest_versions, versions_of

CARRIERS = {"float16": "float", "bfloat16": "float"}
"""The types in which values of those types travel, as onnxruntime-extensions takes neither; exact for a maximum."""


class Signature(NamedTuple):
    """What one Python operator gets and gives, in the types in which values travel."""

    operator: str
    inputs: Sequence[str]
    result: str
    index_type: str | None
    """None where the index is not wanted."""


class Declaration(NamedTuple):
    """A Python operator: the types of its inputs and outputs, and what runs."""

    inputs: Sequence[str]
    outputs: Sequence[str]
    function: Callable[..., Any]


def python_name(operator_name: str, index_type: str | None) -> str:
    """The op_type of the Python operator, without its domain; an index of another type makes another operator."""
    return operator_name if index_type is None else f"{operator_name}_{index_type}"


def signatures() -> Iterator[Signature]:
    """All of them, as onnxruntime-extensions has no type variables."""
    for newest in newest_versions():
        rows = versions_of(newest.domain, newest.name)
        variables = operator(newest.name).inputs.values()
        carried = {v: dict.fromkeys(CARRIERS.get(t, t) for row in rows for t in row.types[v]) for v in newest.types}
        for chosen in itertools.product(*carried.values()):
            types = dict(zip(carried, chosen, strict=True))
            inputs = [types[variable] for variable in variables]
            for index_type in (None, *newest.index_types):
                yield Signature(newest.name, inputs, types["T"], index_type)


_lock = ForkSafeLock()
_declared: set[tuple[str, int]] = set()
"""Domains, and which of their signatures."""


def declare(domain: str, declaration: Callable[[Signature], Declaration]) -> None:
    """Make the operators of a domain known, once: a second time would be another set with the same names."""
    with _lock.held():
        missing = [(i, each) for i, each in enumerate(signatures()) if (domain, i) not in _declared]
        if not missing:
            return
        module = extensions()

        def numbers(names: Sequence[str]) -> list[int]:
            return [int(getattr(module.PyCustomOpDef, f"dt_{name}")) for name in names]

        for i, signature in missing:
            declared = declaration(signature)
            module.onnx_op(
                op_type=f"{domain}::{python_name(signature.operator, signature.index_type)}",
                inputs=numbers(declared.inputs),
                outputs=numbers(declared.outputs),
                attrs={"call": module.PyCustomOpDef.dt_string},
            )(declared.function)
            _declared.add((domain, i))  # one by one, as a process may be forked meanwhile
