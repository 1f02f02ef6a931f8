"""What the search finds."""

from __future__ import annotations

from dataclasses import dataclass

Box = tuple[int, int, int, int]
"""`(x1, y1, x2, y2)` in pixels, both corners inclusive."""


@dataclass(frozen=True)
class Match:
    """A region that looks like the query."""

    box: Box
    score: float
    """The cosine of its descriptor and the query's, at most 1."""
