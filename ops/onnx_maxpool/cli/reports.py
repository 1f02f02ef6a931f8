"""The report files of `onnx-maxpool conformance`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import typer

from onnx_maxpool.conformance.report.changes import Outcomes
from onnx_maxpool.conformance.report.records import json_report
from onnx_maxpool.conformance.run.runner import BackendRun
from onnx_maxpool.errors import InputError

STDOUT = Path("-")
"""The name that stands for it where a file is to be named."""


def check_extra() -> None:
    """Raise InputError where a package that the reports need is missing, before a run of minutes."""
    try:
        from onnx_maxpool.conformance.report import junit, pages  # noqa: F401
    except ModuleNotFoundError as error:
        raise InputError(f'reports need {error.name}: pip install "onnx-maxpool[conformance]"') from None


@dataclass(frozen=True)
class Reports:
    """The files that are asked for."""

    html: Path | None
    json: Path | None
    junit: Path | None
    markdown: Path | None

    def write(
        self, runs: Sequence[BackendRun], expected: Outcomes | None, before: tuple[Outcomes, Mapping[str, str]] | None
    ) -> list[Path]:
        """Write them, and give back which these are. `prepare_files` and `check_extra` were there before."""
        wanted = [path for path in (self.html, self.json, self.junit, self.markdown) if path not in (None, STDOUT)]
        if self.json is not None:
            text = json.dumps(json_report(runs), indent=1)
            if self.json == STDOUT:
                typer.echo(text)
            else:
                self.json.write_text(f"{text}\n", encoding="utf-8")
        if self.html or self.junit or self.markdown:
            from onnx_maxpool.conformance.report import pages
            from onnx_maxpool.conformance.report.junit import junit

            if self.html is not None:
                self.html.write_text(pages.html(runs, before), encoding="utf-8")
            if self.junit is not None:
                self.junit.write_text(junit(runs, expected), encoding="utf-8")
            if self.markdown is not None:
                self.markdown.write_text(pages.markdown(runs, before), encoding="utf-8")
        return [path for path in wanted if path is not None]
