"""The reduction: greedy, one pass after the other, until nothing smaller shows the same."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onnx_maxpool.conformance.case import Case
from onnx_maxpool.conformance.reduction.candidates import PASSES, Pass
from onnx_maxpool.conformance.reduction.shown import Answer, Execute, Shown, put

Same = Callable[[Shown], bool]
"""Whether a candidate shows the same difference."""


Clock = Callable[[], float]
"""Seconds since some moment."""


@dataclass(frozen=True)
class Limits:
    """When a reduction ends, finished or not."""

    seconds: float = 20.0
    runs: int = 2000
    """Of the backend."""
    clock: Clock = time.monotonic


def reduce(execute: Execute, shown: Shown, is_same: Same, limits: Limits) -> Shown:
    """The smallest case found that shows the same difference."""
    return _Reduction(execute, is_same, limits).of(shown)


class _Reduction:
    def __init__(self, execute: Execute, is_same: Same, limits: Limits) -> None:
        self.execute = execute
        self.is_same = is_same
        self.runs_left = limits.runs
        self.clock = limits.clock
        self.end = self.clock() + limits.seconds
        self.tried: set[bytes] = set()

    def of(self, shown: Shown) -> Shown:
        self.tried.add(digest(shown.case))
        smaller = True
        while smaller:
            smaller = False
            for candidates in PASSES:
                found = self.first(shown, candidates)
                while found is not None:
                    shown, smaller = found, True
                    found = self.first(shown, candidates)
        return shown

    def first(self, shown: Shown, candidates: Pass) -> Shown | None:
        """The first candidate of a pass that shows the same."""
        for case in guarded(candidates, shown):
            if self.runs_left <= 0 or self.clock() > self.end:
                return None
            key = digest(case)
            if key in self.tried:
                continue
            self.tried.add(key)
            self.runs_left -= 1
            found = put(self.execute, case)
            if found is not None and self.is_same(found):
                return found
        return None


def guarded(candidates: Pass, shown: Shown) -> Iterator[Case]:
    """A pass. What must be refused may be of any shape, which a pass need not be able to change."""
    try:
        yield from candidates(shown.case, shown.first_cell)
    except (IndexError, TypeError, ValueError):
        if not shown.case.refuses:
            raise


def digest(case: Case) -> bytes:
    """By which equal cases are known."""
    parts = [case.version.title, repr(sorted(case.attributes.items())), str(case.outputs)]
    made = hashlib.sha1("\n".join(parts).encode(), usedforsecurity=False)
    for name, array in case.inputs.items():
        made.update(f"{name} {array.dtype} {array.shape}".encode())
        made.update(array.tobytes())
    return made.digest()


def same_kind(what: str, answers: frozenset[Answer], sort: str) -> Same:
    """A test of candidates: the same thing differs, and only answers explain it that did before; or none."""

    def test(found: Shown) -> bool:
        if found.what != what:
            return False
        if not found.cells:
            return True
        explanations = found.explanations(found.cells)
        if answers:  # no further ones: the smallest case must not be one in which more answers look alike
            return bool(explanations) and explanations <= answers
        return found.sort == sort and not explanations

    return test
