"""Reports for people: a self-contained HTML page, and Markdown."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import jinja2
import numpy as np
from markupsafe import Markup

from onnx_maxpool.conformance.corpus import case_folder
from onnx_maxpool.conformance.report import view
from onnx_maxpool.conformance.report.svg import picture
from onnx_maxpool.conformance.run.judge import Outcome, Result
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import printable, shape
from onnx_maxpool.operators.rules import RULES
from onnx_maxpool.types import Array, element_type

MOST_VALUES = 60


def html(runs: Sequence[BackendRun]) -> str:
    """The page, with nothing to load."""
    return _render("report.html.j2", runs, autoescape=True)


def markdown(runs: Sequence[BackendRun]) -> str:
    """The summary: what ran, the matrix, the fingerprints and the divergences."""
    return _render("report.md.j2", runs, autoescape=False)


def _render(template: str, runs: Sequence[BackendRun], *, autoescape: bool) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("onnx_maxpool.conformance.report"),
        autoescape=autoescape,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(tensor=tensor, folder=lambda case: case_folder(case).as_posix(), row=table_cell)
    return environment.get_template(template).render(
        runs=runs,
        rules=RULES,
        blocks=view.matrix(runs),
        tallies=[view.Tally.of(run.results) for run in runs],
        fingerprint=view.fingerprint,
        open_answers=lambda operator: view.open_answers(runs, operator),
        divergences=lambda run: list(view.divergences(run)),
        cases=case_views(runs),
        Outcome=Outcome,
        standing=view.standing,
    )


def case_views(runs: Sequence[BackendRun]) -> list[dict[str, Any]]:
    """Per case what the HTML page shows: results by backend, and the picture of the first cell that differs."""
    views = []
    for results in zip(*(run.results for run in runs), strict=True):
        case = results[0].case
        differing = next((result for result in results if not result.ours and result.obtained is not None), None)
        found = None if differing is None else first_difference(differing)
        views.append(
            {
                "case": case,
                "results": list(zip(runs, results, strict=True)),
                "settled": all(result.ours for result in results),
                "index": found and found[0],
                "picture": Markup(picture(case, *found)) if found is not None else "",
            }
        )
    return views


def first_difference(result: Result) -> tuple[tuple[int, ...], object] | None:
    """The first output cell that differs and the value obtained there, None for one of an index.

    None where the outputs cannot be compared cell by cell.
    """
    case = result.case
    if case.refuses or result.obtained is None or len(result.obtained) != len(case.outputs):
        return None
    for i, (expected, obtained) in enumerate(zip(case.expected, result.obtained, strict=True)):
        if expected.shape != obtained.shape or expected.dtype != obtained.dtype:
            return None
        differs = np.asarray((expected != obtained) & ~((expected != expected) & (obtained != obtained)), bool)
        if differs.any():
            at = tuple(int(axis) for axis in np.unravel_index(differs.argmax(), differs.shape))
            return at, obtained[at] if i == 0 else None
    return None


def tensor(array: Array) -> str:
    """`float[1,1,1,3] 1 2 NaN`, cut where it is long."""
    values = " ".join(str(value) for value in itertools.islice(array.ravel(), MOST_VALUES))
    return f"{element_type(array)}{shape(array.shape)} {values}{' …' if array.size > MOST_VALUES else ''}"


def table_cell(text: str) -> str:
    """Text that stands in a Markdown table, and is neither HTML nor a link there."""
    return re.sub(r"([\\|<>`\[\]])", r"\\\1", " ".join(printable(text).split()))
